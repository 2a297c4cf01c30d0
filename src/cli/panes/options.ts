/** Options that the commands on panes share: program, placement, and numbers of cells. */
import { type Command, Option } from "commander";
import { defined } from "../../protocol/defined.ts";
import type { PaneProgram } from "../../protocol/layout.ts";
import type { Amount } from "../../protocol/size.ts";
import { shellText } from "../../shell/quoting.ts";
import { collect, requireOptions, UsageError, variables } from "../arguments.ts";

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly shell?: string;
  readonly title?: string;
  readonly keep?: boolean;
  readonly view?: string;
}

export function addProgramOptions(command: Command): Command {
  return command
    .option("--cwd <dir>", "directory to start in (default: that of the pane)")
    .option("--env <name=value>", "set an environment variable (repeatable)", collect)
    .option("--shell <shell>", "path or name of the shell")
    .option("--title <text>", "title of the pane (default: the program's)")
    .option("--keep", "keep the pane after its program exits")
    .option("--view <name>", "show this session or pane instead of a program");
}

/** @param after the words after `--` @throws UsageError */
export function programOf(
  { cwd, env, shell, title, keep, view }: ProgramOptions,
  after: readonly string[] | null,
): Partial<PaneProgram> {
  if (after !== null && after.length === 0) throw new UsageError("the command after -- is missing");
  requireOptions([{ option: "view", excludes: ["after"] }], { view, after }, { after: "a command" });
  return {
    ...(after === null ? {} : { command: shellText(after) }),
    ...defined({ cwd }),
    ...(env === undefined ? {} : { env: variables(env) }),
    ...defined({ shell, title }),
    ...(keep === true ? { keep_after_exit: true } : {}),
    ...defined({ view }),
  };
}

export const sides = ["right", "down", "left", "up"] as const;
export type Side = (typeof sides)[number];

export interface PlaceOptions {
  readonly direction?: Side;
  readonly size?: Amount;
  readonly whole?: boolean;
  readonly float?: boolean;
  readonly focus?: boolean;
}

export interface BoundsOptions {
  readonly width?: number | string;
  readonly height?: number | string;
  readonly at?: { readonly x: number | string; readonly y: number | string };
}

/** The rectangle of a floating pane. */
export function addBoundsOptions(command: Command): Command {
  return command
    .option("--width <n>", "columns with its border, or a share (default: 70%)", extent)
    .option("--height <n>", "rows with its border, or a share (default: 70%)", extent)
    .option("--at <place>", "center (the default), or X,Y in cells or shares", parsePosition);
}

export function boundsGiven({ width, height, at }: BoundsOptions) {
  return { ...defined({ width, height }), ...at };
}

/** @throws UsageError */
function extent(text: string): number | string {
  const [, digits, share] = /^([1-9]\d{0,3})(%?)$/.exec(text) ?? [];
  const value = Number(digits);
  if (digits !== undefined && value <= (share === "%" ? 100 : 1000)) return share === "%" ? text : value;
  throw new UsageError(`'${text}' is not a size`, "Give cells (60), or a share (80%).");
}

/** @throws UsageError */
function parsePosition(text: string): { x: number | string; y: number | string } {
  if (text === "center") return { x: text, y: text };
  const parts = text.split(",");
  const [x, y] = parts.map((part) => (/^(\d{1,3}|1000)$/.test(part) ? Number(part) : part));
  const isPlace = (at: unknown) => typeof at === "number" || at === "center" || /^(\d{1,2}|100)%$/.test(String(at));
  if (parts.length === 2 && x !== undefined && y !== undefined && isPlace(x) && isPlace(y)) return { x, y };
  throw new UsageError(
    `'${text}' is not a place`,
    "Give center, or cells or shares from the upper left: 10,5 or 50%,0.",
  );
}

export function addPlaceOptions(command: Command): Command {
  return command
    .addOption(new Option("-d, --direction <side>", "side of the pane (default: right)").choices([...sides]))
    .option("--size <n>", "cells, or a share such as 40%", amount)
    .option("--whole", "along the whole window")
    .option("--float", "above the tiled panes of the window")
    .option("--focus", "switch attached terminals to it");
}

export function placeOf({ direction, size, whole, float, focus, ...bounds }: PlaceOptions & BoundsOptions) {
  return {
    ...defined({ direction }),
    ...(size === undefined ? {} : size),
    ...(whole === true ? { whole } : {}),
    ...(float === true ? { float } : {}),
    ...boundsGiven(bounds),
    focus: focus === true,
  };
}

/** @throws UsageError */
export function amount(text: string): Amount {
  const [, digits, isShare] = /^([1-9]\d{0,3})(%?)$/.exec(text) ?? [];
  const value = Number(digits);
  if (digits !== undefined && isShare === "" && value <= 1000) return { cells: value };
  if (digits !== undefined && isShare === "%" && value < 100) return { percent: value };
  throw new UsageError(`'${text}' is not a size`, "Give cells (20), or a share (40%).");
}
