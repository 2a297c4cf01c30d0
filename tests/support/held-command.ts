/** Keeps a command in a session running until the test lets it end, independent of the machine's speed. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export class Gate {
  private readonly file: string;

  /** @param directory a directory of this test alone */
  constructor(directory: string) {
    this.file = join(directory, `gate-${randomUUID()}`);
  }

  /** Shell text that runs until the gate is open. */
  get wait(): string {
    return `until [ -e '${this.file}' ]; do sleep 0.05; done`;
  }

  open(): void {
    writeFileSync(this.file, "");
  }
}
