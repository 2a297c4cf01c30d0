/**
 * Serves programs that use `$TMUX`: a socket of this process that speaks tmux's protocol, for the whole instance, and a
 * `tmux` at the end of PATH for machines without one. The socket is bound for the first program whose environment
 * contains it, and stays until the process ends; its code is loaded with the first connection.
 */
import { dirname } from "node:path";
import { ensureOwnDir } from "../instance/owned-files.ts";
import { checkSocketPath, type Instance, tmuxPlaces } from "../instance/paths.ts";
import type { Logger } from "../log/log.ts";
import { platform } from "../platform/platform.ts";
import { unlinkSocket } from "../registry/registry.ts";
import type { Settings } from "../settings/table.ts";
import type { SessionIdentity } from "../shell/environment.ts";
import { installTmux } from "../tmux/instance/program.ts";
import { Wire, type WireEvents } from "../wire/socket.ts";

/** Maximum clients at once: far more than a team of agents has. */
export const MAX_CLIENTS = 256;
/**
 * Time for which a client counts as new, and longest time after that until it sends its command, in ms: the
 * binary `tmux` sends it at once.
 */
const NEW_CLIENT_MS = 1_000;
const MAX_SILENT_MS = 10_000;
/** Time for a refused client to read the reason, in ms. */
const REFUSAL_READ_MS = 500;

/** Interval between checks whether clients remain, in ms. */
const FLUSH_CHECK_MS = 5;

interface CountedConnection {
  /** The process at the other end, and its process session: a pane's programs share one. 0: unknown. */
  readonly pid: number;
  readonly session: number;
  /** `new` for a moment, `silent` until it has sent its command, `answered` until it leaves. */
  readonly state: "new" | "silent" | "asked" | "answered";
}

interface Client extends CountedConnection {
  state: CountedConnection["state"];
  evict(): void;
}

/**
 * Chooses the client to evict for a new one: the oldest that is silent or answered; otherwise the newest of the
 * process, or process session, that has the most clients, if that of the new client has fewer. So no program
 * fills the socket for others, and no client is refused before it is full.
 * @param clients the oldest first @returns null: there is room; undefined: none can be evicted
 */
export function clientToEvict<T extends CountedConnection>(
  clients: readonly T[],
  newcomer: Pick<CountedConnection, "pid" | "session">,
): T | null | undefined {
  if (clients.length < MAX_CLIENTS) return null;
  const idle = clients.find(({ state }) => state === "silent" || state === "answered");
  if (idle !== undefined) return idle;
  for (const groupKey of ["pid", "session"] as const) {
    const counts = Map.groupBy(clients, (each) => each[groupKey]);
    const largestGroup = [...counts.values()].reduce((most, each) => (each.length > most.length ? each : most));
    if (largestGroup.length > (counts.get(newcomer[groupKey])?.length ?? 0) + 1) return largestGroup.at(-1);
  }
  return undefined;
}

export class TmuxSocket {
  private isListening = false;
  /** The oldest first. */
  private readonly clients = new Set<Client>();

  constructor(
    private readonly port: {
      readonly instance: Instance;
      readonly settings: Settings;
      readonly logger: Logger;
      /** Whether an AI agent created the session, over MCP. */
      readonly byAgent: boolean;
      /** Id of this process. */
      readonly processId: number;
      /** Number of the session. */
      readonly sessionNumber: number;
    },
  ) {}

  /** The environment of a program that starts now; null: it gets no tmux. */
  environment(): SessionIdentity["tmux"] {
    const { instance, settings, logger, byAgent, processId, sessionNumber } = this.port;
    if (settings.tmux === "off" || (settings.tmux === "agents" && !byAgent)) return null;
    try {
      if (!this.isListening) this.listen();
      const bin = installTmux(instance);
      const { directory, socket } = tmuxPlaces(instance, processId);
      return { at: `${socket},${process.pid},${sessionNumber}`, directory, bin };
    } catch (error) {
      logger.warn("programs find no tmux: its socket or program cannot be made", { error });
      return null;
    }
  }

  /** Binds the socket again after its directory was deleted. */
  listenAgain(): void {
    if (this.isListening) this.listen();
  }

  /** Resolves when every client that sent a command has left: the one that ended the session gets its answer. */
  async flush(maxWaitMs: number): Promise<void> {
    const deadline = performance.now() + maxWaitMs;
    const hasAsked = ({ state }: Client): boolean => state === "asked" || state === "answered";
    while ([...this.clients].some(hasAsked) && performance.now() < deadline) await Bun.sleep(FLUSH_CHECK_MS);
  }

  private listen(): void {
    const { instance, processId } = this.port;
    const { directory, socket } = tmuxPlaces(instance, processId);
    checkSocketPath(socket);
    for (const each of [directory, dirname(socket)]) ensureOwnDir(each);
    // The socket of an earlier process with this id.
    unlinkSocket(socket);
    Wire.listen(socket, (wire) => this.accept(socket, wire));
    this.isListening = true;
  }

  private accept(path: string, wire: Wire): WireEvents {
    const { instance } = this.port;
    const { peerPid } = wire;
    // A process of another pid namespace has the number 0.
    const pid = peerPid ?? 0;
    const session = pid === 0 ? 0 : (platform().processes.stat(pid)?.session ?? 0);
    const evicted = clientToEvict([...this.clients], { pid, session });
    if (evicted === undefined) {
      refuse(wire);
      return refusedEvents;
    }
    evicted?.evict();
    let service: WireEvents | null = null;
    const earlyData: Uint8Array[] = [];
    const disconnected = (): void => {
      clearTimeout(timer);
      this.clients.delete(client);
    };
    // The client that ends it is not notified of its end.
    const endClient = (): void => {
      disconnected();
      wire.end();
      service?.close();
    };
    const client: Client = {
      pid,
      session,
      state: "new",
      evict() {
        disconnected();
        service?.close();
        refuse(wire);
      },
    };
    let timer = setTimeout(() => {
      client.state = "silent";
      timer = setTimeout(endClient, MAX_SILENT_MS);
    }, NEW_CLIENT_MS);
    const load = async (): Promise<void> => {
      const { serveClient } = await import("../tmux/protocol/serve.ts");
      service = serveClient(instance, path, {
        peerPid,
        end: endClient,
        write: (bytes) => wire.write(bytes),
        became(state) {
          clearTimeout(timer);
          client.state = state;
        },
      });
      for (const bytes of earlyData.splice(0)) service.data(bytes);
      if (!this.clients.has(client)) service.close();
    };
    this.clients.add(client);
    void load();
    return {
      data: (bytes) => {
        if (service !== null) service.data(bytes);
        else if (this.clients.has(client)) earlyData.push(bytes.slice());
      },
      drain: () => service?.drain(),
      close: () => {
        disconnected();
        service?.close();
      },
    };
  }
}

/** Refuses a client with a message. Its input is still read: otherwise the kernel would drop the message. */
function refuse(wire: Wire): void {
  void import("../tmux/protocol/serve.ts").then(({ refusal }) => wire.write(refusal("too many clients")));
  setTimeout(() => wire.end(), REFUSAL_READ_MS);
}

const refusedEvents: WireEvents = { data() {}, drain() {}, close() {} };
