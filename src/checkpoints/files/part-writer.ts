/**
 * Writes the checkpoint of one pane, or of one layout: a state file for each generation, never replaced, and
 * renamed into place once it is on the disk; and the lines above the screen, appended to one file in blocks,
 * since they no longer change. The newest generations are retained with their lines.
 *
 * Invariants: a file with its final name is complete; a generation refers to the history file with the highest
 * number not above its own; a block that begins at line N replaces everything from N on in earlier blocks; the
 * writer holds the lock of its part, and removes no files of other parts.
 */
import fs from "node:fs";
import { join } from "node:path";
import { isFileAt } from "../../instance/lock.ts";
import { checkOwnDir, checkOwnFile, ensureOwnDir } from "../../instance/owned-files.ts";
import { tryFlock } from "../../platform/descriptors.ts";
import { namesIn, openToRead } from "../../platform/readable.ts";
import { type Block, packBlock } from "./blocks.ts";
import {
  declinedFile,
  historyFile,
  lockFile,
  type PartFile,
  type PartName,
  parsePartFile,
  stateFile,
} from "./paths.ts";

/** Retained generations of a state: if one is damaged, only the seconds since the previous one are lost. */
const GENERATIONS = 3;
/** Maximum characters of a block of history: the loss by one damaged block. */
const BLOCK_CHARS = 64 * 1024;
/** Longest saved line, in characters. */
const MAX_LINE = 256 * 1024;
/** A history file is rewritten when it has this many unreferenced bytes, and more than those in use. */
const SPARE_BYTES = 128 * 1024;
/** … or this many blocks: each has a header, and a reader reads all. */
const MAX_BLOCKS = 1_000;
/** Number of attempts, and the pause between them in ms: a process that checks the lock holds it for microseconds. */
const LOCK_TRIES = 5;
const LOCK_PAUSE_MS = 5;
const OWNER_ONLY = 0o600;

/** Lines of history: their range and their text. */
export interface HistorySource {
  /** The oldest line to keep. */
  readonly first: number;
  /** The first line of the screen. */
  readonly end: number;
  /** Text of the lines `from` to `end` (exclusive). */
  lines(from: number, end: number): readonly string[];
}

interface AppendedBlock {
  readonly from: number;
  readonly end: number;
  readonly bytes: number;
}

/** A file of lines above the screen, and its blocks. */
export interface HistoryFile {
  readonly generation: number;
  readonly blocks: readonly AppendedBlock[];
  readonly bytes: number;
}

interface History extends HistoryFile {
  blocks: AppendedBlock[];
  bytes: number;
}

/**
 * Contents of a session's folder that are allowed before the first write: none, for a new session; other parts;
 * or also this part, for a restored pane. Any other contents belong to an earlier session with the same number,
 * and stay unchanged.
 */
export type AllowedContents = "nothing" | "other parts" | "this part";

export interface PartWriterOptions {
  /** Directories above the folder that are made as well, outermost first. */
  readonly parents?: readonly string[];
  /** Lines of a restored pane that are already written. */
  readonly existingHistory?: HistoryFile | null;
  readonly allowedContents?: AllowedContents;
}

export class PartWriter {
  private generation = 0;
  private history: History | null = null;
  private lock: number | null = null;
  /** Whether this process writes the part: it has had its lock, or the file system has no locks. */
  private hasClaimed = false;
  private isClosed = false;
  private isRemoved = false;
  private readonly parents: readonly string[];
  private readonly allowedContents: AllowedContents;
  private existingHistory: HistoryFile | null;

  /** @param directory the session's folder, which exists or is made */
  constructor(
    private readonly directory: string,
    private readonly part: PartName,
    { parents = [], existingHistory = null, allowedContents = "this part" }: PartWriterOptions = {},
  ) {
    this.parents = parents;
    this.existingHistory = existingHistory;
    this.allowedContents = allowedContents;
  }

