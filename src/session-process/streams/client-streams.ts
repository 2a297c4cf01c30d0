/** A pane's streams other than terminals: subscriptions, raw bytes, and one command's output. */
import type { ClientStreams } from "../../endpoint/served-session.ts";
import { asSeenBy } from "../../protocol/concealed.ts";
import { WshError } from "../../protocol/errors.ts";
import { agentOfCaller, ownerOf } from "../../protocol/owner.ts";
import type { LocalPane } from "../panes/local-pane.ts";
import { CommandStream } from "./command-stream.ts";
import { StreamClient } from "./stream-client.ts";

/**
 * @param findPane returns the pane that a target names; throws WshError if another process has it
 * @param isAllowed whether a person has allowed an agent everything in the session
 */
export function clientStreams(
  findPane: (target: string | undefined) => LocalPane,
  isAllowed: (agent: string) => Promise<boolean>,
): ClientStreams {
  return {
    async request({ op, input, access, target, caller }, peer, existingStream, begin) {
      if (op === "peer.follow") {
        if (existingStream instanceof CommandStream) return existingStream.follow(input);
        if (existingStream !== undefined)
          throw new WshError("invalid_request", "this connection already carries a stream");
        const stream = new CommandStream(findPane(target), peer);
        begin(() => stream);
        return stream.follow(input);
      }
      const client = existingStream instanceof StreamClient ? existingStream : startClient();
      if (op === "peer.subscribe") {
        await client.subscribe(input, access);
        return {};
      }
      const agent = agentOfCaller(caller) === null ? null : ownerOf(caller);
      if (op === "peer.raw") await client.openRaw(input, access, agent);
      const info = client.local.session.info();
      return agent === null || (await isAllowed(agent.name)) ? info : asSeenBy(info, agent);

      function startClient(): StreamClient {
        if (existingStream !== undefined)
          throw new WshError("invalid_request", "this connection already carries a terminal");
        let client: StreamClient | null = null;
        begin(() => {
          client = new StreamClient(findPane(target), peer);
          return client;
        });
        if (client === null) throw new WshError("internal_error", "the stream has not started");
        return client;
      }
    },
  };
}
