/**
 * Operations of one session, requested from its process directly: no server of this machine is needed. Input and output
 * are typed by the operation table; the session process validates them.
 */
import * as v from "valibot";
import type { Link } from "../../cluster/link.ts";
import { addressedSession } from "../../cluster/machine-prefix.ts";
import { eventsDir, lastEventOf } from "../../events/segments.ts";
import type { Instance } from "../../instance/paths.ts";
import { addressesPane, isForPane, withPane } from "../../operations/routing.ts";
import type { OperationInput, OperationName, OperationNameOf, OperationOutput } from "../../operations/table.ts";
import { agentAt, knowAgents } from "../../platform/agent-above.ts";
import type { Caller } from "../../protocol/caller.ts";
import { type WaitsForPerson, waitingText } from "../../protocol/control.ts";
import { defined, present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, parsePlace, parseTarget } from "../../protocol/names.ts";
import { requireNoAgent } from "../../protocol/owner.ts";
import type { RequestMeta } from "../../protocol/requests.ts";
import { mayRunElsewhere, requirePane, type SessionInfo } from "../../protocol/session.ts";
import type { SessionEntry } from "../../registry/directories.ts";
import { processState } from "../../registry/liveness.ts";
import { cleanStale, findSession } from "../../registry/registry.ts";
import { Connection, type ConnectionEvents, type Dial } from "../../wire/connection.ts";
import { type PaneProcess, PaneProcessSchema } from "../../wire/pane-process.ts";
import { grantSocket } from "../grant/sandbox-client.ts";
import { settingsOf } from "../instance.ts";
import { complain } from "../print.ts";

/** Maximum checks for the end of a process whose connection is closed, and the interval between them in ms. */
const RELEASE_LOOKS = 10;
const RELEASE_MS = 20;

const agent = agentAt(process.pid);

/** The identity of the command line, as it reports it to a session process. */
export const cliCaller: Caller = {
  kind: "cli",
  id: `cli:${process.pid}`,
  name: "wsh",
  connected: true,
  ...present({ agent }),
};

/**
 * Refuses an AI agent under agents_may = own, for actions that affect more than its own sessions. @throws WshError
 * access_denied
 */
export async function requirePerson(instance: Instance, what: string): Promise<void> {
  const { values } = await settingsOf(instance);
  knowAgents(values.agents);
  requireNoAgent(values, { ...cliCaller, ...present({ agent: agentAt(process.pid) }) }, what);
}

export class SessionClient implements Disposable {
  private constructor(
    readonly name: string,
    /** The connection to the process of the target's pane. */
    public connection: Connection,
    /** The connection to the session's process; the same one, unless the target is a view. */
    private sessionConnection: Connection,
    /** The session when the connection opened, with the id of the target's pane. */
    readonly info: SessionInfo | null,
    private readonly target: string,
    /** The pane's name for further calls, whichever pane is the oldest by then. */
    readonly pane: string,
    /** The session's machine; null: this one. */
    readonly machine: string | null = null,
    private readonly remote: Link | null = null,
  ) {}

  /** Null until the session is found. */
  private instance: Instance | null = null;

  /**
   * @param isWhole only operations on the whole session follow: the process of a view is not needed, and may hang
   * @throws WshError session_not_found, session_unavailable, version_mismatch; for another machine, those of its link
   */
  static async open(
    instance: Instance,
    place: string,
    events: ConnectionEvents = {},
    isWhole = false,
  ): Promise<SessionClient> {
    const { machine, target } = parsePlace(place);
    const socket = grantSocket();
    if (socket !== null && machine !== null)
      throw new WshError("access_denied", "a grant does not reach other machines");
    const parsed = parseTarget(target);
    const address =
      socket !== null
        ? atGrant(socket, target)
        : machine === null
          ? await localAddress(instance, target)
          : await remoteAddress(instance, machine, target);
    const client = await SessionClient.connect(address, target, events, isWhole).catch((thrown) => {
      throw address.failure(thrown);
    });
    client.instance = instance;
    try {
      if (client.info !== null && panesOf(client.info).length < 2) requirePane(client.info, parsed);
      return machine === null ? client : client.withMachine(machine, await linkTo(instance, machine));
    } catch (error) {
      client[Symbol.dispose]();
      throw error;
    }
  }

  private static async connect(
    address: SessionAddress,
    target: string,
    events: ConnectionEvents,
    isWhole = false,
  ): Promise<SessionClient> {
    const { connection, hello } = await address.openSession(events);
    const info = hello.info ?? null;
    const name = info?.name ?? address.label;
    const isMany = info !== null && (panesOf(info).length > 1 || mayRunElsewhere(info, address.processId ?? undefined));
    const isPane = parseTarget(target).kind === "pane";
    if (!isMany || isWhole)
      return new SessionClient(name, connection, connection, info, target, isPane ? target : (info?.pane_id ?? target));
    return SessionClient.connectPane(address, name, connection, info, target, events);
  }

