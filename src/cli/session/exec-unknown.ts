/**
 * `wsh exec` on another machine after a lost connection: either nothing was done, which the error says, or it may have
 * been, or it was and its end is unknown. Then the way to resume is printed, with the exit code of an unknown end.
 */
import { WshError } from "../../protocol/errors.ts";
import { complain, printJson } from "../print.ts";
import type { ExecOptions } from "./exec-options.ts";

/** The stage whose answer was lost: the request that starts the command, or a later one. */
export interface Begun {
  /** As the person named the session. */
  readonly name: string;
  /** Null: whether it was started is not known. */
  readonly id: number | null;
  readonly command: string;
}

/** Reports the unknown outcome, and how to resume a command that may be running. Rethrows any other error. */
export async function sayUnknown(
  { name, id, command }: Begun,
  { json, resume }: ExecOptions,
  thrown: unknown,
): Promise<void> {
  const { code, message, details } = WshError.from(thrown);
  const isUnknown = code === "outcome_unknown" || (id !== null && code === "machine_unreachable");
  if (!isUnknown) throw thrown;
  const request = typeof details.request === "string" ? details.request : undefined;
  const what =
    id === null ? "the command may or may not be running" : `command ${id} was started; its result is unknown`;
  complain(`${what}: ${message}`);
  // A forgotten request cannot be resumed.
  const again = id === null ? request && `${request} -- '${command.replaceAll("'", "'\\''")}'` : `${id}`;
  if (again !== undefined) complain(`to resume it: wsh exec ${name} --resume ${again}`);
  const result = { state: "unknown", command_id: id, request: request ?? resume ?? null, reason: message };
  if (json === true) await printJson(result);
}
