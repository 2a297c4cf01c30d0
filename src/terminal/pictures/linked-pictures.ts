/**
 * The pictures of a view, as its pane's process sends them to a terminal, stored for the terminals that show the view
 * here.
 *
 * Invariant: their size is limited as for a pane; the oldest is dropped. Ids are those of the process that
 * created them: random numbers out of 16 million.
 */
import { MAX_PANE_BYTES } from "./budget.ts";
import { PictureCommand } from "./command.ts";
import { nextSerial, type Picture, type PictureSize, type PictureSource } from "./picture.ts";
import { readPixels } from "./pixels.ts";
import { Upload } from "./upload.ts";

interface LinkedPicture extends Picture {
  readonly places: Map<number, PictureSize>;
  isFinished: boolean;
}

export class LinkedPictures implements PictureSource {
  /** Oldest first. */
  readonly pictures = new Map<number, LinkedPicture>();
  version = 0;
  readonly serial = nextSerial();
  private upload: Upload | null = null;

  /** @param bytes complete commands (`PictureFeed`) */
  handleCommands(bytes: Uint8Array): void {
    for (const [, text = ""] of Buffer.from(bytes)
      .toString("latin1")
      .matchAll(/\x1b_G([^\x1b]*)\x1b\\/g)) {
      this.handleCommand(PictureCommand.parse(text));
    }
    this.version++;
  }

  private handleCommand(command: PictureCommand): void {
    const id = command.count("i");
    switch (command.letter("a", "t")) {
      case "p":
        this.pictures.get(id)?.places.set(command.count("p"), { cols: command.count("c"), rows: command.count("r") });
        return;
      case "d":
        this.upload = null;
        if (command.letter("d") === "I") this.drop(id);
        else this.pictures.get(id)?.places.clear();
        return;
      default:
        if (this.upload === null) this.upload = new Upload(command);
        else this.upload.add(command);
        this.finishUpload(this.upload);
    }
  }

  private finishUpload(upload: Upload): void {
    if (!upload.isComplete) return;
    this.upload = null;
    const pixels = upload.error ?? readPixels(upload.bytes(), upload.format);
    if (typeof pixels === "string") return;
    const id = upload.first.count("i");
    this.drop(id);
    this.pictures.set(id, { id, pixels, places: new Map(), isFinished: false });
    let held = 0;
    for (const { pixels } of this.pictures.values()) held += pixels.bytes.length;
    for (const [oldest, { pixels }] of this.pictures) {
      if (held <= MAX_PANE_BYTES || oldest === id) return;
      held -= pixels.bytes.length;
      this.drop(oldest);
    }
  }

  private drop(id: number): void {
    const picture = this.pictures.get(id);
    if (picture === undefined) return;
    picture.isFinished = true;
    this.pictures.delete(id);
  }
}
