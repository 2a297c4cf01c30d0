/**
 * Reads checkpoints: the newest generation that is sufficiently complete, and its lines above the screen. It
 * reads only files of this user that no other user can write, up to a maximum size.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { checkOwnDir, checkOwnFile } from "../../instance/owned-files.ts";
import { openToRead } from "../../platform/readable.ts";
import { WshError } from "../../protocol/errors.ts";
import { type Block, type BlockKind, readBlocks } from "./blocks.ts";
import { type HistoryFile, historyGenerationFor, listFiles, listPartFiles } from "./part-writer.ts";
import { historyFile, type PartName, panePart, stateFile } from "./paths.ts";
import { LayoutRecordSchema, type PaneRecord, PaneRecordSchema, parseRecord } from "./record.ts";

/** Maximum bytes read of a file; of a longer history its end is read. A screen and records are far smaller. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** Maximum lines above a screen: the largest value of scrollback_lines. */
const MAX_LINES = 1_000_000;

const MachineSchema = v.object({ machine: v.string() });

/** Lines, some of which may be missing. */
export interface StoredLines {
  /** Number of the first line. */
  readonly first: number;
  readonly lines: readonly (string | null)[];
  /** The file that contains them, if none of its lines is missing. */
  readonly file: HistoryFile | null;
}

export interface StoredPane {
  readonly record: PaneRecord;
  readonly generation: number;
  /** Lines of the normal screen; null: damaged. */
  readonly screen: readonly string[] | null;
  /** Rows of the alternate screen, if it was shown. */
  readonly alternate: readonly string[] | null;
  /** Command records as JSON; empty: none were saved. */
  readonly commands: string;
  /** Whether a part of the state could not be read. */
  readonly damaged: boolean;
}

/**
 * Reads the newest readable generation of a pane.
 * @throws WshError checkpoint_not_found, checkpoint_damaged, checkpoint_too_new, unsafe_path
 */
export function readPane(directory: string, pane: number): StoredPane {
  const { record, blocks, generation, damaged } = readNewest(directory, panePart(pane), PaneRecordSchema);
  const linesOf = (kind: BlockKind): string[] | null => {
    const block = blocks.find((each) => each.kind === kind);
    return block === undefined ? null : block.text.split("\n");
  };
  return {
    record,
    generation,
    screen: linesOf("screen"),
    alternate: linesOf("alternate"),
    commands: blocks.find(({ kind }) => kind === "commands")?.text ?? "[]",
    damaged,
  };
}

/** @throws like readPane */
export function readLayout(directory: string) {
  const { record, generation } = readNewest(directory, "layout", LayoutRecordSchema);
  return { record, generation };
}

/** The machine that wrote a session's folder, even if a later version wrote it; null: unknown. */
export function readMachine(directory: string): string | null {
  if (!checkOwnDir(directory)) return null;
  for (const { name, kind } of listFiles(directory)) {
    const bytes = kind === "state" ? readOwnFile(join(directory, name)) : null;
    const about = bytes === null ? undefined : readBlocks(bytes).blocks.find((block) => block.kind === "about");
    const parsed = about === undefined ? null : v.safeParse(MachineSchema, JSON.parse(about.text));
    if (parsed?.success === true) return parsed.output.machine;
  }
  return null;
}

/** The lines above a pane's screen; unreadable ones are null. */
export function readHistory(directory: string, { record, generation }: StoredPane): StoredLines {
  const { history, pane } = record;
  if (history === null || history.end <= history.first) return { first: record.screen_line, lines: [], file: null };
  const { first, end } = history;
  const lines: (string | null)[] = Array.from({ length: Math.min(end - first, MAX_LINES) }, () => null);
  const files = listPartFiles(directory, panePart(pane)).filter(({ kind }) => kind === "history");
  const number = historyGenerationFor(
    generation,
    files.map((file) => file.generation),
  );
  const bytes = number === null ? null : readOwnFile(join(directory, historyFile(panePart(pane), number)));
  if (number === null || bytes === null) return { first, lines, file: null };
  const { blocks, damaged } = readBlocks(bytes);
  const ranges: { from: number; end: number; bytes: number }[] = [];
  for (const block of blocks) {
    if (block.kind !== "history") continue;
    const index = block.text.indexOf("\n");
    const from = Number(block.text.slice(0, index));
    if (index < 0 || !Number.isSafeInteger(from)) continue;
    let line = from;
    for (const text of block.text.slice(index + 1).split("\n")) {
      if (line >= first && line < end) lines[line - first] = text;
      line++;
    }
    ranges.push({ from, end: line, bytes: block.bytes });
  }
  // A block replaces earlier blocks' lines from its first line on; lines past the end were written after this state.
  const isWhole =
    damaged === 0 && ranges.every(({ end }, index) => end <= (ranges[index + 1]?.from ?? record.screen_line));
  const hasAll = isWhole && lines.every((text) => text !== null) && ranges.at(-1)?.end === end;
  return { first, lines, file: hasAll ? { generation: number, blocks: ranges, bytes: bytes.length } : null };
}

function readNewest<S extends typeof PaneRecordSchema | typeof LayoutRecordSchema>(
  directory: string,
  part: PartName,
  schema: S,
): {
  readonly record: v.InferOutput<S>;
  readonly blocks: readonly Block[];
  readonly generation: number;
  readonly damaged: boolean;
} {
  const missing = new WshError("checkpoint_not_found", `${directory} has no checkpoint of '${part}'`);
  if (!checkOwnDir(directory)) throw missing;
  const generations = listPartFiles(directory, part)
    .filter(({ kind, generation }) => kind === "state" && generation > 0)
    .map(({ generation }) => generation)
    .sort((a, b) => b - a);
  for (const [index, generation] of generations.entries()) {
    const bytes = readOwnFile(join(directory, stateFile(part, generation)));
    if (bytes === null) continue;
    const { blocks, damaged } = readBlocks(bytes);
    const about = blocks.find(({ kind }) => kind === "about");
    const record = about === undefined ? null : parseRecord(schema, about.text);
    if (record !== null) return { record, blocks, generation, damaged: damaged > 0 || index > 0 };
  }
  if (generations.length === 0) throw missing;
  throw new WshError("checkpoint_damaged", `no generation of '${part}' in ${directory} can be read`);
}

/** @returns null when it is gone @throws WshError unsafe_path */
function readOwnFile(path: string): Uint8Array | null {
  if (!checkOwnFile(path)) return null;
  const fd = openToRead(path);
  if (fd === null) return null;
  try {
    const { size } = fs.fstatSync(fd);
    const length = Math.min(size, MAX_FILE_BYTES);
    const bytes = Buffer.alloc(length);
    let read = 0;
    while (read < length) {
      const count = fs.readSync(fd, bytes, read, length - read, size - length + read);
      if (count === 0) break;
      read += count;
    }
    return bytes.subarray(0, read);
  } finally {
    fs.closeSync(fd);
  }
}
