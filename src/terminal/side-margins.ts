/**
 * Left and right margins (DECLRMM, DECSLRM), which xterm does not implement.
 *
 * Owns the margins that a program has set, read by hooks that leave all effects to xterm. Nothing scrolls or
 * wraps at these margins, and DECRQM does not report them; they only show which column edits have no effect
 * because they begin outside of them.
 */
import type { Terminal } from "@xterm/headless";

/** Private mode DECLRMM: `CSI s` sets margins. */
const DECLRMM = 69;

export class SideMargins {
  private isEnabled = false;
  private left = 0;
  private right = Number.POSITIVE_INFINITY;

  constructor(terminal: Terminal) {
    const { parser } = terminal;
    const enable = (params: readonly (number | number[])[], on: boolean): boolean => {
      if (params.includes(DECLRMM)) {
        this.reset();
        this.isEnabled = on;
      }
      return false;
    };
    const off = (): boolean => {
      this.reset();
      this.isEnabled = false;
      return false;
    };
    parser.registerCsiHandler({ prefix: "?", final: "h" }, (params) => enable(params, true));
    parser.registerCsiHandler({ prefix: "?", final: "l" }, (params) => enable(params, false));
    parser.registerCsiHandler({ intermediates: "!", final: "p" }, off);
    parser.registerEscHandler({ final: "c" }, off);
    parser.registerCsiHandler({ final: "s" }, ([left, right]) => {
      const from = typeof left === "number" && left > 0 ? left - 1 : 0;
      const to = typeof right === "number" && right > 0 && right <= terminal.cols ? right - 1 : terminal.cols - 1;
      if (this.isEnabled && from < to) {
        this.left = from;
        this.right = to;
      }
      return false;
    });
  }

  /** Margins are gone when the size changes. */
  reset(): void {
    this.left = 0;
    this.right = Number.POSITIVE_INFINITY;
  }

  contains(x: number): boolean {
    return x >= this.left && x <= this.right;
  }
}
