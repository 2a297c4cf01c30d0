/**
 * The exact bytes that callers' commands wrote: from the mark of their start to that of their end. The CR
 * that the terminal adds before each LF is removed.
 *
 * Bounded: MOST_BYTES per command, ALL_BYTES in all; the newest stay. An incomplete output is dropped; the reason is
 * stored.
 */
import { WshError } from "../../protocol/errors.ts";
import { hidesTypedText, type PtyFlags } from "../../pty/port.ts";
import type { CommandLog } from "../commands/command-log.ts";

/** Most bytes of one command's output, and of all of a pane's. */
const MAX_COMMAND_BYTES = 1024 * 1024;
const MAX_ALL_BYTES = 4 * MAX_COMMAND_BYTES;
/** Commands whose outputs or reasons are stored. */
const MAX_COMMANDS = 64;
/** Most bytes of a mark that names a command, with a title of fish. */
const MAX_NAME_MARK_BYTES = 600_000;
const CR = 0x0d;
const LF = 0x0a;
/** Start of our script's mark for a command's end. */
const END_MARK = Buffer.from("\x1b]133;D");

interface Capture {
  readonly id: number;
  /** Offsets in the pane's output; null while it runs. */
  readonly from: number;
  to: number | null;
  parts: Uint8Array[];
  bytes: number;
  /** The reason why the output is incomplete; null: it is complete so far. */
  lossReason: string | null;
  /** Whether the terminal has added CRs; null before any output. */
  addsCr: boolean | null;
  isNamed: boolean;
}

export class RawOutputs {
  private readonly captures = new Map<number, Capture>();
  /** Captures whose end was not reported, or not read. */
  private openCaptures: Capture[] = [];
  /** Offset up to which output was read. */
  private readOffset = 0;

  constructor(log: Pick<CommandLog, "on">) {
    log.on({
      started: ({ id, output_start: from }, isRequested) => isRequested && this.noteBegin(id, from),
      named: ({ id }) => this.noteNamed(id),
      finished: ({ id, output_end: to, state, verified }) =>
        this.noteEnd(id, to ?? 0, state === "finished" && verified),
    });
  }

  get hasOpen(): boolean {
    return this.openCaptures.length > 0;
  }

  /** The shell's script names the command after the mark of its start: the name is not part of the output. */
  private noteNamed(id: number): void {
    const capture = this.captures.get(id);
    if (capture !== undefined) capture.isNamed = true;
  }

  private noteBegin(id: number, from: number): void {
    const capture: Capture = {
      id,
      from,
      to: null,
      parts: [],
      bytes: 0,
      lossReason: null,
      addsCr: null,
      isNamed: false,
    };
    this.captures.set(id, capture);
    this.openCaptures.push(capture);
    if (this.captures.size > MAX_COMMANDS) this.captures.delete(this.captures.keys().next().value ?? id);
  }

  /**
   * The end is known only after the prompt that follows.
   * @param isMarked whether the shell reported the end in time
   */
  private noteEnd(id: number, to: number, isMarked: boolean): void {
    const capture = this.openCaptures.find((each) => each.id === id);
    if (capture === undefined) return;
    capture.to = to;
    if (!isMarked) markLost(capture, "its exact end is unknown");
    this.closeRead();
  }

  /**
   * A chunk was read. Runs per chunk.
   * @param end offset at its end
   * @param flags the terminal's flags, read only while a captured command runs
   */
  noteChunk(raw: Uint8Array | null, end: number, flags: () => PtyFlags | null): void {
    this.readOffset = end;
    if (this.openCaptures.length === 0) return;
    if (raw === null) {
      for (const capture of this.openCaptures) markLost(capture, "its start was not seen in time");
      return;
    }
    const begin = end - raw.length;
    const now = flags();
    const addsCr = now?.addsCr ?? true;
    for (const capture of this.openCaptures) {
      const part = raw.subarray(Math.max(0, capture.from - begin), Math.min(raw.length, (capture.to ?? end) - begin));
      if (part.length === 0 || capture.lossReason !== null) continue;
      if (hidesTypedText(now)) markLost(capture, "it asked for a password");
      else if (capture.addsCr !== null && capture.addsCr !== addsCr)
        markLost(capture, "it changed the terminal's output settings");
      else if (capture.bytes + part.length > MAX_COMMAND_BYTES)
        markLost(capture, `it printed more than ${MAX_COMMAND_BYTES} bytes`);
      else {
        capture.addsCr = addsCr;
        // The memory of a chunk is reused.
        capture.parts.push(new Uint8Array(part));
        capture.bytes += part.length;
      }
    }
    this.closeRead();
    let heldBytes = 0;
    for (const capture of [...this.captures.values()].reverse()) {
      heldBytes += capture.bytes;
      if (heldBytes > MAX_ALL_BYTES) markLost(capture, "output of newer commands replaced it");
    }
  }

  private closeRead(): void {
    this.openCaptures = this.openCaptures.filter(({ to }) => to === null || to > this.readOffset);
  }

  /** @throws WshError invalid_request while the command runs, or if its output is incomplete */
  outputOf(id: number): Uint8Array {
    const capture = this.captures.get(id);
    const lost =
      capture === undefined
        ? "raw bytes are kept only for commands that exec or run started"
        : capture.to === null || this.openCaptures.includes(capture)
          ? "it has not ended"
          : capture.lossReason;
    if (capture === undefined || lost !== null)
      throw new WshError("invalid_request", `the raw bytes of command ${id} are not available: ${lost}`);
    // Output of the prompt before the end was known is not the command's.
    const all = Buffer.concat(capture.parts).subarray(0, (capture.to ?? 0) - capture.from);
    const mark = all.lastIndexOf(END_MARK);
    const written = (mark < 0 ? all : all.subarray(0, mark)).subarray(capture.isNamed ? nameMarkLength(all) : 0);
    return capture.addsCr === false ? written : withoutAddedCr(written);
  }
}

/**
 * Length of the mark with which our script names the command, with its secret, and of the text that fish
 * sends after it, before a command.
 */
function nameMarkLength(bytes: Buffer): number {
  const head = bytes.toString("latin1", 0, MAX_NAME_MARK_BYTES);
  const name = /^\x1b\]633;E;[^\x07]*;[A-Za-z0-9+/=_-]{16,64}\x07/.exec(head)?.[0] ?? "";
  const more = /^\x1b\[\?2004l\x1b\]0;[^\x07]*\x07\x1b\[30m\x1b\(B\x1b\[m\r/.exec(head.slice(name.length))?.[0] ?? "";
  return name.length + more.length;
}

function markLost(capture: Capture, why: string): void {
  capture.lossReason ??= why;
  capture.parts = [];
  capture.bytes = 0;
}

/** Removes the CR before each LF. */
function withoutAddedCr(bytes: Uint8Array): Uint8Array {
  return bytes.filter((byte, index) => byte !== CR || bytes[index + 1] !== LF);
}