  /** One request resolves which of several panes is the target; for a view its own process is asked. */
  private static async connectPane(
    address: SessionAddress,
    name: string,
    sessionConnection: Connection,
    info: SessionInfo,
    target: string,
    events: ConnectionEvents,
  ): Promise<SessionClient> {
    try {
      const context = { caller: cliCaller, access: "admin", target } as const;
      const resolved = v.parse(PaneProcessSchema, await sessionConnection.request("peer.resolve", {}, context));
      const { pane } = resolved;
      const own = { ...info, pane_id: pane };
      if (address.isSameProcess(resolved))
        return new SessionClient(name, sessionConnection, sessionConnection, own, target, pane);
      sessionConnection.listen({});
      const { connection } = await address.pane(resolved, events);
      return new SessionClient(name, connection, sessionConnection, own, target, pane);
    } catch (error) {
      sessionConnection.close();
      throw error;
    }
  }

  /** A copy with the names used on this machine. */
  private withMachine(machine: string, link: Link): SessionClient {
    const { name, connection, sessionConnection, info, target, pane } = this;
    const own = info === null ? null : addressedSession(machine, info);
    return new SessionClient(`${machine}/${name}`, connection, sessionConnection, own, target, pane, machine, link);
  }

  /** @throws WshError of the operation; session_crashed, session_not_found when the session process ends meanwhile */
  async call<N extends OperationNameOf<"pane" | "session" | "layout">>(
    operation: N,
    input: OperationInput<N>,
    signal?: AbortSignal,
  ): Promise<OperationOutput<N>> {
    const { target, pane, machine } = this;
    const isForOne = isForPane(operation, target);
    const context = {
      caller: cliCaller,
      access: "admin",
      target: isForOne ? pane : target,
      ...defined({ signal }),
      waits: reportWaiting,
    } as const;
    const ask = async (asked: RequestMeta = {}, sent: unknown = input): Promise<unknown> => {
      const connection = isForOne ? this.connection : this.sessionConnection;
      const result = await connection.request(operation, sent, { ...context, ...asked });
      // The process was asked for the pane by its id.
      const isOpen = isForOne && this.info !== null && panesOf(this.info).length > 1 && !addressesPane(target);
      return isOpen ? withPane(result, pane) : result;
    };
    if (this.remote === null || machine === null) {
      const asked = isForOne ? this.connection : this.sessionConnection;
      return (await ask().catch(async (thrown) => {
        throw asked.isClosed ? await this.lostError(asked.path, thrown) : thrown;
      })) as OperationOutput<N>;
    }
    const result = await this.askRemote(this.remote, operation, input, signal, ask);
    const { addressedAnswer } = await import("../../cluster/checked-answer.ts");
    return addressedAnswer(machine, operation, result) as OperationOutput<N>;
  }

  /** Gets a person's permission for a call of this AI agent that follows. @throws WshError access_denied */
  async requireAhead<N extends OperationNameOf<"session">>(op: N, input: OperationInput<N>): Promise<void> {
    const waits = reportWaiting;
    const context = { caller: cliCaller, access: "admin", target: this.target, waits } as const;
    await this.sessionConnection.request("peer.leave", { op, input, ahead: true }, context);
  }

  /** Reconnects after a lost connection, and repeats the request under its id, so that it is performed once. */
  private async askRemote(
    remote: Link,
    operation: OperationName,
    input: unknown,
    signal: AbortSignal | undefined,
    ask: (asked: RequestMeta, input: unknown) => Promise<unknown>,
  ): Promise<unknown> {
    const { askOverStream } = await import("./remote-request.ts");
    return askOverStream(remote, { operation, target: this.target, input, signal }, ask, {
      isLost: () => this.connection.isClosed || this.sessionConnection.isClosed,
      isCut: () => this.connection.isCut || this.sessionConnection.isCut,
      reopen: () => this.reopen(),
    });
  }

  /**
   * Opens new connections to the same processes; events of the old ones have ended. Its name may be another session's
   * by now, which would carry out the repeated request.
   */
  private async reopen(): Promise<void> {
    const { remote, machine, info, target, pane } = this;
    if (remote === null || machine === null) return;
    this[Symbol.dispose]();
    const isPane = parseTarget(target).kind === "pane";
    const place = isPane || info === null ? target : info.id.slice(machine.length + 1);
    const address = addressAtLink(remote, place);
    const next = await SessionClient.connect(address, info === null ? target : pane, {}).catch((thrown) => {
      if (isPane || WshError.from(thrown).code !== "pane_not_found") throw thrown;
      // A request to the session does not need the pane.
      return SessionClient.connect(address, place, {}, true);
    });
    this.connection = next.connection;
    this.sessionConnection = next.sessionConnection;
  }

