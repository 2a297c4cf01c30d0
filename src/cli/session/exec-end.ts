/** How a command of `wsh exec` ended, requested from its session instead of read from its stream. */
import { pause } from "../../base/deadline.ts";
import { RETRY_MS } from "../../cluster/ask-again.ts";
import { intervals } from "../../platform/intervals.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import { MAX_WAIT_MS } from "../../protocol/conditions.ts";
import { WshError } from "../../protocol/errors.ts";
import type { SessionClient } from "./client.ts";

/** The command's record, at its end or at the end of the wait. */
export async function untilFinished(session: SessionClient, id: number, signal: AbortSignal): Promise<CommandRecord> {
  const wait = { any_of: ["command_finished" as const], command_id: id, max_wait_ms: MAX_WAIT_MS };
  while (!signal.aborted) {
    const { decided_by } = await session.call("wait", wait, signal);
    if (decided_by !== "timeout") break;
  }
  return session.call("commands.get", { id });
}

/** On another machine the connection may have been lost, not the session: the command and its output continue there. */
export async function endedAfterLoss(
  session: SessionClient,
  thrown: unknown,
  signal: AbortSignal,
  look: () => Promise<CommandRecord>,
): Promise<CommandRecord> {
  if (session.machine === null || !isAway(thrown)) throw thrown;
  for (const until = performance.now() + intervals.peerAgain; ; await pause(RETRY_MS, signal)) {
    try {
      return await look();
    } catch (again) {
      if (!isAway(again) || signal.aborted || performance.now() > until) throw again;
    }
  }
}

function isAway(thrown: unknown): boolean {
  const { code } = WshError.from(thrown);
  return code === "session_unavailable" || code === "machine_unreachable";
}
