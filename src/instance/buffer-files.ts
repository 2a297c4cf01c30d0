/**
 * The paste buffers of an instance as files, one for each text: its name is a number that increases with each copy, its
 * first line describes the text, the rest is the text. Session processes and the command line read and write them
 * directly, without a server.
 *
 * Invariants: a file is created exclusively, so two writers never share a number; the first line contains the
 * number of bytes that follow, so a file whose writer died is ignored; of two files for one name the newer
 * counts. No lock is needed.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { errorCode } from "../base/errno.ts";
import { OwnerSchema } from "../protocol/owner.ts";
import { ensureOwnDir, removeIfPossible, replaceOwnFile } from "./owned-files.ts";
import { type Instance, inKeptDir } from "./paths.ts";
import { placeDigest } from "./place-digest.ts";

/** Bytes that a list reads of a file: the first line, and the beginning of the text. */
const HEAD_BYTES = 4_096;
/** Age at which an incomplete file is a dead writer's, in ms. */
const ABANDONED_MS = 60_000;
/** Attempts to find a free number: each failure means that another process has added a buffer. */
const MAX_TRIES = 1_000;

const HeadSchema = v.object({
  name: v.nullable(v.pipe(v.string(), v.normalize("NFC"))),
  bytes: v.number(),
  at: v.number(),
  owner: v.nullable(OwnerSchema),
});
/** Facts about a buffer besides its text; `name` null: an automatic name. */
export type BufferHead = v.InferOutput<typeof HeadSchema>;

export interface StoredBuffer extends BufferHead {
  readonly number: number;
  /** The beginning of the text. */
  readonly begins: string;
}

export class BufferFiles {
  constructor(private readonly instance: Instance) {}

  /** Newest first; if several have the same name, only the newest. */
  list(): StoredBuffer[] {
    const names = new Set<string>();
    const directory = this.open();
    return numbersIn(directory)
      .toReversed()
      .flatMap((number) => {
        const found = read(directory, number);
        if (found === null || (found.name !== null && names.has(found.name))) return [];
        if (found.name !== null) names.add(found.name);
        return [found];
      });
  }

  /** Null: the buffer was deleted. */
  text(number: number): string | null {
    try {
      const bytes = fs.readFileSync(join(this.open(), String(number)));
      const end = bytes.indexOf(0x0a) + 1;
      return headOf(bytes.subarray(0, end), bytes.length) === null ? null : bytes.subarray(end).toString();
    } catch {
      return null;
    }
  }

  /**
   * @param skips numbers that must not be used @returns the buffer's number @throws the system's error: nothing was
   * stored
   */
  add(head: BufferHead, text: string, skips: (number: number) => boolean): number {
    const directory = this.open();
    const numbers = numbersIn(directory);
    removeAbandoned(directory, numbers);
    for (let number = (numbers.at(-1) ?? -1) + 1, tries = 1; ; number++, tries++) {
      if (skips(number)) continue;
      try {
        create(join(directory, String(number)), contentOf(head, text));
        return number;
      } catch (error) {
        if (errorCode(error) !== "EEXIST" || tries === MAX_TRIES) throw error;
      }
    }
  }

  /** Changes the facts about a buffer. @returns false: it was deleted */
  describe(number: number, head: BufferHead): boolean {
    const text = this.text(number);
    if (text === null) return false;
    replaceOwnFile(join(this.open(), String(number)), contentOf(head, text));
    return true;
  }

  remove(number: number): void {
    const directory = this.open();
    const path = join(directory, String(number));
    try {
      // Deleting the newest leaves an empty file, so that its number is not given again.
      if (number === numbersIn(directory).at(-1)) fs.truncateSync(path);
      else fs.unlinkSync(path);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
    }
  }

  /** Returns the directory, created if missing. */
  private open(): string {
    const { fileName, runtimeDir } = this.instance;
    return inKeptDir(this.instance, "buffers", (parent) => {
      const directory = join(parent, `${fileName}.${placeDigest(runtimeDir)}`);
      ensureOwnDir(directory);
      fs.accessSync(directory, fs.constants.W_OK);
      return directory;
    });
  }
}

/** Ascending. */
function numbersIn(directory: string): number[] {
  return fs
    .readdirSync(directory)
    .filter((name) => /^\d{1,15}$/.test(name))
    .map(Number)
    .sort((a, b) => a - b);
}

function create(path: string, content: string): void {
  const descriptor = fs.openSync(path, "wx", 0o600);
  try {
    fs.writeFileSync(descriptor, content);
  } catch (error) {
    removeIfPossible(path);
    throw error;
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Null: the buffer was deleted, or its writer has not finished. */
function read(directory: string, number: number): StoredBuffer | null {
  let descriptor: number | null = null;
  try {
    descriptor = fs.openSync(join(directory, String(number)), "r");
    const buffer = Buffer.alloc(HEAD_BYTES);
    const beginning = buffer.subarray(0, fs.readSync(descriptor, buffer, 0, HEAD_BYTES, 0));
    const end = beginning.indexOf(0x0a) + 1;
    const head = headOf(beginning.subarray(0, end), fs.fstatSync(descriptor).size);
    return head === null ? null : { ...head, number, begins: beginning.subarray(end).toString() };
  } catch {
    return null;
  } finally {
    if (descriptor !== null) fs.closeSync(descriptor);
  }
}

/** Removes files of dead writers. */
function removeAbandoned(directory: string, numbers: readonly number[]): void {
  for (const number of numbers.slice(0, -1)) {
    const path = join(directory, String(number));
    const age = Date.now() - (fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > ABANDONED_MS && read(directory, number) === null) removeIfPossible(path);
  }
}

function contentOf(head: BufferHead, text: string): string {
  return `${JSON.stringify(head)}\n${text}`;
}

/** @param line the first line with its newline @param size size of the file; null: the file is incomplete */
function headOf(line: Uint8Array, size: number): BufferHead | null {
  if (line.length === 0) return null;
  const head = v.parse(HeadSchema, JSON.parse(Buffer.from(line).toString()));
  return line.length + head.bytes === size ? head : null;
}
