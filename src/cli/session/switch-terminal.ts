/**
 * `wsh attach` typed inside a session: switches the person's terminal to the other session, instead of showing one
 * session inside another. The pane's process knows that terminal, and whether a person's key started this process.
 */
import tty from "node:tty";
import * as v from "valibot";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseTarget } from "../../protocol/names.ts";
import { type GoInput, WentSchema } from "../../protocol/switch-session.ts";
import { listProcesses, lookUp } from "../../registry/registry.ts";
import { Connection } from "../../wire/connection.ts";
import { cliCaller } from "./client.ts";
import { paneAround } from "./surrounding-session.ts";

/** Longest wait for the pane's process, in ms. */
const ANSWER_MS = 2_000;
/** Errors of a pane's process that is gone, hangs, or is of a version without switching. */
const unableCodes: ReadonlySet<string> = new Set([
  "unknown_method",
  "session_not_found",
  "session_unavailable",
  "version_mismatch",
]);

/**
 * @param attachFlags flags that apply only to a newly attached terminal
 * @returns false when this process does not run at a session's own terminal: the caller then attaches as usual
 * @throws WshError nested_session, invalid_request
 */
export async function switchTerminal(
  instance: Instance,
  { name, session, socket }: { readonly name: string; readonly session: number | null; readonly socket: string },
  attachFlags: readonly string[],
): Promise<boolean> {
  const around = paneAround(process.env);
  // Sessions of another instance are shown inside this one.
  if (around === null || session === null || around.instance.sessionsDir !== instance.sessionsDir || !tty.isatty(0))
    return false;
  const target = parseTarget(around.pane);
  if (target.kind !== "pane") return false;
  const ownEntry = lookUp(listProcesses(instance), target);
  if (ownEntry === undefined) return false;
  if (ownEntry.session === session) {
    throw new WshError("nested_session", `this terminal is already in session '${name}'`, {
      hint: "The prefix key and w list its windows and panes.",
    });
  }
  const asksOnly = attachFlags.length > 0;
  const input: GoInput = { pid: process.pid, socket, number: session, session: name, asks_only: asksOnly };
  const isInside = await askProcess(ownEntry.socket, input);
  if (isInside && asksOnly) {
    throw new WshError(
      "invalid_request",
      `${attachFlags.join(", ")} cannot be used when switching a terminal inside a session`,
      {
        hint: "Omit it, or show the session inside this one with --nested.",
      },
    );
  }
  return isInside;
}

async function askProcess(socket: string, input: GoInput): Promise<boolean> {
  try {
    const { connection } = await Connection.open(socket, "cli", {}, ANSWER_MS);
    try {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const answer = await connection.request("peer.go", input, { caller: cliCaller, access: "admin", signal });
      return v.parse(WentSchema, answer).isInside;
    } finally {
      connection.close();
    }
  } catch (thrown) {
    const error = WshError.from(thrown);
    if (unableCodes.has(error.code)) return false;
    throw error;
  }
}
