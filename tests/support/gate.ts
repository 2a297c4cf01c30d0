/** Holds a command in a session until the test lets it end: how fast the machine is decides nothing. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export class Gate {
  private readonly file: string;

  /** @param directory one of the test's own */
  constructor(directory: string) {
    this.file = join(directory, `gate-${randomUUID()}`);
  }

  /** Shell text that is at work until the gate is open. */
  get wait(): string {
    return `until [ -e '${this.file}' ]; do sleep 0.05; done`;
  }

  open(): void {
    writeFileSync(this.file, "");
  }
}
