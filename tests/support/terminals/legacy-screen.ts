/**
 * A terminal without grapheme clusters: it counts cells by code points, by a table that each test chooses, as many
 * terminals do, each differently. Understands what the renderer writes and nothing more.
 */
export class LegacyScreen {
  private cells: string[][];
  private row = 0;
  private col = 0;

  /** @param width cells of a code point: 0 joins it to the cell before */
  constructor(
    readonly rows: number,
    readonly cols: number,
    private readonly width: (point: string) => 0 | 1 | 2,
  ) {
    this.cells = Array.from({ length: rows }, () => Array.from({ length: cols }, () => "?"));
  }

  /** Text of a cell; "" is the right half of a wide one. */
  at(row: number, col: number): string {
    return this.cells[row]?.[col] ?? "";
  }

  write(bytes: Uint8Array): void {
    const text = new TextDecoder().decode(bytes);
    for (const [, final, parameters = "", , point] of text.matchAll(
      /(?:\x1b\[(?=[\d;?<=>:"$ ]*([@-~]))([\d;?<=>:"$ ]*)[@-~])|(\x1b\][^\x1b]*\x1b\\|\x1b[()*+]?.)|([\s\S])/gu,
    )) {
      if (final !== undefined) this.control(final, parameters);
      else if (point === "\r") this.col = 0;
      else if (point === "\n") this.row = Math.min(this.row + 1, this.rows - 1);
      else if (point !== undefined && point >= " ") this.print(point);
    }
  }

  private control(final: string, parameters: string): void {
    const [first = 0, second = 0] = parameters.split(";").map(Number);
    if (final === "H") {
      this.row = Math.min(Math.max(first, 1), this.rows) - 1;
      this.col = Math.min(Math.max(second, 1), this.cols) - 1;
    } else if (final === "G") this.col = Math.min(Math.max(first, 1), this.cols) - 1;
    else if (final === "K") this.cells[this.row]?.fill(" ", this.col);
  }

  private print(point: string): void {
    const line = this.cells[this.row] ?? [];
    const width = this.width(point);
    if (width === 0) {
      if (this.col > 0) line[this.col - 1] += point;
      return;
    }
    // Without wrapping, text that does not fit goes to the last cells.
    this.col = Math.min(this.col, this.cols - width);
    for (const col of [this.col, this.col + width - 1]) {
      if (line[col] === "") line[col - 1] = " ";
      if (line[col + 1] === "" && col + 1 >= this.col + width) line[col + 1] = " ";
    }
    line[this.col] = point;
    if (width === 2) line[this.col + 1] = "";
    this.col += width;
  }
}
