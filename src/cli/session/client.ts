/**
 * Operations of one session, requested from its process directly: no server is needed. Input and output are typed by the
 * operation table; the session process validates them.
 */
import type { Instance } from "../../instance/paths.ts";
import { processState } from "../../instance/registry/liveness.ts";
import { findSession } from "../../instance/registry/registry.ts";
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
    readonly connection: Connection,
    /** The session as it was when the connection opened. */
    readonly info: SessionInfo | null,
  ) {}

  /** @throws WshError session_not_found, host_unavailable, host_version */
  static async open(instance: Instance, target: string, events: ConnectionEvents = {}): Promise<SessionClient> {
    const parsed = parseTarget(target);
    const entry = findSession(instance, parsed);
    const name = entry.name ?? paneId(entry.id);
    let client: SessionClient;
    try {
      const { connection, hello } = await Connection.open(entry.socket, "cli", events);
      client = new SessionClient(name, connection, hello.info ?? null);
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

  /** @throws WshError of the operation, host_unavailable when the session process ends meanwhile */
  async call<N extends OperationNameOf<"pane" | "session">>(
    operation: N,
    input: OperationInput<N>,
    signal?: AbortSignal,
  ): Promise<OperationOutput<N>> {
    const context = { caller: cliCaller, access: "admin", ...(signal === undefined ? {} : { signal }) } as const;
    return (await this.connection.request(operation, input, context)) as OperationOutput<N>;
  }

  [Symbol.dispose](): void {
    this.connection.close();
  }
}

/** Why a session process could not be reached: one that lives may be too busy to accept, which macOS calls refused. */
export function connectFailure(thrown: unknown, socket: string): WshError {
  const error = WshError.from(thrown);
  if (error.code !== "session_not_found" || processState(socket) !== "alive") return error;
  return new WshError("host_unavailable", `the session process at ${socket} does not answer`, {}, { cause: thrown });
}
