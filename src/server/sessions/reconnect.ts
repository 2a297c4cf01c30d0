/** Finds the process that serves a session after its predecessor has ended. */
import { AGAIN_MS, AGAIN_POLL_MS } from "../../protocol/control.ts";
import type { StreamedSession, StreamedSessions } from "./streamed-session.ts";

/**
 * Connects to the process that serves a session, or that will soon, because the session is being restored.
 * @param session id of the session
 * @param connect connects a stream; tried again when it fails
 * @returns false: no process serves the session in time, or the stream has ended
 */
export async function reconnect(
  sources: StreamedSessions,
  session: string,
  connect: (source: StreamedSession) => Promise<void>,
  isOver: () => boolean,
): Promise<boolean> {
  const until = performance.now() + AGAIN_MS;
  while (!isOver() && performance.now() < until) {
    try {
      await connect(await sources.find(session));
      return true;
    } catch {
      await Bun.sleep(AGAIN_POLL_MS);
    }
  }
  return false;
}
