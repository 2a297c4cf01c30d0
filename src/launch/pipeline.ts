/**
 * Runs commands one after the other, each with its own program, and pipelines of them: the output of a step becomes the
 * input of the next one, through a file with its exact bytes in a directory that only the account can read. A step
 * begins when the previous one has ended, so a file is complete when it is read.
 */
import fs from "node:fs";
import type { Instance } from "../instance/paths.ts";
import { defined } from "../protocol/defined.ts";
import { MAX_PIPED_BYTES } from "../protocol/steps.ts";
import { writeStdinFile } from "./stdin-file.ts";

/** Files of a step's program in addition to the terminal. */
export interface StepFiles {
  readonly stdin_path?: string;
  readonly stdout_path?: string;
}

/** How a sequence of steps is run. */
export interface Sequence<Step, Result> {
  run(step: Step, index: number, files?: StepFiles): Promise<Result>;
  /** The result of a step that is not run. */
  skipped(step: Step, before: Result): Result;
  /** Whether the steps after this result are skipped. */
  stops(result: Result): boolean;
  /** In a pipeline: called when the output of a step was cut. */
  cut?(why: string): void;
}

export async function inSequence<Step, Result>(
  steps: readonly Step[],
  { run, skipped, stops }: Sequence<Step, Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let isStopped = false;
  for (const [index, step] of steps.entries()) {
    const before = results.at(-1);
    if (isStopped && before !== undefined) {
      results.push(skipped(step, before));
      continue;
    }
    const result = await run(step, index);
    results.push(result);
    isStopped = stops(result);
  }
  return results;
}

/** Like `inSequence`, but each step reads the output of the previous one. A warning reports output that was cut. */
export async function inPipeline<Step, Result extends { readonly warnings?: string[] | undefined }>(
  instance: Instance,
  steps: readonly Step[],
  sequence: Sequence<Step, Result>,
): Promise<Result[]> {
  using files = new PipelineFiles(instance, steps.length);
  const run = async (step: Step, index: number): Promise<Result> => {
    const result = await sequence.run(step, index, files.of(index));
    const fault = files.fault(index);
    if (fault === null) return result;
    sequence.cut?.(fault);
    return { ...result, warnings: [...(result.warnings ?? []), fault] };
  };
  return await inSequence(steps, { ...sequence, run });
}

class PipelineFiles implements Disposable {
  /** One file between each two steps. */
  private readonly paths: string[] = [];

  constructor(
    private readonly instance: Instance,
    private readonly steps: number,
  ) {}

  /** Call in the order of the steps. @throws WshError runtime_dir_unusable */
  of(step: number): StepFiles {
    const before = this.paths[step - 1];
    const stdin = defined({ stdin_path: before });
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
    return `it printed more than ${MAX_PIPED_BYTES} bytes, the limit for one step`;
  }

  /** A step that still runs keeps its open files. */
  [Symbol.dispose](): void {
    for (const path of this.paths) {
      fs.rmSync(path, { force: true });
      fs.rmSync(`${path}.pipe`, { force: true });
    }
  }
}
