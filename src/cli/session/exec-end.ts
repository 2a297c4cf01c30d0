/** How a command of `wsh exec` ended, asked of its session instead of read from its stream. */
import type { CommandRecord } from "../../protocol/commands.ts";
import { MAX_WAIT_MS } from "../../protocol/conditions.ts";
import { WshError } from "../../protocol/errors.ts";
import { complain } from "../print.ts";
import type { SessionClient } from "./client.ts";

/** Longest wait for what the shell says of a command that ended, in ms: bash says it before its next prompt. */
const REPORT_MS = 500;

/** The command's record, at its end or at the end of the wait. */
export async function untilFinished(session: SessionClient, id: number, signal: AbortSignal): Promise<CommandRecord> {
  const wait = { any_of: ["command_finished" as const], command_id: id, max_wait_ms: MAX_WAIT_MS };
  while (!signal.aborted) {
    const { decided_by } = await session.call("wait", wait, signal);
    if (decided_by !== "timeout") break;
  }
  return session.call("commands.get", { id });
}

/** Of another machine the way may have been lost, and not the session: the command goes on there, and its end is told. */
export async function endedAfterLoss(
  session: SessionClient,
  id: number,
  signal: AbortSignal,
  thrown: unknown,
): Promise<CommandRecord> {
  if (session.machine === null || WshError.from(thrown).code !== "host_unavailable") throw thrown;
  const record = await untilFinished(session, id, signal);
  complain(
    `the way to '${session.machine}' was lost meanwhile: wsh output ${session.name} --command ${id} has all of it`,
  );
  return record;
}

/**
 * The record of a command that ended, once the shell has said what it ran: what a long line shows on the screen is not
 * what was sent.
 */
export async function reported(session: SessionClient, record: CommandRecord): Promise<CommandRecord> {
  if (record.sent === undefined || record.state === "running") return record;
  try {
    await session.call("wait", { any_of: ["prompt"], max_wait_ms: REPORT_MS });
    return await session.call("commands.get", { id: record.id });
  } catch {
    // The session ended with it: then that is what is known.
    return record;
  }
}