  /**
   * Writes the next generation.
   * @param blocks makes the state's blocks; gets the reference to its lines above the screen
   * @param dropEarlier deletes all earlier generations and their lines
   * @throws the system's error; then the previous generation is still the newest, and complete
   */
  async write(
    source: HistorySource | null,
    blocks: (history: { readonly generation: number; readonly first: number; readonly end: number } | null) => Block[],
    dropEarlier = false,
  ): Promise<void> {
    if (this.isClosed) return;
    try {
      await this.writeGeneration(source, blocks, dropEarlier);
    } finally {
      if (this.isClosed) this.close();
      // Removes the files that this write created after the part was removed.
      if (this.isRemoved && this.hasClaimed) removePart(this.directory, this.part);
    }
  }

  private async writeGeneration(
    source: HistorySource | null,
    blocks: Parameters<PartWriter["write"]>[1],
    dropEarlier: boolean,
  ): Promise<void> {
    await this.claim();
    if (this.isClosed) return;
    if (dropEarlier) this.history = null;
    const generation = this.generation + 1;
    const state = Buffer.concat(
      blocks(source === null ? null : await this.appendHistory(source, generation)).map((block) => packBlock(block)),
    );
    if (this.isClosed) return;
    const path = join(this.directory, stateFile(this.part, generation));
    const temporaryPath = `${path}.new`;
    try {
      await writeWhole(temporaryPath, state);
      // The folder may have been deleted meanwhile: by `wsh forget`, or because the session has ended.
      if (this.isClosed) throw new Error("the checkpoint was removed");
      fs.renameSync(temporaryPath, path);
    } catch (error) {
      fs.rmSync(temporaryPath, { force: true });
      if (this.isRemoved) return;
      throw error;
    }
    this.generation = generation;
    await syncDirectory(this.directory);
    this.removeOld(dropEarlier);
  }

  /** Ends writing; existing files are kept. */
  close(): void {
    this.isClosed = true;
    if (this.lock !== null) fs.closeSync(this.lock);
    this.lock = null;
  }

  /** Like close, for a folder that has no further writer. */
  finish(): void {
    fs.rmSync(join(this.directory, lockFile(this.part)), { force: true });
    this.close();
  }

  /**
   * Removes everything of this part, and the folder if it becomes empty, unless another process writes the part, or
   * wrote it while this one did not. Ends writing.
   * @returns whether this process could remove the part
   * @throws the system's error
   */
  remove(): boolean {
    this.isRemoved = true;
    const isRemovable =
      this.hasClaimed || (this.allowedContents === "this part" && !isLocked(join(this.directory, lockFile(this.part))));
    this.close();
    if (isRemovable) removePart(this.directory, this.part);
    return isRemovable;
  }

  /** Takes the part's lock: from now on this process writes it. @throws the system's error */
  async claim(): Promise<void> {
    const path = join(this.directory, lockFile(this.part));
    if (this.lock !== null && checkOwnDir(this.directory) && isFileAt(path, this.lock)) return;
    if (!this.hasClaimed) this.requireNoForeignFiles();
    const isNewFolder = !fs.existsSync(this.directory);
    for (const directory of [...this.parents, this.directory]) ensureOwnDir(directory);
    // After a power failure the folder shows which numbers were used, even if their counters are lost.
    if (isNewFolder) for (const directory of this.parents.toReversed()) await syncDirectory(directory);
    if (this.lock !== null) fs.closeSync(this.lock);
    this.lock = await takeLock(path);
    this.hasClaimed = true;
    // Continues the generations that the same pane wrote before it crashed.
    const existing = listPartFiles(this.directory, this.part);
    this.generation = Math.max(0, this.generation, ...existing.map(({ generation }) => generation));
    if (this.existingHistory !== null && this.isComplete(this.existingHistory))
      this.history = { ...this.existingHistory, blocks: [...this.existingHistory.blocks] };
    this.existingHistory = null;
    if (
      this.history !== null &&
      !existing.some(({ kind, generation }) => isHistoryFile(kind, generation, this.history))
    ) {
      this.history = null;
    }
  }

  /** @throws Error when the folder contains files of an earlier session */
  private requireNoForeignFiles(): void {
    if (this.allowedContents === "this part") return;
    const others = listFiles(this.directory).filter(
      ({ part }) => this.allowedContents === "nothing" || part === this.part,
    );
    if (others.length === 0) return;
    throw new Error(`${this.directory} belongs to an earlier session with the same number`);
  }

