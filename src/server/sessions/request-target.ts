/** Finds the process that handles a request about a pane, and the pane's description for streams. */
import type { RequestContext } from "../../wire/connection.ts";
import { followPane } from "../../wire/pane-process.ts";
import type { SessionProxy } from "./session-proxy.ts";
import type { StreamedPane } from "./streamed-session.ts";

/**
 * Asks a session process; if the target is a view there, asks the process of the viewed pane.
 * @param processAt returns the process at a socket
 * @throws the process's error
 */
export async function askThrough(
  first: SessionProxy,
  processAt: (socket: string) => Promise<SessionProxy>,
  { op, input, context }: { readonly op: string; readonly input: unknown; readonly context: RequestContext },
): Promise<unknown> {
  return followPane(async (owner) =>
    owner === null
      ? first.request(op, input, context)
      : (await processAt(owner.socket)).request(op, input, { ...context, target: owner.pane }),
  );
}

/** @param isPart whether calls name it: its session has other panes, or another process runs it */
export function paneIn(owner: SessionProxy, pane: string, isPart: boolean): StreamedPane {
  return {
    address: owner.address,
    target: pane,
    isPart,
    // The name at the time of the call.
    get info() {
      return { ...owner.info, pane_id: pane };
    },
  };
}
