/**
 * How long a program's state lasts unless an event ends it. Pure. A copy of the state is valid only until something may
 * change it without an event: a state that depends on processes lasts until one of them runs.
 */
import type { SessionState } from "../../protocol/session.ts";
import type { ProgramKnowledge } from "./classify.ts";

/**
 * `reported`: until output, input or the program's end, which the pane itself causes or sees. A pid: until that process
 * runs again; it is the only one in the foreground, and blocked until its terminal has input. Null: it may change at
 * any moment, or its source is unknown.
 */
export type StateLasting = "reported" | number | null;

export function lastingOf({ exited, facts, phase, carried }: ProgramKnowledge, state: SessionState): StateLasting {
  if (exited) return "reported";
  // The state depends on other processes than those in our foreground.
  if (carried) return null;
  // A shell at its prompt is known by its marks when the kernel does not reveal what it waits for.
  const members = facts?.members ?? [];
  const isHidden = facts === null || (members.length > 0 && members.every(({ activity }) => activity === "hidden"));
  if (isHidden) return phase === "prompt" && state === "prompt" ? "reported" : null;
  const [only, ...others] = members;
  const isWaiting = only?.activity === "reading_tty" && others.length === 0 && facts.unread === 0;
  return isWaiting ? only.pid : null;
}