  /** The object reported as gone: the session, or the pane if the session may continue without it. */
  get endSubject(): string {
    return this.info !== null && panesOf(this.info).length > 1
      ? `pane '${this.info.pane_id}' of session '${this.name}'`
      : `session '${this.name}'`;
  }

  [Symbol.dispose](): void {
    this.connection.close();
    this.sessionConnection.close();
  }

  /** The error for a session process whose connection closed before its answer, in the server's words. */
  private async lostError(socket: string, thrown: unknown): Promise<WshError> {
    // Its lock may be released slightly after its connections.
    for (let n = 0; n < RELEASE_LOOKS && processState(socket) === "alive"; n++) await Bun.sleep(RELEASE_MS);
    const state = processState(socket);
    if (state !== "dead" && state !== "absent") return WshError.from(thrown);
    const { name, info, instance } = this;
    // Another process may have recorded the crash and removed the socket.
    const last = info === null || instance === null ? null : lastEventOf(eventsDir(instance), info.id);
    if (state === "absent" && last?.reason !== "session_crashed")
      return new WshError("session_not_found", `session '${name}' was ended`);
    return new WshError("session_crashed", `the session process of '${name}' has died`, { session: name });
  }
}

/** Like findSession; a crashed session gets a process that shows its remains. @throws WshError session_not_found */
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
  const { showCrashed } = await import("../../checkpoints/find-crashed.ts");
  if (!(await showCrashed(instance, target, { env: process.env, starter: "cli" }))) throw missing;
  return findSession(instance, parsed);
}

function panesOf({ windows }: SessionInfo): readonly unknown[] {
  return windows.flatMap(({ panes }) => panes);
}

type OpenedConnection = ReturnType<typeof Connection.open>;

/** The processes of a session and its views, here or on another machine. */
interface SessionAddress {
  /** The session's name in messages until its process reports its name. */
  readonly label: string;
  /** Id of its process; null: unknown. */
  readonly processId: number | null;
  openSession(events: ConnectionEvents): OpenedConnection;
  /** Whether the pane belongs to the same process. */
  isSameProcess(resolved: PaneProcess): boolean;
  pane(resolved: PaneProcess, events: ConnectionEvents): OpenedConnection;
  /** The error for a session that could not be reached. */
  failure(thrown: unknown): WshError;
}

async function localAddress(instance: Instance, target: string): Promise<SessionAddress> {
  const entry = await findOrShow(instance, target);
  const label = entry.name ?? paneId(entry.id);
  return {
    label,
    processId: entry.id,
    openSession: (events) => Connection.open(entry.socket, "cli", events),
    isSameProcess: ({ socket }) => socket === entry.socket,
    pane: ({ socket }, events) => Connection.open(socket, "cli", events),
    failure(thrown) {
      const error = connectFailure(thrown, entry.socket);
      if (error.code !== "session_not_found") return error;
      return new WshError("session_not_found", `session '${label}' no longer has a process`, {}, { cause: thrown });
    },
  };
}

/** The socket of a grant serves all of its panes. */
function atGrant(path: string, target: string): SessionAddress {
  return {
    label: target,
    processId: null,
    openSession: (events) => Connection.open(path, "cli", events),
    isSameProcess: () => true,
    pane: (_, events) => Connection.open(path, "cli", events),
    failure: (thrown) => {
      const hint = "A sandbox's rights end with its grant: start it again with `wsh grant`.";
      return new WshError("session_unavailable", `the grant at ${path} has ended`, { hint }, { cause: thrown });
    },
  };
}

async function remoteAddress(instance: Instance, machine: string, target: string): Promise<SessionAddress> {
  return addressAtLink(await linkTo(instance, machine), target);
}

async function linkTo(instance: Instance, machine: string): Promise<Link> {
  const { linkOf } = await import("./machines.ts");
  return linkOf(instance, machine);
}

function addressAtLink(link: Link, target: string): SessionAddress {
  const open = async (dial: Dial, events: ConnectionEvents): OpenedConnection => {
    const { openRemote } = await import("../../cluster/remote-connection.ts");
    return openRemote(link, dial, events);
  };
  return {
    label: target,
    processId: null,
    openSession: (events) => open(link.dial(target), events),
    // The path is the other machine's: that machine finds the pane's owner.
    isSameProcess: () => false,
    pane: ({ pane }, events) => open(link.dial(pane, "pane"), events),
    failure: (thrown) => WshError.from(thrown),
  };
}

/** Why a session process could not be reached: a live one may be too busy to accept, which macOS reports as refused. */
export function connectFailure(thrown: unknown, socket: string): WshError {
  const error = WshError.from(thrown);
  if (error.code !== "session_not_found" || processState(socket) !== "alive") return error;
  return new WshError("session_unavailable", `the session process at ${socket} does not answer`, {}, { cause: thrown });
}

export function reportWaiting(waiting: WaitsForPerson): void {
  if (waiting.until > 0) complain(waitingText(waiting));
}
