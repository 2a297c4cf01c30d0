/** One image of a program, under its own number, and its display. */
import { admit, type BudgetEntry, freeId, release, takeId } from "./budget.ts";
import type { PictureCommand } from "./command.ts";
import type { Picture, PicturePlace } from "./picture.ts";
import { cut, type ImageRect, type Pixels } from "./pixels.ts";

/** Maximum displayed pictures of an image. */
const MAX_DISPLAYED = 64;

interface Placed extends PicturePlace {
  readonly part: ImageRect;
}

interface OwnPicture extends Picture {
  readonly places: Map<number, PicturePlace>;
  isOver: boolean;
  /** Identifies the displayed part of the image, and its size. */
  readonly shape: string;
}

/** A placement: a picture of its own, so that erasing one keeps the others. */
export interface Displayed {
  readonly image: Image;
  /** The program's number for it; 0: none. */
  readonly number: number;
  readonly z: number;
  readonly picture: OwnPicture;
  readonly place: PicturePlace;
}

export class Image {
  displayed: Displayed[] = [];
  /** Displayed by the program's own placeholders. */
  private virtual: OwnPicture | null = null;
  /** A picture displayed before, kept for the next display: terminals still have it. */
  private spare: OwnPicture | null = null;
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
    return this.displayed.length > 0 || (this.virtual?.places.size ?? 0) > 0;
  }

  get pictures(): readonly Picture[] {
    const { displayed, virtual, spare } = this;
    return [...displayed.map(({ picture }) => picture), ...[virtual, spare].filter((each) => each !== null)];
  }

  admit(dropped: () => void): void {
    const self = this;
    this.entry = {
      owner: this.owner,
      pixels: this.pixels,
      get isDisplayed() {
        return self.isDisplayed;
      },
      drop: dropped,
    };
    admit(this.entry);
  }

  release(): void {
    if (this.entry !== null) release(this.entry);
    for (const { picture } of this.displayed) end(picture);
    end(this.spare);
    this.displayed = [];
    this.spare = null;
    this.hideVirtual(0);
  }

  /** The part and the size that a command requests. */
  placed(command: PictureCommand, cell: { readonly width: number; readonly height: number }, most: number): Placed {
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

  display(number: number, z: number, { part, cols, rows }: Placed): Displayed {
    const place = { cols, rows };
    const shape = JSON.stringify([part, place]);
    const { spare } = this;
    const isSame = spare?.shape === shape;
    const picture = isSame
      ? spare
      : { id: takeId(), pixels: cut(this.pixels, part), places: new Map(), shape, isOver: false };
    if (isSame) this.spare = null;
    picture.places.set(1, place);
    const displayed = { image: this, number, z, picture, place };
    this.displayed.push(displayed);
    const oldest = this.displayed[0];
    if (this.displayed.length > MAX_DISPLAYED && oldest !== undefined) this.hide(oldest);
    return displayed;
  }

  hide(displayed: Displayed): void {
    this.displayed = this.displayed.filter((each) => each !== displayed);
    displayed.picture.places.clear();
    end(this.spare);
    this.spare = displayed.picture;
  }

  /** @param id wsh's id for the program's number */
  displayVirtually(id: number, number: number, { part, cols, rows }: Placed): void {
    if (this.virtual?.id !== id) {
      this.hideVirtual(0);
      this.virtual = { id, pixels: cut(this.pixels, part), places: new Map(), shape: "", isOver: false };
    }
    this.virtual.places.set(number, { cols, rows });
  }

  /** @param number number of the placement; 0: all */
  hideVirtual(number: number): void {
    if (number !== 0) this.virtual?.places.delete(number);
    else if (this.virtual !== null) {
      // The program still uses its id.
      this.virtual.isOver = true;
      this.virtual = null;
    }
  }
}

function end(picture: OwnPicture | null): void {
  if (picture === null) return;
  picture.isOver = true;
  freeId(picture.id);
}
