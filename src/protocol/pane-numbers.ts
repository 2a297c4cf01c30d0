/**
 * The numbers that a pane issues to callers: output cursors, generations and command ids. Each is prefixed with the
 * pane's own number, so that another pane refuses it, whatever both have printed: a bare name may refer to another pane
 * by then, and wrong output would look right.
 *
 * All other code treats them as opaque numbers. All stay below 2^53, the largest integer of JSON's readers.
 */
import { parseTarget } from "./names.ts";

/** Bytes of output until a pane's cursors reach those of the next pane: five hours at 50 MB/s without a pause. */
const CURSORS = 1e12;
/** Panes until a cursor's prefix is used again: 9,000 × CURSORS is the largest product below 2^53. */
const CURSOR_PANES = 9_000;
/** Activities until a pane's generations reach those of the next pane: years of constant activity. */
const GENERATIONS = 1e9;
const GENERATION_PANES = 9_000_000;
/** Commands per prefix: the number of stored records. After that the ids continue COMMAND_PANES × COMMANDS higher. */
const COMMANDS = 1_000;
const COMMAND_PANES = 1_000_000;

/**
 * Maximum bytes that a crashed pane can have printed after its last checkpoint: a second at rest, 30 s of a
 * flood at 30 MB/s.
 */
export const UNSAVED_OUTPUT = 1e9;

/** Numbers from which a restored pane continues: above all that may have been issued earlier. */
export interface NumbersBefore {
  readonly output_cursor: number;
  readonly command_id: number;
}

/** First numbers of a pane. */
interface FirstNumbers {
  readonly cursor: number;
  readonly generation: number;
  /** The last id before its first command. */
  readonly command: number;
}

/** @param pane its id, `@7` @param before the numbers issued by its last checkpoint, for a restored pane */
export function firstNumbers(pane: string, before?: NumbersBefore): FirstNumbers {
  const number = numberOf(pane);
  const first = {
    cursor: (((number - 1) % CURSOR_PANES) + 1) * CURSORS,
    generation: (number % GENERATION_PANES) * GENERATIONS,
    command: (number % COMMAND_PANES) * COMMANDS,
  };
  if (before === undefined) return first;
  return {
    ...first,
    cursor: Math.max(first.cursor, before.output_cursor) + UNSAVED_OUTPUT,
    command: nextBlock(Math.max(first.command, before.command_id)),
  };
}

export function firstCursor(pane: string): number {
  return firstNumbers(pane).cursor;
}

/** The id of a pane's first command, or of its program if that is the command. */
export function firstCommandId(pane: string): number {
  return nextCommandId(firstNumbers(pane).command);
}

export function nextCommandId(last: number): number {
  return (last + 1) % COMMANDS === 0 ? nextBlock(last) + 1 : last + 1;
}

/** The pane that issued a command's id, `@7`. */
export function paneOfCommand(id: number): string {
  return `@${Math.floor(id / COMMANDS) % COMMAND_PANES}`;
}

/** Whether an id belongs to another pane; ids below COMMANDS belong to no pane. @param first result of firstNumbers */
export function isForeignCommand(id: number, first: number): boolean {
  const front = (of: number): number => Math.floor(of / COMMANDS) % COMMAND_PANES;
  return id >= COMMANDS && front(id) !== front(first);
}

/** The pane's ids after the block of a thousand that contains `last`. */
function nextBlock(last: number): number {
  return Math.floor(last / COMMANDS) * COMMANDS + COMMAND_PANES * COMMANDS;
}

/** Whether a generation belongs to another pane. Invalid ones belong to no pane. */
export function isForeignGeneration(generation: number, first: number, now: number): boolean {
  if (generation < GENERATIONS || generation > Number.MAX_SAFE_INTEGER) return false;
  const isOwn = Math.floor(generation / GENERATIONS) * GENERATIONS === first;
  return !isOwn && (generation < first || generation > now);
}

function numberOf(pane: string): number {
  const target = parseTarget(pane);
  return target.kind === "pane" ? target.id : 0;
}