  private isComplete({ generation, bytes }: HistoryFile): boolean {
    const path = join(this.directory, historyFile(this.part, generation));
    return checkOwnFile(path) && fs.statSync(path).size === bytes;
  }

  /** Appends new lines. @returns the reference for the state */
  private async appendHistory(
    source: HistorySource,
    generation: number,
  ): Promise<{ generation: number; first: number; end: number }> {
    const { first, end } = source;
    const { history } = this;
    if (history !== null) history.blocks = history.blocks.flatMap((block) => truncateBlock(block, end));
    const remaining = history?.blocks.filter((block) => block.end > first) ?? [];
    const inUse = remaining.reduce((sum, { bytes }) => sum + bytes, 0);
    const needsNewFile =
      history === null ||
      remaining.length === 0 ||
      remaining.length > MAX_BLOCKS ||
      history.bytes - inUse > Math.max(SPARE_BYTES, inUse);
    const target: History = needsNewFile ? { generation, blocks: [], bytes: 0 } : history;
    const unwrittenFrom = needsNewFile ? first : Math.max(first, Math.min(end, target.blocks.at(-1)?.end ?? first));
    const newBlocks = unwrittenFrom >= end ? [] : packLines(unwrittenFrom, source.lines(unwrittenFrom, end));
    if (newBlocks.length > 0) {
      const path = join(this.directory, historyFile(this.part, target.generation));
      await appendAt(path, target.bytes, Buffer.concat(newBlocks.map(({ bytes }) => bytes)));
      for (const block of newBlocks)
        target.blocks.push({ from: block.from, end: block.end, bytes: block.bytes.length });
      target.bytes += newBlocks.reduce((sum, { bytes }) => sum + bytes.length, 0);
      this.history = target;
    }
    return { generation: target.generation, first, end };
  }

  private removeOld(dropEarlier: boolean): void {
    const existing = listPartFiles(this.directory, this.part);
    const states = existing.filter(({ kind }) => kind === "state").map(({ generation }) => generation);
    const newest = states.sort((a, b) => b - a).slice(0, dropEarlier ? 1 : GENERATIONS);
    const histories = existing.filter(({ kind }) => kind === "history").map(({ generation }) => generation);
    const used = new Set(
      dropEarlier ? [this.history?.generation] : newest.map((state) => historyGenerationFor(state, histories)),
    );
    for (const { kind, generation, name } of existing) {
      if (kind === "state" ? newest.includes(generation) : used.has(generation)) continue;
      fs.rmSync(join(this.directory, name), { force: true });
    }
  }
}

/** Lines that returned to the screen may change there; they are written again after they have left it. */
function truncateBlock(block: AppendedBlock, end: number): AppendedBlock[] {
  if (block.from >= end) return [];
  return block.end <= end ? [block] : [{ ...block, end }];
}

function isHistoryFile(kind: string, generation: number, history: History | null): boolean {
  return kind === "history" && generation === history?.generation;
}

/** Number of the history file that a generation refers to; null without one. */
export function historyGenerationFor(generation: number, histories: readonly number[]): number | null {
  const older = histories.filter((each) => each <= generation);
  return older.length === 0 ? null : Math.max(...older);
}

/** Removes a part's files, and the folder if nothing else is in it. @throws the system's error */
export function removePart(directory: string, part: PartName): void {
  for (const { name } of listPartFiles(directory, part)) fs.rmSync(join(directory, name), { force: true });
  fs.rmSync(join(directory, lockFile(part)), { force: true });
  fs.rmSync(declinedFile(directory), { force: true });
  try {
    fs.rmdirSync(directory);
  } catch {
    // The folder contains other parts, or is gone.
  }
}

/** A part's files in a session's folder. */
export function listPartFiles(directory: string, part: PartName): (PartFile & { readonly name: string })[] {
  return listFiles(directory).filter((file) => file.part === part);
}

