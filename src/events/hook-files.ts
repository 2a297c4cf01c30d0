/**
 * The files of hooks: the cursor up to which hooks have read the journal, and a job for each run that is due. A job is
 * written before the cursor moves past its event, and begins only afterwards; the process that begins it renames its
 * file, which succeeds once. So each job runs once, whichever process is killed at whichever moment.
 *
 * `CURSOR.N.event` is the standard input, `CURSOR.N.job` the job, `CURSOR.N.PID` the job once it has begun.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { readOwnJson } from "../instance/own-json.ts";
import { ensureOwnDir, removeIfPossible, replaceOwnFile } from "../instance/owned-files.ts";
import type { Instance } from "../instance/paths.ts";
import { placeDigest } from "../instance/place-digest.ts";
import { namesIn, readText } from "../platform/readable.ts";
import { WantedSchema } from "../protocol/event-consumers.ts";
import { RecordedEventSchema } from "../protocol/recorded-events.ts";
import { endOf, eventsDir, formatCursor } from "./segments.ts";

const JobSchema = v.object({
  event: RecordedEventSchema,
  wanted: WantedSchema,
  key: v.string(),
  agent: v.optional(v.string()),
});
/** A run that is due. `key` is the same for all runs of a hook; `agent` is the AI agent in whose name it runs. */
export type HookJob = v.InferOutput<typeof JobSchema>;

export class HookFiles {
  readonly directory: string;
  private readonly cursorFile: string;

  constructor(private readonly instance: Instance) {
    const { stateDir, fileName, runtimeDir } = instance;
    this.directory = join(stateDir, `${fileName}.${placeDigest(runtimeDir)}.hooks`);
    this.cursorFile = join(this.directory, "cursor");
  }

  /** The cursor up to which hooks have read the journal; null: they never have. */
  get cursor(): string | null {
    return readText(this.cursorFile);
  }

  set cursor(cursor: string) {
    ensureOwnDir(this.directory);
    replaceOwnFile(this.cursorFile, cursor);
  }

  /** Hooks start reading at the journal's end, unless a cursor exists. */
  beginHere(): void {
    ensureOwnDir(this.directory);
    try {
      fs.writeFileSync(this.cursorFile, formatCursor(endOf(eventsDir(this.instance))), { mode: 0o600, flag: "wx" });
    } catch {
      // The file exists.
    }
  }

  /** Path of a job's files, without the extension. */
  path(job: string): string {
    return join(this.directory, job);
  }

  /** @throws the system's error */
  write(job: string, contents: HookJob): void {
    ensureOwnDir(this.directory);
    fs.writeFileSync(this.path(`${job}.event`), `${JSON.stringify(contents.event)}\n`, { mode: 0o600 });
    replaceOwnFile(this.path(`${job}.job`), JSON.stringify(contents));
  }

  /** Replaces a program's standard input. */
  writeInput(job: string, value: object): void {
    replaceOwnFile(this.path(`${job}.event`), `${JSON.stringify(value)}\n`);
  }

  /** Null: the job has begun or does not exist. */
  read(job: string): HookJob | null {
    return readOwnJson(this.path(`${job}.job`), JobSchema);
  }

  /**
   * A job that a process has begun, and when, in ms of Unix time: renaming was the file's last change. Null: the job
   * does not exist.
   */
  begun(job: string, pid: number): { readonly job: HookJob; readonly begunAt: number } | null {
    const path = this.path(`${job}.${pid}`);
    const contents = readOwnJson(path, JobSchema);
    const begunAt = fs.statSync(path, { throwIfNoEntry: false })?.ctimeMs;
    return contents === null || begunAt === undefined ? null : { job: contents, begunAt };
  }

  /** @returns whether this process begins it; no other process does then */
  take(job: string): boolean {
    try {
      fs.renameSync(this.path(`${job}.job`), this.path(`${job}.${process.pid}`));
      return true;
    } catch {
      return false;
    }
  }

  /**
   * @param pid the process that has started the job. It is a parameter since the directory may hold a thousand jobs:
   * listing it for each would be slow.
   */
  remove(job: string, pid: number | null = null): void {
    for (const kind of ["event", "job", ...(pid === null ? [] : [pid])]) removeIfPossible(this.path(`${job}.${kind}`));
  }

  /** Jobs that are due, and jobs that have begun with their process and their time in ms of Unix time. Oldest first. */
  list(): { readonly due: string[]; readonly begun: { readonly job: string; readonly pid: number }[] } {
    const due: string[] = [];
    const begun: { job: string; pid: number }[] = [];
    for (const { name, kind } of this.files()) {
      if (kind === "job") due.push(name);
      else if (/^\d+$/.test(kind)) begun.push({ job: name, pid: Number(kind) });
    }
    return { due, begun };
  }

  private files(): { readonly file: string; readonly name: string; readonly kind: string }[] {
    return namesIn(this.directory)
      .flatMap((file) => {
        const [, name = "", kind = ""] = /^(\d+-\d+\.\d+)\.(job|event|\d+)$/.exec(file) ?? [];
        return name === "" ? [] : [{ file, name, kind }];
      })
      .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  }
}
