/** How an attachment ended: the message for the person, and the exit code. Pure. */
import os from "node:os";
import type { StreamEnd } from "../protocol/control.ts";

/** Signals that end a process unless it handles them; the terminal is restored first. */
export const endSignals = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGALRM", "SIGUSR1", "SIGUSR2"] as const;
type EndSignal = (typeof endSignals)[number];

export type AttachOutcome =
  /** The person detached, or was detached; the session continues. */
  | { readonly kind: "detached" }
  /** The terminal was closed (SIGHUP), or a signal ended this process; the session continues. */
  | { readonly kind: "signalled"; readonly signal: EndSignal }
  | { readonly kind: "exited"; readonly code: number | null; readonly signal: string | null }
  | { readonly kind: "killed" }
  /** The session became private, so an AI agent may no longer see it. */
  | { readonly kind: "private" }
  | { readonly kind: "stopped" }
  | { readonly kind: "crashed" };

export interface AttachResult {
  readonly outcome: AttachOutcome;
  /** The session's name at the end; null when the session process did not report it. */
  readonly name: string | null;
  /** False when the terminal takes no output: writers wait for it. */
  readonly terminalTookAll: boolean;
}

/** From the session process's last frame; null when the connection ended without one. */
export function toOutcome(end: StreamEnd | null): AttachOutcome {
  if (end === null) return { kind: "crashed" };
  switch (end.reason) {
    case "session_crashed":
      return { kind: "crashed" };
    case "detached":
      return { kind: "detached" };
    case "killed":
    case "owner_gone":
    case "idle":
      return { kind: "killed" };
    case "private":
      return { kind: "private" };
    case "server_stopped":
      return { kind: "stopped" };
    case "exited":
      return { kind: "exited", code: end.exit_code ?? null, signal: end.signal ?? null };
    // Refusals of other kinds of streams, and of callers of one session: a person's own terminal never gets them.
    case "access_denied":
    case "input_refused":
    case "moved_away":
      return { kind: "detached" };
  }
}

/** The line on stderr. */
export function describeOutcome(outcome: AttachOutcome, name: string): string {
  switch (outcome.kind) {
    case "detached":
    case "signalled":
      return `[detached from session '${name}']`;
    case "exited":
      return `[session '${name}' exited: ${outcome.signal ?? outcome.code ?? "unknown"}]`;
    case "killed":
      return `[session '${name}' was killed]`;
    case "private":
      return `[session '${name}' is private now]`;
    case "stopped":
      return `[session '${name}' was ended by wsh stop]`;
    case "crashed":
      return `[session '${name}' crashed: its process ended unexpectedly]`;
  }
}

/** Exit code of a command whose own code is unknown, as in `wsh exec`. */
const UNKNOWN_CODE = 125;

/** The program's own code if it exited, 128 + n for signal n; 0 after detaching; 1 when the session was ended. */
export function outcomeExitCode(outcome: AttachOutcome): number {
  switch (outcome.kind) {
    case "detached":
      return 0;
    case "signalled":
      return signalCode(outcome.signal);
    case "exited":
      return exitCode(outcome.code, outcome.signal);
    case "killed":
    case "private":
    case "stopped":
    case "crashed":
      return 1;
  }
}

/** Exit code for how a program ended, as shells compute it. */
export function exitCode(code: number | null, signal: string | null): number {
  return signal === null ? (code ?? UNKNOWN_CODE) : signalCode(signal);
}

function signalCode(name: string): number {
  const number = Object.entries(os.constants.signals).find(([known]) => known === name)?.[1];
  return number === undefined ? UNKNOWN_CODE : 128 + number;
}
