/**
 * Operations of one session, requested from its process directly: no server of this machine is needed. Input and output are typed by the
 * operation table; the session process validates them.
 */
import * as v from "valibot";
import { addressedAnswer, addressedSession } from "../../cluster/addressed.ts";
import type { Link } from "../../cluster/link.ts";
import type { Instance } from "../../instance/paths.ts";
import type { SessionEntry } from "../../instance/registry/directories.ts";
import { processState } from "../../instance/registry/liveness.ts";
import { cleanStale, findSession, isServedAgain } from "../../instance/registry/registry.ts";
import { isForPane } from "../../operations/routing.ts";
import type { OperationInput, OperationName, OperationNameOf, OperationOutput } from "../../operations/table.ts";
import { REPLACED_MS } from "../../protocol/control.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, parsePlace, parseTarget } from "../../protocol/names.ts";
import type { Asked } from "../../protocol/requests.ts";
import { requirePane, type SessionInfo } from "../../protocol/session.ts";
import { Connection, type ConnectionEvents, type Dial } from "../../wire/connection.ts";

/** How the command line introduces itself to a session process. */
export const cliCaller = { kind: "cli", id: `cli:${process.pid}`, name: "wsh", connected: true } as const;

/** What is said of a process that is gone, or goes while it is asked. */
const unreached: ReadonlySet<string> = new Set(["session_not_found", "host_unavailable"]);
/** Interval between two looks for the successor of a lost layout process, in ms. */
const REPLACED_POLL_MS = 20;

export class SessionClient implements Disposable {
  /** To the process that serves the session: asked for once, by however many calls at the same time. */
  private asked: Promise<Connection> | null = null;

  private constructor(
    readonly name: string,
    /** To the process of the pane that the target means. */
    public connection: Connection,
    /** To the process that serves the session: the same one, unless the session has several panes. */
    private whole: Connection,
    /** The session as its pane's process had it when the connection opened. */
    readonly info: SessionInfo | null,
    private readonly target: string,
    /** Where that process is, when it is another one than the pane's. */
    private readonly servedAt: (() => Promise<Where>) | null = null,
    /** The machine that has it; null: this one. */
    readonly machine: string | null = null,
    private readonly far: Link | null = null,
  ) {}

  /** @throws WshError session_not_found, host_unavailable, host_version; of another machine those of its link */
  static async open(instance: Instance, place: string, events: ConnectionEvents = {}): Promise<SessionClient> {
    const { machine, target } = parsePlace(place);
    const parsed = parseTarget(target);
    const client = await whileReplaced(
      () => (machine === null ? placeHere(instance, target) : placeThere(instance, machine, target)),
      (where) => SessionClient.connect(where, target, events),
    );
    try {
      // Of several panes the layout process has found the one that is meant; a pane's own process knows no other window.
      if (client.info !== null && client.whole === client.connection) requirePane(client.info, parsed);
      return machine === null ? client : client.named(machine, await linkTo(instance, machine));
    } catch (error) {
      client[Symbol.dispose]();
      throw error;
    }
  }

  private static async connect(where: Where, target: string, events: ConnectionEvents): Promise<SessionClient> {
    const { connection, hello } = await Connection.open(where.first, "cli", events);
    const info = hello.info ?? null;
    const name = info?.name ?? where.called;
    if (hello.role === "layout") return SessionClient.ofPane(where, name, connection, info, target, events);
    // What ends a pane is asked of another process than the pane's; a lost one has no other.
    const isServed = hello.member === true && info !== null && info.state !== "lost";
    const servedAt = isServed ? () => where.at(info.id) : null;
    return new SessionClient(name, connection, connection, info, target, servedAt);
  }

  /** One request to the layout process tells which pane is meant; from then on that pane's process is asked itself. */
  private static async ofPane(
    where: Where,
    name: string,
    whole: Connection,
    info: SessionInfo | null,
    target: string,
    events: ConnectionEvents,
  ): Promise<SessionClient> {
    try {
      const context = { caller: cliCaller, access: "admin", target } as const;
      const resolved = v.parse(ResolvedSchema, await whole.request("host.resolve", {}, context));
      whole.listen({});
      const { connection, hello } = await Connection.open(where.pane(resolved), "cli", events);
      return new SessionClient(name, connection, whole, hello.info ?? info, target);
    } catch (error) {
      whole.close();
      throw error;
    }
  }

  /** The same, with its names as they are said on this machine. */
  private named(machine: string, link: Link): SessionClient {
    const { name, connection, whole, info, target, servedAt } = this;
    const own = info === null ? null : addressedSession(machine, info);
    return new SessionClient(`${machine}/${name}`, connection, whole, own, target, servedAt, machine, link);
  }

