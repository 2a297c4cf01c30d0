/**
 * Opens a connection to a session's process on another machine. If it is lost or falls silent before that process
 * has answered, it is opened again: nothing was requested over it. A request to the machine shows whether the
 * connection or the process is silent.
 */
import { pause } from "../base/deadline.ts";
import { intervals } from "../platform/intervals.ts";
import { WshError } from "../protocol/errors.ts";
import { Connection, type ConnectionEvents, type Dial } from "../wire/connection.ts";
import type { Link } from "./link.ts";
import { RETRY_MS } from "./repeated-request.ts";

/** @throws WshError like Connection.open; machine_unreachable: nothing was sent */
export async function openRemote(
  link: Pick<Link, "hello">,
  { called, open }: Dial,
  events: ConnectionEvents = {},
): Promise<Awaited<ReturnType<typeof Connection.open>>> {
  let isReached = false;
  const dial: Dial = {
    called,
    async open(wire) {
      const carrier = await open(wire);
      isReached = true;
      return carrier;
    },
  };
  let isSilent = false;
  for (const deadline = performance.now() + intervals.peerAgain; ; await pause(RETRY_MS)) {
    try {
      return await Connection.open(dial, "cli", events);
    } catch (thrown) {
      const { code } = WshError.from(thrown);
      // A machine that was never reached is not waited for.
      if (!isReached || (code !== "machine_unreachable" && code !== "session_unavailable")) throw thrown;
      const lost = code === "machine_unreachable" ? thrown : await link.hello().then(() => null, WshError.from);
      // For the second time the machine answers while the process does not.
      if (lost === null && isSilent) throw thrown;
      isSilent ||= lost === null;
      if (performance.now() > deadline) throw lost ?? thrown;
    }
  }
}
