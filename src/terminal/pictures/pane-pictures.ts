/**
 * The pictures of one program: converts kitty's graphics protocol and sixel graphics to text that any screen can
 * contain.
 *
 * Owns the program's images and their display. A command is answered here, once; displayed pictures become placeholders
 * with an id of wsh, which are parsed and sent on like text of the program, so that they scroll, are covered, erased
 * and redrawn with it. Terminals get the images themselves from `pictures`. Invariants: only sixel is decoded; an id of
 * wsh means one image; memory is limited (`budget.ts`). Loaded with the first command.
 */
import type { Terminal } from "@xterm/headless";
import { extraOf, sgrOf } from "../rows/styles.ts";
import { penOf, type StoredRow, storedRow } from "../rows/xterm-row.ts";
import { freeId, takeId } from "./budget.ts";
import { colorId, completePlaceholders, idStyle, pictureAt, placeholderAt } from "./cells.ts";
import { PictureCommand } from "./command.ts";
import { MAX_CELLS } from "./diacritics.ts";
import { type DisplayedPicture, Image } from "./image.ts";
import {
  nextSerial,
  type Picture,
  type PictureSize,
  type PictureSource,
  picturesUsed,
  pictureTerminals,
  sixelTerminals,
} from "./picture.ts";
import { readPixels } from "./pixels.ts";
import { eraseOutput, pictureOutput } from "./placing.ts";
import { decodeSixel } from "./sixel.ts";
import { Upload } from "./upload.ts";

/** Maximum remembered numbers of a program's own placeholders. */
const MAX_NUMBERS = 1024;

interface PanePicturesPort {
  readonly terminal: Terminal;
  /** First and last row of the active screen's scroll region. */
  readonly region: { readonly top: number; readonly bottom: number };
  /** Size of a cell in pixels. */
  readonly cell: { readonly width: number; readonly height: number };
  reply(text: string): void;
}

export class PanePictures implements PictureSource {
  readonly pictures = new Map<number, Picture>();
  version = 0;
  readonly serial = nextSerial();
  /** Images of both screens, oldest first: a program on one screen cannot access those of the other. */
  private images: Image[] = [];
  private upload: Upload | null = null;
  /** Wsh's ids for the program's own placeholders. */
  private readonly placeholderIds = new Map<number, number>();

  constructor(private readonly port: PanePicturesPort) {
    picturesUsed.now = true;
  }

  /** @param text a command without its end @returns the text to parse in its place */
  handleCommand(text: string): string {
    const command = PictureCommand.parse(text);
    const action = command.letter("a", "t");
    if (this.upload !== null && "tTq".includes(action)) {
      this.upload.add(command);
      return this.finishUpload();
    }
    switch (action) {
      case "t":
      case "T":
      case "q":
        this.upload = new Upload(command);
        return this.finishUpload();
      case "p":
        return this.display(command, this.find(command));
      case "d":
        this.upload = null;
        return this.deletePictures(command);
      default:
        // A frame in parts is answered once, after the last.
        if (command.number("m") !== 1) this.answer(command, "ENOTSUPPORTED:animation is not supported");
        return "";
    }
  }

  /** Sixel graphics, which become an image without a number for the program. */
  showSixel(data: string): string {
    const { terminal, region, cell } = this.port;
    const { active } = terminal.buffer;
    const x = Math.min(active.cursorX, terminal.cols - 1);
    const room = { width: (terminal.cols - x) * cell.width, height: MAX_CELLS * cell.height, cell };
    const pixels = decodeSixel(data, room);
    if (pixels === null) return "";
    const image = new Image(this, 0, 0, this.screen, pixels);
    const place = image.computePlacement(PictureCommand.parse(""), cell, MAX_CELLS);
    this.forgetCovered(storedRow(active, active.baseY + active.cursorY), x, place);
    this.images.push(image);
    image.admit(() => this.forgetImage(image));
    const shown = image.display(0, 0, place);
    this.markChanged();
    return pictureOutput(terminal, region, { id: shown.picture.id, ...shown.size, cursor: "below" });
  }

  /**
   * Drops an image without a number when another one is about to cover it from the same cell: otherwise a
   * film would keep all its frames.
   */
  private forgetCovered(row: StoredRow, x: number, { cols, rows }: PictureSize): void {
    const begins = placeholderAt(row, x);
    if (begins === null || begins.row !== 0 || begins.col !== 0) return;
    const id = pictureAt(row, x);
    const covered = this.images.find(
      (image) =>
        image.id === 0 &&
        image.displayed.some(({ picture, size }) => picture.id === id && size.cols <= cols && size.rows <= rows),
    );
    if (covered !== undefined) this.forgetImage(covered);
  }

