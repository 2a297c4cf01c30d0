/**
 * Resources: the sessions, and each session's screen and newest history. Reading one is the operation of the same name;
 * the SDK turns a missing one into a protocol error.
 */
import {
  type McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Call } from "../../operations/call.ts";
import type { Caller } from "../../protocol/caller.ts";
import { isConcealedFrom } from "../../protocol/concealed.ts";
import { WshError } from "../../protocol/errors.ts";
import { listedSession } from "../tools/shown-session.ts";
import type { Ask } from "../tools/tool.ts";
import { type Changes, decoded, isMissing, SESSIONS_URI, sessionOf } from "./changes.ts";

const MIME_TYPE = "application/json";
/** Lines of the scrollback resource: the newest. */
const SCROLLBACK_LINES = 100;

const kinds = [
  {
    part: "screen",
    title: "Session Screen",
    described: "Screen",
    description: "What a session's terminal shows now",
    read: (ask: Ask, session: string): Promise<unknown> => ask("screen.get", { format: "styled" }, session),
  },
  {
    part: "scrollback",
    title: "Session Scrollback",
    described: "Scrollback",
    description: "The newest lines of a session's history and screen",
    read: (ask: Ask, session: string): Promise<unknown> =>
      ask("scrollback.get", { offset: -SCROLLBACK_LINES, limit: SCROLLBACK_LINES }, session),
  },
] as const;

/** Calls operations for the caller of a request, with its rights. */
type WithAsk = <T>(context: ServerContext | undefined, use: (ask: Ask) => Promise<T>) => Promise<T>;

export function registerResources(server: McpServer, withAsk: WithAsk): void {
  const names = (context?: ServerContext): Promise<string[]> =>
    withAsk(context, async (ask) => (await ask("sessions.list", {})).map(({ name }) => name));
  server.registerResource(
    "Active Sessions",
    SESSIONS_URI,
    { title: "Active Sessions", description: "The sessions that exist", mimeType: MIME_TYPE },
    async (uri, context) =>
      read(uri.href, () => withAsk(context, async (ask) => (await ask("sessions.list", {})).map(listedSession))),
  );
  for (const kind of kinds) {
    const template = new ResourceTemplate(`${SESSIONS_URI}/{name}/${kind.part}`, {
      list: async (context) => ({
        resources: (await names(context)).map((name) => ({
          uri: `${SESSIONS_URI}/${encodeURIComponent(name)}/${kind.part}`,
          name: `${kind.described}: ${name}`,
          title: `${kind.described}: ${name}`,
          mimeType: MIME_TYPE,
        })),
      }),
      complete: { name: async (begin) => (await names()).filter((name) => name.startsWith(begin)) },
    });
    server.registerResource(
      kind.title,
      template,
      { title: kind.title, description: kind.description, mimeType: MIME_TYPE },
      async (uri, { name }, context) => {
        const session = decoded(String(name));
        if (session === undefined) throw new ResourceNotFoundError(uri.href);
        return read(uri.href, () => withAsk(context, (ask) => kind.read(ask, session)));
      },
    );
  }
}

async function read(uri: string, value: () => Promise<unknown>) {
  try {
    return { contents: [{ uri, mimeType: MIME_TYPE, text: JSON.stringify(await value()) }] };
  } catch (thrown) {
    if (isMissing(WshError.from(thrown).code)) throw new ResourceNotFoundError(uri);
    throw thrown;
  }
}

/**
 * Updates for one connection of the eras with sessions: `resources/subscribe` and `unsubscribe` are served here, and
 * list changes are sent unasked. (Later clients listen, which the SDK routes; see http.ts and socket.ts.)
 * The result ends every subscription. @param callerNow the client, by the name that it has stated so far
 */
export function registerSubscriptions(
  server: McpServer,
  changes: Changes,
  call: Call,
  callerNow: () => Caller,
): Disposable {
  const subscribed = new Map<string, Disposable>();
  const { server: protocol } = server;
  let isOver = false;
  protocol.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
    const caller = callerNow();
    if (!(await mayWatch(uri, call, caller))) throw new ResourceNotFoundError(uri);
    if (isOver) return {};
    const tell = () => void protocol.sendResourceUpdated({ uri }).catch(() => {});
    // An earlier subscription may have ended with its session.
    const earlier = subscribed.get(uri);
    subscribed.set(uri, changes.onResource(uri, tell, caller));
    earlier?.[Symbol.dispose]();
    return {};
  });
  protocol.setRequestHandler("resources/unsubscribe", ({ params }) => {
    subscribed.get(params.uri)?.[Symbol.dispose]();
    subscribed.delete(params.uri);
    return {};
  });
  const sessions = changes.onSessions(() => void protocol.sendResourceListChanged().catch(() => {}), callerNow().only);
  return {
    [Symbol.dispose]() {
      isOver = true;
      sessions[Symbol.dispose]();
      for (const subscription of subscribed.values()) subscription[Symbol.dispose]();
      subscribed.clear();
    },
  };
}

/**
 * Whether a caller limited to one session may see this resource; if not, it behaves as if it did not exist.
 * @throws WshError access_denied for an agent, if the session is private
 */
export async function mayWatch(uri: string, call: Call, caller: Caller): Promise<boolean> {
  const session = sessionOf(uri);
  if (session === undefined) return true;
  const { signal } = new AbortController();
  try {
    const info = await call("session.get", {}, { signal, session, access: "observe", caller });
    if (!isConcealedFrom(info)) return true;
  } catch (thrown) {
    if (isMissing(WshError.from(thrown).code)) return caller.only === undefined;
    throw thrown;
  }
  throw new WshError("access_denied", `session '${session}' is private: agents may not follow it`, {
    hint: "Ask the person about its contents.",
  });
}
