/**
 * Operations of one session, requested from its process directly: no server is needed. Input and output are typed by the
 * operation table; the session process validates them.
 */
import * as v from "valibot";
import type { Instance } from "../../instance/paths.ts";
import type { SessionEntry } from "../../instance/registry/directories.ts";
import { processState } from "../../instance/registry/liveness.ts";
import { cleanStale, findSession } from "../../instance/registry/registry.ts";
import { isForPane } from "../../operations/routing.ts";
import type { OperationInput, OperationNameOf, OperationOutput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, parseTarget } from "../../protocol/names.ts";
import { requirePane, type SessionInfo } from "../../protocol/session.ts";
import { Connection, type ConnectionEvents } from "../../wire/connection.ts";

/** How the command line introduces itself to a session process. */
export const cliCaller = { kind: "cli", id: `cli:${process.pid}`, name: "wsh", connected: true } as const;

export class SessionClient implements Disposable {
  private constructor(
    readonly name: string,
    /** To the process of the pane that the target means. */
    readonly connection: Connection,
    /** To the process that serves the session: the same one, unless the session has several panes. */
    private whole: Connection,
    /** The session as its pane's process had it when the connection opened. */
    readonly info: SessionInfo | null,
    private readonly target: string,
    /** Socket of that process, while another one serves the session and has not been asked yet. */
    private servedAt: string | null = null,
  ) {}

  /** @throws WshError session_not_found, host_unavailable, host_version */
  static async open(instance: Instance, target: string, events: ConnectionEvents = {}): Promise<SessionClient> {
    const parsed = parseTarget(target);
    const entry = await findOrShow(instance, target);
    const name = entry.name ?? paneId(entry.id);
    let client: SessionClient;
    try {
      const { connection, hello } = await Connection.open(entry.socket, "cli", events);
      const info = hello.info ?? null;
      if (hello.role === "layout")
        return await SessionClient.ofPane(info?.name ?? name, connection, info, target, events);
      // What ends a pane is asked of another process than the pane's; a lost one has no other.
      const isServed = hello.member === true && info !== null && info.state !== "lost";
      const servedAt = isServed ? findSession(instance, parseTarget(info.id)).socket : null;
      client = new SessionClient(info?.name ?? name, connection, connection, info, target, servedAt);
    } catch (thrown) {
      const error = connectFailure(thrown, entry.socket);
      if (error.code !== "session_not_found") throw error;
      throw new WshError("session_not_found", `session '${name}' has no process any more`, {}, { cause: thrown });
    }
    try {
      if (client.info !== null) requirePane(client.info, parsed);
      return client;
    } catch (error) {
      client[Symbol.dispose]();
      throw error;
    }
  }

  /** One request to the layout process tells which pane is meant; from then on that pane's process is asked itself. */
  private static async ofPane(
    name: string,
    whole: Connection,
    info: SessionInfo | null,
    target: string,
    events: ConnectionEvents,
  ): Promise<SessionClient> {
    try {
      const context = { caller: cliCaller, access: "admin", target } as const;
      const { socket } = v.parse(ResolvedSchema, await whole.request("host.resolve", {}, context));
      whole.listen({});
      const { connection, hello } = await Connection.open(socket, "cli", events);
      return new SessionClient(name, connection, whole, hello.info ?? info, target);
    } catch (error) {
      whole.close();
      throw error;
    }
  }

  /** @throws WshError of the operation, host_unavailable when the session process ends meanwhile */
  async call<N extends OperationNameOf<"pane" | "session" | "layout">>(
    operation: N,
    input: OperationInput<N>,
    signal?: AbortSignal,
  ): Promise<OperationOutput<N>> {
    const { target } = this;
    const context = {
      caller: cliCaller,
      access: "admin",
      target,
      ...(signal === undefined ? {} : { signal }),
    } as const;
    const connection = isForPane(operation, target) ? this.connection : await this.serving();
    return (await connection.request(operation, input, context)) as OperationOutput<N>;
  }

  /** The session, or the pane where the session may go on without it: what is said to be gone with its process. */
  get whatEnds(): string {
    const isPart = this.whole !== this.connection || this.servedAt !== null;
    return isPart && this.info !== null
      ? `pane '${this.info.pane_id}' of session '${this.name}'`
      : `session '${this.name}'`;
  }

  private async serving(): Promise<Connection> {
    const { servedAt } = this;
    this.servedAt = null;
    if (servedAt !== null) this.whole = (await Connection.open(servedAt, "cli")).connection;
    return this.whole;
  }

  [Symbol.dispose](): void {
    this.connection.close();
    this.whole.close();
  }
}

/** As findSession; a lost session gets a process that shows what is left of it. @throws WshError session_not_found */
async function findOrShow(instance: Instance, target: string): Promise<SessionEntry> {
  const parsed = parseTarget(target);
  let missing: unknown;
  try {
    const found = findSession(instance, parsed);
    if (processState(found.socket) !== "dead") return found;
    await cleanStale(instance, [found.id]);
    return findSession(instance, parsed);
  } catch (thrown) {
    if (WshError.from(thrown).code !== "session_not_found") throw thrown;
    missing = thrown;
  }
  const { showLost } = await import("../../lost/find.ts");
  if (!(await showLost(instance, target, { env: process.env, starter: "cli" }))) throw missing;
  return findSession(instance, parsed);
}

const ResolvedSchema = v.object({ socket: v.string() });

/** Why a session process could not be reached: one that lives may be too busy to accept, which macOS calls refused. */
export function connectFailure(thrown: unknown, socket: string): WshError {
  const error = WshError.from(thrown);
  if (error.code !== "session_not_found" || processState(socket) !== "alive") return error;
  return new WshError("host_unavailable", `the session process at ${socket} does not answer`, {}, { cause: thrown });
}