  /** A program's own placeholders, with ids of wsh. */
  convertPlaceholders(text: string): string {
    const { terminal } = this.port;
    const { fg, bg, extended } = penOf(terminal);
    const { active } = terminal.buffer;
    const low = colorId(fg);
    const row = storedRow(active, active.baseY + active.cursorY);
    const left = active.cursorX > 0 ? placeholderAt(row, active.cursorX - 1) : null;
    const isSame =
      left !== null && this.placeholderIds.get(low + left.highest * 0x100_0000) === pictureAt(row, active.cursorX - 1);
    const whole = completePlaceholders(text, isSame ? left : null);
    if (low === 0) return whole.text;
    const id = this.placeholderId(low + whole.highest * 0x100_0000);
    return `\x1b[${idStyle(id)}m${whole.text}${sgrOf(fg, bg, extraOf(extended, null))}`;
  }

  /** RIS. */
  reset(): void {
    this.upload = null;
    for (const image of this.images.splice(0)) image.release();
    this.markChanged();
  }

  /** Images of a full-screen program are dropped with its screen. */
  handleAlternateExit(): void {
    for (const image of this.images.filter(({ screen }) => screen === "alternate")) this.forgetImage(image);
  }

  dispose(): void {
    this.reset();
    for (const id of this.placeholderIds.values()) freeId(id);
    this.placeholderIds.clear();
  }

  private get screen(): "normal" | "alternate" {
    return this.port.terminal.buffer.active.type;
  }

  /** Wsh's id for a program's number of a picture; the same until it is forgotten. */
  private placeholderId(given: number): number {
    const number = this.placeholderIds.get(given);
    if (number !== undefined) return number;
    const [oldest] = this.placeholderIds;
    if (this.placeholderIds.size >= MAX_NUMBERS && oldest !== undefined) {
      this.placeholderIds.delete(oldest[0]);
      freeId(oldest[1]);
    }
    const id = takeId(Math.floor(given / 0x100_0000));
    this.placeholderIds.set(given, id);
    return id;
  }

  private find(command: PictureCommand): Image | null {
    const { screen } = this;
    const id = command.count("i");
    const number = command.count("I");
    return (
      this.images.findLast(
        (image) => image.screen === screen && (id > 0 ? image.id === id : number > 0 && image.number === number),
      ) ?? null
    );
  }

  /** The upload has received another part. */
  private finishUpload(): string {
    const { upload } = this;
    if (upload === null || !upload.isComplete) return "";
    this.upload = null;
    const { first } = upload;
    if (first.count("i") > 0 && first.count("I") > 0) return this.answer(first, "EINVAL:both an id and a number");
    const pixels = upload.error ?? readPixels(upload.bytes(), upload.format);
    if (typeof pixels === "string") return this.answer(first, pixels);
    if (first.letter("a") === "q") return this.answer(first, "OK");
    const picture = first.count("i") > 0 ? this.find(first) : null;
    const erased = picture === null ? "" : this.erase(picture.displayed) + this.forgetImage(picture);
    const number = first.count("I");
    const image = new Image(
      this,
      first.count("i") || (number > 0 ? this.freeNumber() : 0),
      number,
      this.screen,
      pixels,
    );
    this.images.push(image);
    image.admit(() => this.forgetImage(image));
    if (first.letter("a") === "T") return erased + this.display(first, image);
    this.answer(first, "OK", image);
    return erased;
  }

  /** An id for an image that its program identifies by a number. */
  private freeNumber(): number {
    for (;;) {
      const id = 1 + Math.floor(Math.random() * 0x7fff_fffe);
      if (!this.images.some((image) => image.id === id)) return id;
    }
  }

  private display(command: PictureCommand, image: Image | null): string {
    if (image === null) return this.answer(command, "ENOENT:no image with this id");
    if (command.has("P") && command.count("P") > 0)
      return this.answer(command, "ENOTSUPPORTED:relative placements are not supported", image);
    const number = image.id === 0 ? 0 : command.count("p");
    const place = image.computePlacement(command, this.port.cell, MAX_CELLS);
    if (command.number("U") === 1) {
      image.displayVirtually(this.placeholderId(image.id), number, place);
      this.markChanged();
      return this.answer(command, "OK", image);
    }
    const before = number === 0 ? [] : image.displayed.filter((each) => each.number === number);
    const erased = this.erase(before);
    const shown = image.display(number, command.number("z"), place);
    this.markChanged();
    this.answer(command, "OK", image);
    const { terminal, region } = this.port;
    // Erasing output restores the cursor.
    const cursor = command.number("C") === 1 ? "stays" : "after";
    return erased + pictureOutput(terminal, region, { id: shown.picture.id, ...shown.size, cursor });
  }

