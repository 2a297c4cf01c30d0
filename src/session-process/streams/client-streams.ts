/** A pane's streams other than terminals: subscriptions, raw bytes, and one command's output. */
import type { ClientStreams } from "../../endpoint/served-session.ts";
import { asSeenBy } from "../../protocol/concealed.ts";
import { WshError } from "../../protocol/errors.ts";
import { agentOfCaller, ownerOf } from "../../protocol/owner.ts";
import type { LocalPane } from "../panes/local-pane.ts";
import { CommandStream } from "./command-stream.ts";
import { StreamClient } from "./stream-client.ts";

/**
 * @param find returns the pane that a target names; throws WshError if another process has it
 * @param isAllowed whether a person has allowed an agent everything in the session
 */
export function clientStreams(
  find: (target: string | undefined) => LocalPane,
  isAllowed: (agent: string) => Promise<boolean>,
): ClientStreams {
  return {
    async request({ op, input, access, target, caller }, peer, known, begin) {
      if (op === "peer.follow") {
        if (known instanceof CommandStream) return known.follow(input);
        if (known !== undefined) throw new WshError("invalid_request", "this connection already carries a stream");
        const stream = new CommandStream(find(target), peer);
        begin(() => stream);
        return stream.follow(input);
      }
      const client = known instanceof StreamClient ? known : startedClient();
      if (op === "peer.subscribe") {
        await client.subscribe(input, access);
        return {};
      }
      if (op === "peer.raw") await client.raw(input, access);
      const info = client.local.session.info();
      const agent = agentOfCaller(caller) === null ? null : ownerOf(caller);
      return agent === null || (await isAllowed(agent.name)) ? info : asSeenBy(info, agent);

      function startedClient(): StreamClient {
        if (known !== undefined) throw new WshError("invalid_request", "this connection already carries a terminal");
        let client: StreamClient | null = null;
        begin(() => {
          client = new StreamClient(find(target), peer);
          return client;
        });
        if (client === null) throw new WshError("internal_error", "the stream has not started");
        return client;
      }
    },
  };
}