  /** @throws WshError of the operation, host_unavailable when the session process ends meanwhile */
  async call<N extends OperationNameOf<"pane" | "session" | "layout">>(
    operation: N,
    input: OperationInput<N>,
    signal?: AbortSignal,
  ): Promise<OperationOutput<N>> {
    const { target, machine } = this;
    const context = {
      caller: cliCaller,
      access: "admin",
      target,
      ...(signal === undefined ? {} : { signal }),
    } as const;
    const ask = async (asked: Asked = {}, sent: unknown = input): Promise<unknown> => {
      const connection = isForPane(operation, target) ? this.connection : await this.serving();
      return connection.request(operation, sent, { ...context, ...asked });
    };
    if (this.far === null || machine === null) return (await ask()) as OperationOutput<N>;
    const result = await this.askThere(this.far, operation, input, signal, ask);
    return addressedAnswer(machine, operation, result) as OperationOutput<N>;
  }

  /** A way that was lost is made again, and what was asked over it is asked by its id: it is done once. */
  private async askThere(
    far: Link,
    operation: OperationName,
    input: unknown,
    signal: AbortSignal | undefined,
    ask: (asked: Asked, input: unknown) => Promise<unknown>,
  ): Promise<unknown> {
    const { askOverStream } = await import("./asked-there.ts");
    return askOverStream(far, { operation, target: this.target, input, signal }, ask, {
      isLost: () => this.connection.isClosed || this.whole.isClosed,
      again: () => this.reopen(),
    });
  }

  /** Other connections to the same process; what came over the old ones as events has ended with them. */
  private async reopen(): Promise<void> {
    const { far } = this;
    if (far === null) return;
    this.asked = null;
    this[Symbol.dispose]();
    const next = await SessionClient.connect(atLink(far, this.target), this.target, {});
    this.connection = next.connection;
    this.whole = next.whole;
  }

  /** The session, or the pane where the session may go on without it: what is said to be gone with its process. */
  get whatEnds(): string {
    const isPart = this.whole !== this.connection || this.servedAt !== null;
    return isPart && this.info !== null
      ? `pane '${this.info.pane_id}' of session '${this.name}'`
      : `session '${this.name}'`;
  }

  private serving(): Promise<Connection> {
    this.asked ??= this.reachServing();
    return this.asked;
  }

  private async reachServing(): Promise<Connection> {
    const { servedAt } = this;
    if (servedAt !== null) {
      this.whole = (await whileReplaced(servedAt, ({ first }) => Connection.open(first, "cli"))).connection;
    }
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

const ResolvedSchema = v.object({ pane: v.string(), socket: v.string() });

/** Where the processes of a session are, here or on another machine. */
interface Where {
  /** What messages call the session until its process says its name. */
  readonly called: string;
  readonly first: string | Dial;
  /** The same of the process that serves a session's id. */
  at(id: string): Promise<Where>;
  pane(resolved: v.InferOutput<typeof ResolvedSchema>): string | Dial;
  /** Why it could not be reached. */
  failure(thrown: unknown): WshError;
  /** Whether it is a layout process that is lost, and a pane of its session starts another. */
  isReplaced(): Promise<boolean>;
}

/**
 * Asks a process; while that is a layout process that was lost, its successor.
 * @throws WshError of `find` and `ask`
 */
async function whileReplaced<T>(find: () => Promise<Where>, ask: (where: Where) => Promise<T>): Promise<T> {
  const until = performance.now() + REPLACED_MS;
  for (;;) {
    const where = await find();
    try {
      return await ask(where);
    } catch (thrown) {
      const isGone = unreached.has(WshError.from(thrown).code);
      if (!isGone || performance.now() > until || !(await where.isReplaced())) throw where.failure(thrown);
    }
  }
}

async function placeHere(instance: Instance, target: string): Promise<Where> {
  const entry = await findOrShow(instance, target);
  const called = entry.name ?? paneId(entry.id);
  return {
    called,
    first: entry.socket,
    at: (id) => placeHere(instance, id),
    pane: ({ socket }) => socket,
    async isReplaced() {
      if (!isServedAgain(instance, entry)) return false;
      // One that dies lets its socket go before its lock.
      await Bun.sleep(REPLACED_POLL_MS);
      return processState(entry.socket) !== "alive";
    },
    failure(thrown) {
      const error = connectFailure(thrown, entry.socket);
      if (error.code !== "session_not_found") return error;
      return new WshError("session_not_found", `session '${called}' has no process any more`, {}, { cause: thrown });
    },
  };
}

async function placeThere(instance: Instance, machine: string, target: string): Promise<Where> {
  return atLink(await linkTo(instance, machine), target);
}

async function linkTo(instance: Instance, machine: string): Promise<Link> {
  const { linkOf } = await import("./machines.ts");
  return linkOf(instance, machine);
}

function atLink(link: { dial(target: string): Dial }, target: string): Where {
  return {
    called: target,
    first: link.dial(target),
    at: async (id) => atLink(link, id),
    pane: ({ pane }) => link.dial(pane),
    failure: (thrown) => WshError.from(thrown),
    // The other machine's server waits itself.
    isReplaced: async () => false,
  };
}

/** Why a session process could not be reached: one that lives may be too busy to accept, which macOS calls refused. */
export function connectFailure(thrown: unknown, socket: string): WshError {
  const error = WshError.from(thrown);
  if (error.code !== "session_not_found" || processState(socket) !== "alive") return error;
  return new WshError("host_unavailable", `the session process at ${socket} does not answer`, {}, { cause: thrown });
}