  private deletePictures(command: PictureCommand): string {
    const kind = command.letter("d", "a");
    const lower = kind.toLowerCase();
    const { terminal } = this.port;
    const { active } = terminal.buffer;
    const placement = command.count("p");
    const of = this.images.filter(({ screen }) => screen === this.screen);
    let images: Image[] = [];
    let displayed: DisplayedPicture[] = [];
    const [x, y] = lower === "c" ? [active.cursorX + 1, active.cursorY + 1] : [command.count("x"), command.count("y")];
    if (lower === "i" || lower === "n") {
      const image = this.find(command);
      if (image !== null && (lower === "i") === command.count("i") > 0) images = [image];
    } else if (lower === "r") images = of.filter(({ id }) => id >= x && id <= y && id > 0);
    else if (lower === "z")
      displayed = of.flatMap((image) => image.displayed.filter(({ z }) => z === command.number("z")));
    else if ("acpqxy".includes(lower)) {
      const ids = this.idsIn({
        row: lower === "a" || lower === "x" ? null : y - 1,
        col: lower === "a" || lower === "y" ? null : x - 1,
      });
      displayed = of.flatMap((image) => image.displayed.filter(({ picture }) => ids.has(picture.id)));
      if (lower === "q") displayed = displayed.filter(({ z }) => z === command.number("z"));
    }
    const ofImages = images.flatMap((image) =>
      placement === 0 ? image.displayed : image.displayed.filter(({ number }) => number === placement),
    );
    const erased = this.erase([...displayed, ...ofImages]);
    for (const image of images) image.hideVirtual(placement);
    const isFreed = kind !== lower;
    const concerned = new Set([
      ...images,
      ...of.filter((image) => image.id === 0 || displayed.some((each) => each.image === image)),
    ]);
    for (const image of concerned) if ((isFreed || image.id === 0) && !image.isDisplayed) this.forgetImage(image);
    this.markChanged();
    return erased;
  }

  /** Ids of pictures in a row, a column, a cell, or (null, null) on the screen. */
  private idsIn({ row, col }: { readonly row: number | null; readonly col: number | null }): Set<number> {
    const { terminal } = this.port;
    const { active } = terminal.buffer;
    const ids = new Set<number>();
    if (!this.images.some(({ isDisplayed }) => isDisplayed)) return ids;
    for (let y = row ?? 0; y <= (row ?? terminal.rows - 1) && y < terminal.rows; y++) {
      const stored = storedRow(active, active.baseY + Math.max(0, y));
      for (let x = col ?? 0; x <= (col ?? terminal.cols - 1) && x < terminal.cols; x++) {
        const id = pictureAt(stored, Math.max(0, x));
        if (id !== 0) ids.add(id);
      }
    }
    return ids;
  }

  /** Marks them as no longer displayed. @returns output that erases their cells */
  private erase(displayed: readonly DisplayedPicture[]): string {
    if (displayed.length === 0) return "";
    const ids = new Set(displayed.map(({ picture }) => picture.id));
    for (const each of displayed) each.image.hide(each);
    return eraseOutput(this.port.terminal, this.port.region, ids);
  }

  private forgetImage(image: Image): "" {
    this.images = this.images.filter((each) => each !== image);
    image.release();
    this.markChanged();
    return "";
  }

  private markChanged(): void {
    this.version++;
    this.pictures.clear();
    for (const image of this.images) for (const picture of image.pictures) this.pictures.set(picture.id, picture);
  }

  /** A terminal without the protocol sends no answer. */
  private answer(command: PictureCommand, text: string, image: Image | null = null): "" {
    const id = image?.id ?? command.count("i");
    const number = command.count("I");
    const quiet = command.number("q");
    if ((id === 0 && number === 0) || quiet >= 2 || (quiet === 1 && text === "OK")) return "";
    if (pictureTerminals.size === sixelTerminals.size) return "";
    const keys = [
      id === 0 ? "" : `i=${id}`,
      number === 0 ? "" : `I=${number}`,
      command.count("p") === 0 ? "" : `p=${command.count("p")}`,
    ];
    this.port.reply(`\x1b_G${keys.filter((key) => key !== "").join(",")};${text}\x1b\\`);
    return "";
  }
}