/** The files of all parts in a session's folder. */
export function listFiles(directory: string): (PartFile & { readonly name: string })[] {
  return namesIn(directory).flatMap((name) => {
    const isUnfinished = name.endsWith(".new");
    const file = parsePartFile(isUnfinished ? name.slice(0, -".new".length) : name);
    // Unfinished files of a process that died while writing have no generation.
    return file === null ? [] : [{ name, ...file, generation: isUnfinished ? 0 : file.generation }];
  });
}

/** Blocks of lines, each short enough that its loss is bearable. */
function packLines(first: number, lines: readonly string[]): { from: number; end: number; bytes: Uint8Array }[] {
  const blocks: { from: number; end: number; bytes: Uint8Array }[] = [];
  let offset = 0;
  while (offset < lines.length) {
    const from = offset;
    const texts: string[] = [];
    for (let chars = 0; offset < lines.length && (chars < BLOCK_CHARS || texts.length === 0); offset++) {
      const text = cutLine(lines[offset] ?? "");
      chars += text.length + 1;
      texts.push(text);
    }
    const head = `${first + from}\n`;
    const bytes = packBlock({ kind: "history", text: head + texts.join("\n") });
    blocks.push({ from: first + from, end: first + offset, bytes });
  }
  return blocks;
}

/** A line that is too long to be stored completely is cut and loses its styles. */
export function cutLine(line: string): string {
  return line.length <= MAX_LINE ? line : stripStyles(line).slice(0, MAX_LINE);
}

/** The text of a line, without its styles and links. */
export function stripStyles(line: string): string {
  return line.replace(/\x1b(\[[\d;:]*m|\]8;[^\x1b]*\x1b\\)/g, "");
}

/** @throws the system's error; existing contents stay unchanged */
async function appendAt(path: string, end: number, bytes: Uint8Array): Promise<void> {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW } = fs.constants;
  await withFile(path, O_WRONLY | O_CREAT | O_NOFOLLOW, async (fd) => {
    // Bytes past the known end are from a write that failed halfway.
    fs.ftruncateSync(fd, end);
    writeAll(fd, bytes, end);
    await syncFile(fd, fs.fdatasync);
  });
}

async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = fs.constants;
  await withFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, async (fd) => {
    writeAll(fd, bytes, 0);
    await syncFile(fd, fs.fsync);
  });
}

async function withFile(path: string, flags: number, act: (fd: number) => Promise<void>): Promise<void> {
  const fd = fs.openSync(path, flags, OWNER_ONLY);
  try {
    await act(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  let written = 0;
  while (written < bytes.length) {
    const count = fs.writeSync(fd, bytes, written, bytes.length - written, position + written);
    if (count === 0) throw new Error("ENOSPC: no space left on device");
    written += count;
  }
}

/** The only call that waits for the disk and uses another thread: each of those costs the session's memory. */
function syncFile(fd: number, sync: typeof fs.fsync): Promise<void> {
  return new Promise((resolve, reject) => sync(fd, (error) => (error == null ? resolve() : reject(error))));
}

async function syncDirectory(path: string): Promise<void> {
  try {
    await withFile(path, fs.constants.O_RDONLY, (fd) => syncFile(fd, fs.fsync));
  } catch {
    // Not every file system can sync directories; the file itself is on the disk.
  }
}

/** Whether another process holds a part's lock. */
function isLocked(path: string): boolean {
  const fd = openToRead(path);
  if (fd === null) return false;
  try {
    return tryFlock(fd, "shared").kind === "held";
  } finally {
    fs.closeSync(fd);
  }
}

/** @returns null when the file system has no locks */
async function takeLock(path: string): Promise<number | null> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = fs.constants;
  const fd = fs.openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, OWNER_ONLY);
  for (let triesLeft = LOCK_TRIES; ; triesLeft--) {
    const { kind } = tryFlock(fd);
    if (kind === "taken") return fd;
    if (kind === "refused" || triesLeft === 0) {
      fs.closeSync(fd);
      if (kind === "refused") return null;
      throw new Error(`another process is writing the checkpoint and holds ${path}`);
    }
    await Bun.sleep(LOCK_PAUSE_MS);
  }
}
