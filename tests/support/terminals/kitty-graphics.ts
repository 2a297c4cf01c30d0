/**
 * The part of a terminal that implements kitty's graphics protocol, as its document defines it: uploads in parts, virtual
 * placements, deletion, separate images for each screen, and the display of placeholders. Commands that
 * a terminal would refuse are kept in `errors`.
 */
import type { Row } from "../../../src/protocol/grid.ts";
import { numberOf } from "../../../src/terminal/pictures/diacritics.ts";

const PLACEHOLDER = "\u{10eeee}";

export interface KittyImage {
  readonly keys: ReadonlyMap<string, string>;
  data: Buffer;
  readonly places: Map<number, { readonly cols: number; readonly rows: number }>;
}

type Images = Map<number, KittyImage>;

export class KittyGraphics {
  readonly errors: string[] = [];
  /** Commands so far. */
  commands = 0;
  private readonly normal: Images = new Map();
  private readonly other: Images = new Map();
  private isAlternate = false;
  private rest = "";
  private upload: { readonly id: number; readonly image: KittyImage } | null = null;

  /** Images of the screen in use. */
  get images(): Images {
    return this.isAlternate ? this.other : this.normal;
  }

  get everywhere(): number {
    return this.normal.size + this.other.size;
  }

  /** Reads output to the terminal; returns its answers. */
  take(bytes: Uint8Array): string {
    let answers = "";
    const text = this.rest + Buffer.from(bytes).toString("latin1");
    const sequence = /\x1b_G([^\x1b]*)\x1b\\|\x1b\[\?1049([hl])/g;
    let end = 0;
    for (const found of text.matchAll(sequence)) {
      end = found.index + found[0].length;
      if (found[2] === undefined) answers += this.command(found[1] ?? "");
      else this.isAlternate = found[2] === "h";
    }
    const begun = text.lastIndexOf("\x1b");
    this.rest = begun >= end ? text.slice(begun) : "";
    return answers;
  }

  /** Images that the placeholders of rows show: `ID:ROW,COL` of a whole image that has room there, else nothing. */
  shown(rows: readonly Row[]): string[] {
    return rows.flatMap((row, y) =>
      row.flatMap(({ text, style }, x) => {
        if (!text.startsWith(PLACEHOLDER)) return [];
        const [line = -1, col = -1, highest = 0] = [...text.slice(PLACEHOLDER.length)].map(
          (each) => numberOf(each) ?? -1,
        );
        const { fg } = style;
        const low = fg !== null && "rgb" in fg ? (fg.rgb.r << 16) + (fg.rgb.g << 8) + fg.rgb.b : 0;
        const image = this.images.get(highest * 0x100_0000 + low);
        const place = [...(image?.places.values() ?? [])].find(({ cols, rows }) => line < rows && col < cols);
        return place === undefined ? [] : [`${y},${x}=${line},${col}`];
      }),
    );
  }

  private command(text: string): string {
    this.commands++;
    const [control = "", payload = ""] = text.split(";");
    const keys = new Map(control.split(",").map((pair) => pair.split("=") as [string, string]));
    const number = (key: string): number => Number(keys.get(key) ?? 0);
    const action = keys.get("a") ?? "t";
    if (payload.length > 4096) this.errors.push(`a part of ${payload.length} characters`);
    if (action === "q") return `\x1b_Gi=${number("i")};OK\x1b\\`;
    if (number("q") !== 2) this.errors.push(`not quiet: ${control}`);
    if (action === "d") this.remove(keys.get("d") ?? "a", number("i"));
    else if (action === "p") this.place(number("i"), number("p"), number("c"), number("r"), keys.get("U") === "1");
    else if (action !== "t") this.errors.push(`action ${action}`);
    else {
      if ((this.upload === null) !== keys.has("a")) this.errors.push(`an upload within another: ${control}`);
      this.upload ??= { id: number("i"), image: { keys, data: Buffer.alloc(0), places: new Map() } };
      const { id, image } = this.upload;
      image.data = Buffer.concat([image.data, Buffer.from(payload, "base64")]);
      if (number("m") === 1) return "";
      this.images.set(id, image);
      this.upload = null;
    }
    return "";
  }

  private place(id: number, number: number, cols: number, rows: number, isVirtual: boolean): void {
    if (this.upload !== null) this.errors.push("a placement within an upload");
    const image = this.images.get(id);
    if (image === undefined || !isVirtual) this.errors.push(`a placement of ${id}`);
    image?.places.set(number, { cols, rows });
  }

  private remove(what: string, id: number): void {
    this.upload = null;
    if (what === "I") this.images.delete(id);
    else if (what === "i") this.images.get(id)?.places.clear();
    else this.errors.push(`deletes ${what}`);
  }
}
