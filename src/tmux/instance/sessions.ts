/**
 * The sessions of an instance for one caller: their list, and calls to their processes. Each process gets one
 * connection, which stays open until disposal.
 */
import * as v from "valibot";
import type { Instance } from "../../instance/paths.ts";
import { type WaitsForPerson, waitingText } from "../../protocol/control.ts";
import { present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseTarget } from "../../protocol/names.ts";
import { type SessionInfo, SessionInfoSchema } from "../../protocol/session.ts";
import { findSession, listSessions } from "../../registry/registry.ts";
import { watchRegistry } from "../../registry/registry-watch.ts";
import { askServer } from "../../registry/server-client.ts";
import { Connection, type ConnectionEvents } from "../../wire/connection.ts";
import { followPane } from "../../wire/pane-process.ts";
import type { SessionList } from "../backend.ts";

/** Longest wait for a session process's hello, in ms: a healthy process takes one. */
const HELLO_MS = 900;
/** Longest wait for the server's list, in ms. */
const LIST_MS = 1_500;
/** Number of sessions above which a running server is asked; it knows them without waking their processes. */
const FEW = 8;

export class Sessions implements Disposable {
  private readonly connections = new Map<string, ReturnType<typeof Connection.open>>();
  /** The caller of tmux's command. */
  readonly context;

  constructor(
    private readonly instance: Instance,
    /** Process id of the caller. */
    pid: number,
    /** The AI agent for which the caller acts. */
    agent: string | null,
    /** Tells the caller that a call waits for a person. */
    report: (message: string) => void,
  ) {
    const caller = { kind: "cli", id: `cli:${pid}`, name: "tmux", connected: true } as const;
    const waits = (waiting: WaitsForPerson): void => {
      if (waiting.until > 0) report(waitingText(waiting));
    };
    const own = { caller: { ...caller, ...present({ agent }) }, access: "admin" } as const;
    this.context = { ...own, ...(agent === null ? {} : { waits }) };
  }

  async list(): Promise<SessionList> {
    const entries = listSessions(this.instance);
    const listed = entries.length > FEW ? await this.listByServer() : null;
    const all = listed ?? (await Promise.all(entries.map(({ socket }) => this.info(socket))));
    const running = all.filter((info) => info === null || (info?.running === true && info.state !== "crashed"));
    const infos = running.flatMap((info) => (info != null && info.windows.length > 0 ? [info] : []));
    return { infos, isComplete: all.length >= entries.length && infos.length === running.length };
  }

  /** The session of a pane, if the caller may know it. */
  async sessionAround(pane: string | null): Promise<SessionInfo | undefined> {
    const { infos } = await this.list();
    return infos.find(({ windows }) => windows.some(({ panes }) => panes.some(({ id }) => id === pane)));
  }

  /** @throws WshError of the operation, session_not_found, session_unavailable */
  async call(operation: string, input: unknown, target: string): Promise<unknown> {
    return this.atOwner(target, async (socket, about) => {
      const { connection } = await this.connect(socket);
      return connection.request(operation, input, { ...this.context, target: about });
    });
  }

  /** Opens a stream on a connection of its own. @throws WshError as call */
  async stream(operation: string, input: unknown, target: string, events: ConnectionEvents): Promise<Connection> {
    return this.atOwner(target, async (socket, about) => {
      const { connection } = await Connection.open(socket, "cli", events, HELLO_MS);
      try {
        await connection.request(operation, input, { ...this.context, target: about });
        return connection;
      } catch (thrown) {
        connection.listen({});
        connection.close();
        throw thrown;
      }
    });
  }

  /** Calls back when sessions may have started or ended. */
  onRegistry(changed: () => void): Disposable {
    return watchRegistry(this.instance, changed);
  }

  [Symbol.dispose](): void {
    for (const opened of this.connections.values())
      opened.then(
        ({ connection }) => connection.close(),
        () => {},
      );
    this.connections.clear();
  }

  /** Calls the process of a target; for a view, the process that has the pane. */
  private async atOwner<T>(target: string, ask: (socket: string, target: string) => Promise<T>): Promise<T> {
    const { socket } = findSession(this.instance, parseTarget(target));
    return followPane((owner) => (owner === null ? ask(socket, target) : ask(owner.socket, owner.pane)));
  }

  private connect(socket: string): ReturnType<typeof Connection.open> {
    const connection = this.connections.get(socket);
    if (connection !== undefined) return connection;
    const forget = (): void => void this.connections.delete(socket);
    const opened = Connection.open(socket, "cli", { close: forget }, HELLO_MS);
    opened.catch(forget);
    this.connections.set(socket, opened);
    return opened;
  }

  /** Null: the process does not answer; undefined: it has ended. */
  private async info(socket: string): Promise<SessionInfo | null | undefined> {
    const isNew = !this.connections.has(socket);
    try {
      const { connection, hello } = await this.connect(socket);
      // A session's process first greets this process, then answers for the caller.
      if (isNew && this.context.caller.agent === undefined) return hello.info ?? null;
      return v.parse(SessionInfoSchema, await connection.request("session.get", {}, this.context));
    } catch (thrown) {
      return WshError.from(thrown).code === "session_not_found" ? undefined : null;
    }
  }

  private async listByServer(): Promise<readonly SessionInfo[] | null> {
    const asked = { patienceMs: LIST_MS, by: this.context };
    const answer = await askServer(this.instance, "GET", "/sessions?all=true&server=local", asked).catch(() => null);
    const infos = v.safeParse(v.array(SessionInfoSchema), answer);
    return infos.success ? infos.output : null;
  }
}
