/** Finds the process that handles a request about a pane, and the pane's description for streams. */
import * as v from "valibot";
import { WshError } from "../../protocol/errors.ts";
import type { RequestContext } from "../../wire/connection.ts";
import type { SessionProxy } from "./session-proxy.ts";
import type { StreamedPane } from "./streamed-session.ts";

export const ResolvedSchema = v.object({ pane: v.string(), socket: v.string() });

/** Maximum processes per request: a session's, then that of a view. */
const MOST_HOPS = 8;

/**
 * Asks a session process; if the target is a view there, asks the process of the viewed pane.
 * @param at returns the process at a socket
 * @throws the process's error
 */
export async function askThrough(
  first: SessionProxy,
  at: (socket: string) => Promise<SessionProxy>,
  { op, input, context }: { readonly op: string; readonly input: unknown; readonly context: RequestContext },
): Promise<unknown> {
  let proxy = first;
  let asked = context;
  for (let hop = 1; ; hop++) {
    try {
      return await proxy.request(op, input, asked);
    } catch (thrown) {
      const { code, details } = WshError.from(thrown);
      const moved = code === "moved" ? v.safeParse(ResolvedSchema, details) : null;
      if (moved?.success !== true || hop === MOST_HOPS) throw thrown;
      proxy = await at(moved.output.socket);
      asked = { ...context, target: moved.output.pane };
    }
  }
}

/** @param isPart whether its session has other panes */
export function paneIn(owner: SessionProxy, address: string, pane: string, isPart: boolean): StreamedPane {
  return {
    address,
    target: pane,
    isPart,
    // The name at the time of the call.
    get info() {
      return { ...owner.info, pane_id: pane };
    },
  };
}
