/** An image that a program sends, in one command or in several: the first has its properties. */
import { MAX_IMAGE_BYTES } from "./budget.ts";
import type { PictureCommand } from "./command.ts";

export class Upload {
  isComplete = false;
  private parts: Buffer[] = [];
  private length = 0;

  constructor(readonly first: PictureCommand) {
    this.add(first);
  }

  add(command: PictureCommand): void {
    const bytes = Buffer.from(command.payload, "base64");
    this.length += bytes.length;
    if (this.length > MAX_IMAGE_BYTES) this.parts = [];
    else this.parts.push(bytes);
    this.isComplete = command.number("m") !== 1;
  }

  /** Its error in the protocol's form; null: none so far. */
  get error(): string | null {
    // A file name is valid only where the program runs, which may be another machine, user or root directory.
    if (this.first.letter("t", "d") !== "d") return "EINVAL:only direct transmission (t=d) is supported";
    return this.length > MAX_IMAGE_BYTES ? "EFBIG:too much data" : null;
  }

  bytes(): Buffer {
    return this.parts.length === 1 ? (this.parts[0] ?? Buffer.alloc(0)) : Buffer.concat(this.parts);
  }

  get format() {
    const { first } = this;
    return {
      format: first.number("f"),
      compression: first.letter("o"),
      width: first.count("s"),
      height: first.count("v"),
    };
  }
}
