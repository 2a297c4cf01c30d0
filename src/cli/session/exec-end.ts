/** How a command of `wsh exec` ended, asked of its session instead of read from its stream. */
import { pause } from "../../base/deadline.ts";
import { RETRY_MS } from "../../cluster/ask-again.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import { MAX_WAIT_MS } from "../../protocol/conditions.ts";
import { WshError } from "../../protocol/errors.ts";
import { complain } from "../print.ts";
import type { SessionClient } from "./client.ts";

/** Longest time that a machine is away before its command's end counts as unknown, in ms: as for requests to it. */
const AWAY_MS = 15_000;

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
  const record = await whileAway(session, id, signal);
  complain(
    `the way to '${session.machine}' was lost meanwhile: wsh output ${session.name} --command ${id} has all of it`,
  );
  return record;
}

/** The record's end, asked for until the machine is there again, or has been away for too long. */
async function whileAway(session: SessionClient, id: number, signal: AbortSignal): Promise<CommandRecord> {
  const until = performance.now() + AWAY_MS;
  for (;;) {
    try {
      return await untilFinished(session, id, signal);
    } catch (thrown) {
      const isAway = WshError.from(thrown).code === "machine_unreachable";
      if (!isAway || signal.aborted || performance.now() > until) throw thrown;
    }
    await pause(RETRY_MS, signal);
  }
}
