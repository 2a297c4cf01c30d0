/** One image of a program, under its own number, and its display. */
import { admit, type BudgetEntry, freeId, release, takeId } from "./budget.ts";
import type { PictureCommand } from "./command.ts";
import type { Picture, PictureSize } from "./picture.ts";
import { cutPixels, type ImageRect, type Pixels } from "./pixels.ts";

/** Maximum displayed pictures of an image. */
const MAX_DISPLAYED = 64;

interface ImagePlacement extends PictureSize {
  readonly part: ImageRect;
}

interface DisplayableImage extends Picture {
  readonly places: Map<number, PictureSize>;
  isFinished: boolean;
  /** Identifies the displayed part of the image, and its size. */
  readonly shape: string;
}

/** A placement: a picture of its own, so that erasing one keeps the others. */
export interface DisplayedPicture {
  readonly image: Image;
  /** The program's number for it; 0: none. */
  readonly number: number;
  readonly z: number;
  readonly picture: DisplayableImage;
  readonly size: PictureSize;
}

export class Image {
  displayed: DisplayedPicture[] = [];
  /** Displayed by the program's own placeholders. */
  private virtualPicture: DisplayableImage | null = null;
  /** A picture displayed before, kept for the next display: terminals still have it. */
  private spare: DisplayableImage | null = null;
  private entry: BudgetEntry | null = null;

  constructor(
    private readonly owner: object,
    /** The program's id for it; 0: none. */
    readonly id: number,
    readonly number: number,
    readonly screen: "normal" | "alternate",
    readonly pixels: Pixels,
  ) {}

  get isDisplayed(): boolean {
    return this.displayed.length > 0 || (this.virtualPicture?.places.size ?? 0) > 0;
  }

  get pictures(): readonly Picture[] {
    const { displayed, virtualPicture, spare } = this;
    return [...displayed.map(({ picture }) => picture), ...[virtualPicture, spare].filter((each) => each !== null)];
  }

  admit(onDropped: () => void): void {
    const self = this;
    this.entry = {
      owner: this.owner,
      pixels: this.pixels,
      get isDisplayed() {
        return self.isDisplayed;
      },
      drop: onDropped,
    };
    admit(this.entry);
  }

  release(): void {
    if (this.entry !== null) release(this.entry);
    for (const { picture } of this.displayed) finishPicture(picture);
    finishPicture(this.spare);
    this.displayed = [];
    this.spare = null;
    this.hideVirtual(0);
  }

  /** The part and the size that a command requests. */
  computePlacement(
    command: PictureCommand,
    cell: { readonly width: number; readonly height: number },
    most: number,
  ): ImagePlacement {
    const { pixels } = this;
    const x = Math.min(command.count("x"), pixels.width - 1);
    const y = Math.min(command.count("y"), pixels.height - 1);
    const width = Math.min(command.count("w") || pixels.width, pixels.width - x);
    const height = Math.min(command.count("h") || pixels.height, pixels.height - y);
    let cols = command.count("c");
    let rows = command.count("r");
    if (cols === 0 && rows === 0) {
      cols = Math.ceil((width + Math.min(command.count("X"), cell.width - 1)) / cell.width);
      rows = Math.ceil((height + Math.min(command.count("Y"), cell.height - 1)) / cell.height);
    } else if (cols === 0) cols = Math.ceil((rows * cell.height * width) / height / cell.width);
    else if (rows === 0) rows = Math.ceil((cols * cell.width * height) / width / cell.height);
    return { part: { x, y, width, height }, cols: Math.min(cols, most), rows: Math.min(rows, most) };
  }

  display(number: number, z: number, { part, cols, rows }: ImagePlacement): DisplayedPicture {
    const size = { cols, rows };
    const shape = JSON.stringify([part, size]);
    const { spare } = this;
    const isSame = spare?.shape === shape;
    const picture = isSame
      ? spare
      : { id: takeId(), pixels: cutPixels(this.pixels, part), places: new Map(), shape, isFinished: false };
    if (isSame) this.spare = null;
    picture.places.set(1, size);
    const displayed = { image: this, number, z, picture, size };
    this.displayed.push(displayed);
    const oldest = this.displayed[0];
    if (this.displayed.length > MAX_DISPLAYED && oldest !== undefined) this.hide(oldest);
    return displayed;
  }

  hide(displayed: DisplayedPicture): void {
    this.displayed = this.displayed.filter((each) => each !== displayed);
    displayed.picture.places.clear();
    finishPicture(this.spare);
    this.spare = displayed.picture;
  }

  /** @param id wsh's id for the program's number */
  displayVirtually(id: number, number: number, { part, cols, rows }: ImagePlacement): void {
    if (this.virtualPicture?.id !== id) {
      this.hideVirtual(0);
      this.virtualPicture = {
        id,
        pixels: cutPixels(this.pixels, part),
        places: new Map(),
        shape: "",
        isFinished: false,
      };
    }
    this.virtualPicture.places.set(number, { cols, rows });
  }

  /** @param number number of the placement; 0: all */
  hideVirtual(number: number): void {
    if (number !== 0) this.virtualPicture?.places.delete(number);
    else if (this.virtualPicture !== null) {
      // The program still uses its id.
      this.virtualPicture.isFinished = true;
      this.virtualPicture = null;
    }
  }
}

function finishPicture(picture: DisplayableImage | null): void {
  if (picture === null) return;
  picture.isFinished = true;
  freeId(picture.id);
}
