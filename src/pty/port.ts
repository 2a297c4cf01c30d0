/**
 * The port through which the rest of wsh sees a pseudo terminal. Bytes in, bytes out: nothing is decoded.
 *
 * Flow control is part of the port: the adapter delivers at most QUANTUM_BYTES that were not acknowledged; past that it
 * does not read, the kernel's buffer fills and the child blocks in write(2), as on a slow terminal. Nothing is lost.
 */
import type { LineFlags } from "../platform/termios.ts";

/** Unacknowledged output that an adapter may have delivered. Large enough to keep a parser busy for ~10 ms. */
export const QUANTUM_BYTES = 256 * 1024;

/**
 * Wait for a program's answer to a key, in µs: an editor answers in 60 to 200 (measured), and half a millisecond delays
 * no request noticeably.
 */
export const ANSWER_US = 500;

export interface PtySpawn {
  /** Absolute path of the program. */
  readonly file: string;
  /** Arguments after argv[0]. */
  readonly args: readonly string[];
  /** argv[0] when it is not `file` (a login shell's is "-bash"). */
  readonly argv0?: string;
  /** Absolute path of an existing directory. */
  readonly cwd: string;
  /** The child's whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The child's soft limit of open files; this process's own when absent or null. */
  readonly openFiles?: number | null;
  readonly rows: number;
  readonly cols: number;
  /** Input that may wait for the program, in bytes. */
  readonly inputLimitBytes?: number;
}

/** How the child ended: a code, or the name of the signal that ended it ("SIGKILL"). Null: unknown. */
export interface PtyExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Output may come before `open` has resolved. */
export interface PtyEvents {
  /** Output, in order; the array is the receiver's own. Call `ack(bytes.length)` when it has been parsed. */
  data(bytes: Uint8Array): void;
  /** Once, after the last byte of output was delivered. */
  exit(exit: PtyExit): void;
}

/** Line discipline flags that show what a quiet program waits for; null when the adapter or system hides them. */
export type PtyFlags = LineFlags;

/** Whether typed text must stay hidden, usually a password: the program reads lines and echoes none. */
export function hidesTypedText(flags: PtyFlags | null): boolean {
  return flags?.canonical === true && !flags.echo;
}

/** Output read ahead of its delivery. */
export interface PtyAnswer {
  readonly bytes: Uint8Array;
  /** Delivers it like all output; call in the same turn. */
  deliver(): void;
}

/** The terminal's group; the same unless it is the child's own (a shell at its prompt); the child's; the child. */
export type SignalTarget = "foreground" | "job" | "group" | "child";

export interface Pty {
  readonly pid: number;
  /** Path of the terminal device (`/dev/pts/3`), null when it cannot be found. */
  readonly tty: string | null;
  /**
   * Queues input in order. Resolves when the kernel has taken it.
   * @throws WshError `input_send_failed`: the child reads nothing for 5 s, the queue is over its limit, or
   *   the PTY is gone
   */
  write(bytes: Uint8Array): Promise<void>;
  /** A person has typed into it: it is read before others for a while. Runs per key. */
  noteTyping(): void;
  /**
   * The program's answer to the last write: output that arrives within `ANSWER_US`, without a turn of the event loop.
   * Null without one, when other output must be delivered first, and when the adapter cannot tell.
   */
  readAnswer(): PtyAnswer | null;
  /** Whether the program has undelivered output. */
  hasOutput(): boolean;
  /** The receiver has parsed n bytes; lets the adapter read more. */
  ack(n: number): void;
  resize(rows: number, cols: number): void;
  flags(): PtyFlags | null;
  /** Makes the terminal echo what is typed. @returns whether it does now */
  switchEchoOn(): boolean;
  /**
   * Signals the foreground process group of the terminal, the child's own group, or the child alone.
   * @returns whether there was anything to signal
   */
  signal(name: NodeJS.Signals, to: SignalTarget): boolean;
  /** Process group that holds the terminal; null when unknown. */
  foreground(): number | null;
  /** Hangs up and frees everything; does not wait for the child, and no further event follows. Idempotent. */
  dispose(): void;
}

/** @throws WshError `session_create_failed` when the program cannot be started. */
export type PtyOpen = (spawn: PtySpawn, events: PtyEvents) => Promise<Pty>;
