/**
 * Images of programs, of which cells show parts: an image is a few custom properties of the terminal's element, so that
 * its cells need not be redrawn when the image arrives, changes or disappears. The session sends commands of kitty's
 * graphics protocol as to any terminal; it assigns the ids.
 */

import type { Cell, Row } from "../../protocol/grid.ts";
import { PLACEHOLDER } from "../../protocol/placeholder.ts";

const names = ["i", "x", "y", "w", "h"] as const;

interface Upload {
  readonly keys: ReadonlyMap<string, string>;
  base64: string;
}

export class Images {
  private readonly sizes = new Map<string, readonly [width: number, height: number]>();
  private readonly urls = new Map<string, string>();
  private upload: Upload | null = null;

  constructor(
    private readonly style: CSSStyleDeclaration,
    private readonly cell: () => { readonly width: number; readonly height: number },
  ) {}

  handleCommands(commands: string): void {
    for (const [, control = "", base64 = ""] of commands.matchAll(/\x1b_G([^;\x1b]*);?([^\x1b]*)/g)) {
      const keys = new Map(control.split(",").map((pair) => pair.split("=") as [string, string]));
      const id = keys.get("i") ?? "";
      const action = keys.get("a");
      if (action === "p") this.placeImage(id, Number(keys.get("c")), Number(keys.get("r")));
      else if (action === "d") {
        this.upload = null;
        this.remove(id);
      } else {
        this.upload ??= { keys, base64: "" };
        this.upload.base64 += base64;
        if (keys.get("m") === "1") continue;
        void this.show(this.upload);
        this.upload = null;
      }
    }
  }

  /** Call before the session sends all images again. */
  clear(): void {
    for (const id of this.sizes.keys()) this.remove(id);
  }

  private remove(id: string): void {
    URL.revokeObjectURL(this.urls.get(id) ?? "");
    for (const name of names) this.style.removeProperty(`--${name}${id}`);
  }

  private async show({ keys, base64 }: Upload): Promise<void> {
    const id = keys.get("i") ?? "";
    const [format = 0, width = 0, height = 0] = ["f", "s", "v"].map((key) => Number(keys.get(key)));
    this.sizes.set(id, [width, height]);
    let blob = new Blob([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))]);
    if (keys.has("o")) blob = await new Response(blob.stream().pipeThrough(new DecompressionStream("deflate"))).blob();
    if (format !== 100) blob = await encodePng(new Uint8Array(await blob.arrayBuffer()), format / 8, width, height);
    URL.revokeObjectURL(this.urls.get(id) ?? "");
    const url = URL.createObjectURL(blob);
    this.urls.set(id, url);
    this.style.setProperty(`--i${id}`, `url(${url})`);
  }

  /** Fits the image into whole cells and keeps its proportions. */
  private placeImage(id: string, cols: number, rows: number): void {
    const [width, height] = this.sizes.get(id) ?? [1, 1];
    const cell = this.cell();
    const scale = Math.min((cols * cell.width) / width, (rows * cell.height) / height);
    const [w, h] = [(width * scale) / cell.width, (height * scale) / cell.height];
    const values = { x: (cols - w) / 2, y: (rows - h) / 2, w, h };
    for (const [name, value] of Object.entries(values)) this.style.setProperty(`--${name}${id}`, String(value));
  }
}

/** Raw pixels as a PNG. @param size bytes per pixel */
async function encodePng(raw: Uint8Array, size: number, width: number, height: number): Promise<Blob> {
  const canvas = new OffscreenCanvas(width, height);
  const image = new ImageData(width, height);
  for (let at = 0; at < width * height; at++) {
    for (let n = 0; n < 4; n++) image.data[at * 4 + n] = n < size ? (raw[at * size + n] ?? 0) : 255;
  }
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  return canvas.convertToBlob();
}

/** The cells of a row that show adjacent parts of an image. @returns the index after them */
export function imageCells(row: Row, start: number, parts: (Node | string)[]): number {
  const first = partAt(row[start]);
  if (first === null) return start;
  const [id, line, col] = first;
  let offset = start + 1;
  for (; offset < row.length; offset++) {
    const next = partAt(row[offset]);
    if (next === null || next[0] !== id || next[1] !== line || next[2] - col !== offset - start) break;
  }
  const element = document.createElement("span");
  element.className = "g";
  element.textContent = " ".repeat(offset - start);
  const length = (name: string, of: "width" | "height", less = 0): string =>
    `calc((var(--${name}${id}) - ${less})*var(--cell-${of}))`;
  element.style.background =
    `var(--i${id}) ${length("x", "width", col)} ${length("y", "height", line)}/` +
    `${length("w", "width")} ${length("h", "height")} no-repeat`;
  parts.push(element);
  return offset;
}

/** The part in a cell: U+10EEEE, with image, row and column as digits. */
function partAt(cell: Cell | undefined): readonly [id: number, row: number, col: number] | null {
  if (cell === undefined || !cell.text.startsWith(PLACEHOLDER)) return null;
  const [id = 0, row = 0, col = 0] = cell.text.slice(PLACEHOLDER.length).split(",").map(Number);
  return [id, row, col];
}
