/** Names of signals that a system of wsh knows: Linux or macOS. A system refuses those that it does not have. */
import { WshError } from "./errors.ts";

const known: ReadonlySet<string> = new Set(
  (
    "HUP INT QUIT ILL TRAP ABRT IOT EMT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM CHLD STKFLT CONT STOP TSTP BREAK " +
    "TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO POLL LOST PWR INFO SYS UNUSED"
  ).split(" "),
);
/** Largest number of a signal with a name. */
const MAX_NUMBER = 31;

/** @param signal in any case, with or without SIG, or a number @throws WshError invalid_request */
export function requireSignal(signal: string | number): void {
  const number = Number(signal);
  if (Number.isInteger(number) && number >= 1 && number <= MAX_NUMBER) return;
  if (known.has(String(signal).toUpperCase().replace(/^SIG/, ""))) return;
  throw new WshError("invalid_request", `'signal': unknown signal '${signal}'`, {
    hint: "Use INT, TERM, HUP, QUIT, KILL, STOP, CONT, another name of signal(7), or its number.",
  });
}
