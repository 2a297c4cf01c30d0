/**
 * The Unix socket of HTTP. Bun.serve does not report the process at the other end, so connections are accepted here,
 * where the kernel reports it, and their bytes are passed, unread, to one of Bun's servers: one for the AI agent among
 * that process's ancestors, or one for all others. Only this process can reach those servers: on Linux their sockets
 * have no name.
 *
 * Owns the servers and the connections in between. A side that does not read stops the other: only bytes that a socket
 * has refused are queued.
 */
import { dirname, join } from "node:path";
import { randomToken } from "../../base/random-token.ts";
import { type NamelessSocket, withoutName } from "../../platform/nameless-socket.ts";
import { Outbox } from "../../wire/outbox.ts";
import { Wire, type WireEvents } from "../../wire/socket.ts";

/** Agents whose server remains without a connection: callers name agents as they like. */
const MOST_UNUSED = 16;
/** Letters of a socket's name, which cannot be guessed where the name must remain. */
const NAME_LETTERS = 8;

interface Inner {
  readonly server: { stop(closeActive?: boolean): Promise<void> };
  readonly socket: NamelessSocket;
  /** Open connections. */
  users: number;
}

interface UnixFrontOptions {
  /** Serves at a path. @param agent the AI agent among the ancestors of all its clients; null: none */
  readonly serve: (path: string, agent: string | null) => Inner["server"];
  /** The AI agent among a process's ancestors; null: none, or agents have no limits here. */
  readonly agentAt: (pid: number) => string | null;
}

export class UnixFront {
  private readonly listeners: { stop(): void }[] = [];
  private readonly inner = new Map<string | null, Inner>();
  private readonly open = new Set<() => void>();

  constructor(private readonly options: UnixFrontOptions) {}

  listen(path: string): { stop(): void } {
    const listener = Wire.listen(path, (wire) => this.accept(wire, dirname(path)));
    this.listeners.push(listener);
    return listener;
  }

  async stop(): Promise<void> {
    for (const listener of this.listeners) listener.stop();
    for (const end of this.open) end();
    await Promise.all([...this.inner.values()].map(({ server }) => server.stop(true)));
    for (const { socket } of this.inner.values()) socket.close();
  }

  private accept(wire: Wire, directory: string): WireEvents {
    const pid = wire.peerPid;
    const inner = this.innerFor(pid === null ? null : this.options.agentAt(pid), directory);
    const { socket } = inner;
    inner.users++;
    const end = (): void => {
      if (this.open.delete(end)) {
        inner.users--;
        this.endUnused();
      }
      wire.end();
      upstream?.end();
    };
    this.open.add(end);
    let upstream: Wire | null = null;
    /** Whether the server has closed while the client still reads the rest. */
    let isAnswered = false;
    const toServer = new Outbox((bytes) => upstream?.write(bytes) ?? 0);
    const toClient = new Outbox((bytes) => wire.write(bytes));
    const events: WireEvents = {
      data(bytes) {
        toClient.write(new Uint8Array(bytes));
        if (toClient.pending > 0) upstream?.pause();
      },
      drain() {
        if (toServer.drain()) wire.resume();
      },
      close() {
        if (toClient.pending === 0) end();
        else isAnswered = true;
      },
    };
    Wire.connect(socket.path, events).then((connected) => {
      upstream = connected;
      if (!this.open.has(end)) connected.end();
      else if (!toServer.drain()) wire.pause();
    }, end);
    return {
      data(bytes) {
        toServer.write(new Uint8Array(bytes));
        if (upstream !== null && toServer.pending > 0) wire.pause();
      },
      drain() {
        if (!toClient.drain()) return;
        if (isAnswered) end();
        else upstream?.resume();
      },
      close: end,
    };
  }

  private innerFor(agent: string | null, directory: string): Inner {
    const known = this.inner.get(agent);
    if (known !== undefined) return known;
    const named = join(directory, `h.${randomToken(NAME_LETTERS)}`);
    const server = this.options.serve(named, agent);
    const made = { server, socket: withoutName(named), users: 0 };
    this.inner.set(agent, made);
    return made;
  }

  /** Ends the oldest servers of agents that nobody uses. */
  private endUnused(): void {
    const unused = [...this.inner].filter(([agent, { users }]) => agent !== null && users === 0);
    for (const [agent, { server, socket }] of unused.slice(0, -MOST_UNUSED)) {
      this.inner.delete(agent);
      void server.stop(true).finally(() => socket.close());
    }
  }
}
