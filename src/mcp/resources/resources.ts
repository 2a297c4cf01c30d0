/**
 * Resources: the sessions, and each session's screen and newest history. Reading one is the operation of the same name;
 * the SDK turns a missing one into a protocol error.
 */
import { type McpServer, ResourceNotFoundError, ResourceTemplate } from "@modelcontextprotocol/server";
import type { Call } from "../../operations/call.ts";
import { WshError } from "../../protocol/errors.ts";
import { listedSession } from "../tools/shown-session.ts";
import type { Ask } from "../tools/tool.ts";
import { type Changes, decoded, isNotThere, SESSIONS_URI, sessionOf } from "./changes.ts";

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

export function registerResources(server: McpServer, ask: Ask): void {
  const names = async (): Promise<string[]> => (await ask("sessions.list", {})).map((session) => session.name);
  server.registerResource(
    "Active Sessions",
    SESSIONS_URI,
    { title: "Active Sessions", description: "The sessions that exist", mimeType: MIME_TYPE },
    async (uri) => read(uri.href, async () => (await ask("sessions.list", {})).map(listedSession)),
  );
  for (const kind of kinds) {
    const template = new ResourceTemplate(`${SESSIONS_URI}/{name}/${kind.part}`, {
      list: async () => ({
        resources: (await names()).map((name) => ({
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
      async (uri, { name }) => {
        const session = decoded(String(name));
        if (session === undefined) throw new ResourceNotFoundError(uri.href);
        return read(uri.href, () => kind.read(ask, session));
      },
    );
  }
}

async function read(uri: string, value: () => Promise<unknown>) {
  try {
    return { contents: [{ uri, mimeType: MIME_TYPE, text: JSON.stringify(await value()) }] };
  } catch (thrown) {
    if (isNotThere(WshError.from(thrown).code)) throw new ResourceNotFoundError(uri);
    throw thrown;
  }
}

/**
 * Updates for one connection of the eras with sessions: `resources/subscribe` and `unsubscribe` are served here, and
 * list changes are sent unasked. (Later clients listen, which the SDK routes; see http.ts and socket.ts.)
 * The result ends every subscription.
 */
export function registerSubscriptions(server: McpServer, changes: Changes, call: Call, only?: string): Disposable {
  const subscribed = new Map<string, Disposable>();
  const { server: protocol } = server;
  let isOver = false;
  protocol.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
    if (!(await mayWatch(uri, call, only))) throw new ResourceNotFoundError(uri);
    if (!subscribed.has(uri) && !isOver) {
      const tell = () => void protocol.sendResourceUpdated({ uri }).catch(() => {});
      subscribed.set(uri, changes.onResource(uri, tell, only));
    }
    return {};
  });
  protocol.setRequestHandler("resources/unsubscribe", ({ params }) => {
    subscribed.get(params.uri)?.[Symbol.dispose]();
    subscribed.delete(params.uri);
    return {};
  });
  const sessions = changes.onSessions(() => void protocol.sendResourceListChanged().catch(() => {}), only);
  return {
    [Symbol.dispose]() {
      isOver = true;
      sessions[Symbol.dispose]();
      for (const subscription of subscribed.values()) subscription[Symbol.dispose]();
      subscribed.clear();
    },
  };
}

/** Whether a caller limited to one session may see this resource; if not, it behaves as if it did not exist. */
export async function mayWatch(uri: string, call: Call, only: string | undefined): Promise<boolean> {
  const session = sessionOf(uri);
  if (only === undefined || session === undefined) return true;
  const { signal } = new AbortController();
  const caller = { kind: "mcp", id: "mcp:subscriptions", connected: true, only } as const;
  try {
    await call("session.get", {}, { signal, session, access: "observe", caller });
    return true;
  } catch (thrown) {
    if (isNotThere(WshError.from(thrown).code)) return false;
    throw thrown;
  }
}
