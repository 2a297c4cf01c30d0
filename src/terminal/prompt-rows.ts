/**
 * Cuts the rows of a prompt that its shell redraws after a resize from the first row on, as the shell announces
 * (`redraw=1` of OSC 133;A). The shell returns to the first row by the number of rows that it has drawn. So the rows of
 * a prompt are cut before a resize: rewrapping would create more rows, and the shell would leave those that it does not
 * reach.
 */
import type { IMarker, Terminal } from "@xterm/headless";
import { cutRow, storedRow } from "./rows/xterm-row.ts";

export class PromptRows {
  private firstRow: IMarker | null = null;

  /** Must be created after the emulator's other hooks: the handler registered last runs first. */
  constructor(private readonly terminal: Terminal) {
    terminal.parser.registerOscHandler(133, (data) => {
      if (/^A(;|$)/.test(data)) this.markFirstRow(/;redraw=1(;|$)/.test(data));
      else if (/^[CD](;|$)/.test(data)) this.markFirstRow(false);
      return false;
    });
  }

  /** Before a resize to fewer columns, while the shell edits. xterm itself cuts the line that the cursor is in. */
  cutRows(cols: number): void {
    const buffer = this.terminal.buffer.normal;
    if (this.firstRow === null || this.firstRow.isDisposed) return;
    let last = buffer.baseY + buffer.cursorY;
    while (last > this.firstRow.line && storedRow(buffer, last).isWrapped) last--;
    for (let y = Math.max(buffer.baseY, this.firstRow.line); y < last; y++) cutRow(buffer, y, cols);
  }

  private markFirstRow(isRedrawn: boolean): void {
    this.firstRow?.dispose();
    const onNormal = this.terminal.buffer.active.type === "normal";
    this.firstRow = isRedrawn && onNormal ? (this.terminal.registerMarker(0) ?? null) : null;
  }
}
