/** Records which terminal's Enter started the running command of a pane, and when. Pure bookkeeping. */
import { setNewest } from "../base/newest.ts";

/** Maximum remembered panes; past that, the least recently used one is forgotten. */
const MAX_PANES = 256;
const CR = 0x0d;
const LF = 0x0a;
const ESCAPE = 0x1b;
/** Enter in the kitty protocol, pressed or repeated. */
const KITTY_ENTER = /\x1b\[13(?:;\d*(?::[12])?)?u/;

function hasEnter(bytes: Uint8Array): boolean {
  if (bytes.includes(CR) || bytes.includes(LF)) return true;
  // Latin 1, since the searched text is ASCII.
  return bytes.includes(ESCAPE) && KITTY_ENTER.test(Buffer.from(bytes).toString("latin1"));
}

export interface Submission {
  readonly viewer: number;
  /** On the session's monotonic clock, in ms. */
  readonly submittedAt: number;
  /** Unix time in ms. */
  readonly submittedWallTime: number;
}

export class SubmittedLines {
  private readonly newestByPane = new Map<string, Submission>();

  /** Runs per key. */
  noteInput(pane: string, bytes: Uint8Array, submission: Submission): void {
    if (!hasEnter(bytes)) return;
    setNewest(this.newestByPane, pane, submission, MAX_PANES);
  }

  /** Null: none is recorded. */
  lastSubmission(pane: string): Submission | null {
    return this.newestByPane.get(pane) ?? null;
  }
}
