/**
 * Output of a pipeline's step and input of the next one: a file with the written bytes, in a directory that only the
 * account can read. A step begins when the one before has ended, so a file is complete when it is read.
 */
import fs from "node:fs";
import type { Instance } from "../../../instance/paths.ts";
import { writeStdinFile } from "../../../launch/stdin-file.ts";
import { MAX_PIPED_BYTES } from "../../../protocol/commands.ts";

/** Files of a step's program in addition to the terminal. */
export interface StepFiles {
  readonly stdin_path?: string;
  readonly stdout_path?: string;
}

export class PipelineFiles implements Disposable {
  /** One between each two steps. */
  private readonly paths: string[] = [];

  constructor(
    private readonly instance: Instance,
    private readonly steps: number,
  ) {}

  /** Call in the order of the steps. @throws WshError runtime_dir_unusable */
  of(step: number): StepFiles {
    const before = this.paths[step - 1];
    const stdin = before === undefined ? {} : { stdin_path: before };
    if (step === this.steps - 1) return stdin;
    const path = writeStdinFile(this.instance, "");
    this.paths[step] = path;
    return { ...stdin, stdout_path: path };
  }

  /** Why the next step does not read everything that a step printed; null when it does. */
  fault(step: number): string | null {
    const path = this.paths[step];
    const bytes = path === undefined ? 0 : (fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0);
    if (bytes < MAX_PIPED_BYTES) return null;
    return `it printed more than ${MAX_PIPED_BYTES} bytes, the limit of a step`;
  }

  /** A step that still runs keeps its open files. */
  [Symbol.dispose](): void {
    for (const path of this.paths) {
      fs.rmSync(path, { force: true });
      fs.rmSync(`${path}.pipe`, { force: true });
    }
  }
}
