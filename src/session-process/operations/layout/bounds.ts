/** Converts the rectangles of floating panes from and to the form of calls. Pure. */
import type { Bounds } from "../../../protocol/layout.ts";
import type { Amount } from "../../../protocol/size.ts";
import type { FloatBounds } from "../../../session/layout/floats.ts";
import type { FloatChange } from "../../../session/windows/floats.ts";

/** The rectangle that a call specifies; omitted parts are absent. */
export function boundsOf({ x, y, width, height }: Bounds): Partial<FloatBounds> {
  return {
    ...(x === undefined ? {} : { x: parsePosition(x) }),
    ...(y === undefined ? {} : { y: parsePosition(y) }),
    ...(width === undefined ? {} : { width: amountOf(width) }),
    ...(height === undefined ? {} : { height: amountOf(height) }),
  };
}

function amountOf(value: number | string): Amount {
  return typeof value === "number" ? { cells: value } : { percent: Number(value.slice(0, -1)) };
}

function parsePosition(value: number | string): Amount | null {
  return value === "center" ? null : amountOf(value);
}

/** A rectangle in the form of a call. */
export function boundsText({ x, y, width, height }: FloatBounds): Bounds {
  const text = (amount: Amount): number | string => ("cells" in amount ? amount.cells : `${amount.percent}%`);
  const at = (amount: Amount | null): number | string => (amount === null ? "center" : text(amount));
  return { x: at(x), y: at(y), width: text(width), height: text(height) };
}

/** @returns undefined for a tiled pane */
export function floatChange(isFloating: boolean, bounds: Bounds): FloatChange | undefined {
  return isFloating ? boundsOf(bounds) : undefined;
}
