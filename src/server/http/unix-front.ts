/**
 * The Unix socket of HTTP. Bun.serve does not tell which process is at the other end, so connections are accepted here,
 * where the kernel tells it, and their bytes passed on, unread, to a server of Bun's for the AI agent above that process, or
 * for all others. Only this process reaches those: on Linux their sockets have no name.
 *
 * Owns the servers and the connections between. A side that does not read stops the other: nothing is queued beyond
 * what a socket has refused.
 */
import { dirname, join } from "node:path";
import { randomToken } from "../../base/random-token.ts";
import { type NamelessSocket, withoutName } from "../../platform/nameless-socket.ts";
import { Outbox } from "../../wire/outbox.ts";
import { Wire, type WireEvents } from "../../wire/socket.ts";

/** Letters of a socket's name: nobody guesses it where it has to keep one. */
const NAME_LETTERS = 8;

interface Inner {
  readonly server: { stop(closeActive?: boolean): Promise<void> };
  readonly socket: NamelessSocket;
}

interface UnixFrontOptions {
  /** Serves at a path. @param agent the AI agent above all of its clients; null: none */
  readonly serve: (path: string, agent: string | null) => Inner["server"];
  /** The AI agent above a process; null: none, or agents are not told apart. */
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
    const { socket } = this.innerFor(pid === null ? null : this.options.agentAt(pid), directory);
    const end = (): void => {
      this.open.delete(end);
      wire.end();
      there?.end();
    };
    this.open.add(end);
    let there: Wire | null = null;
    /** The server has closed, and the client has yet to read the rest. */
    let isAnswered = false;
    const toServer = new Outbox((bytes) => there?.write(bytes) ?? 0);
    const toClient = new Outbox((bytes) => wire.write(bytes));
    const events: WireEvents = {
      data(bytes) {
        toClient.write(new Uint8Array(bytes));
        if (toClient.pending > 0) there?.pause();
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
      there = connected;
      if (!this.open.has(end)) connected.end();
      else if (!toServer.drain()) wire.pause();
    }, end);
    return {
      data(bytes) {
        toServer.write(new Uint8Array(bytes));
        if (there !== null && toServer.pending > 0) wire.pause();
      },
      drain() {
        if (!toClient.drain()) return;
        if (isAnswered) end();
        else there?.resume();
      },
      close: end,
    };
  }

  private innerFor(agent: string | null, directory: string): Inner {
    const known = this.inner.get(agent);
    if (known !== undefined) return known;
    const named = join(directory, `h.${randomToken(NAME_LETTERS)}`);
    const server = this.options.serve(named, agent);
    const made = { server, socket: withoutName(named) };
    this.inner.set(agent, made);
    return made;
  }
}
