/** Refuses commands that show a session without a person's terminal at one end. */
import tty from "node:tty";
import { WshError } from "../../protocol/errors.ts";

/** @param hint what to use instead @throws WshError invalid_request */
export function requireTerminal(hint: string): void {
  if (tty.isatty(0) || tty.isatty(1)) return;
  throw new WshError("invalid_request", "neither standard input nor standard output is a terminal", { hint });
}
