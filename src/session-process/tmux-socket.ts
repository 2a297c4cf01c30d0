/**
 * Serves programs that use `$TMUX`: a socket of this process that speaks tmux's protocol, for the whole instance, and a
 * `tmux` at the end of PATH for machines without one. The socket is bound for the first program whose environment
 * contains it, and stays until the process ends; its code is loaded with the first connection.
 */
import { dirname } from "node:path";
import { ensureOwnDir } from "../instance/owned-files.ts";
import { checkSocketPath, type Instance, tmuxPlaces } from "../instance/paths.ts";
import type { Logger } from "../log/log.ts";
import { unlinkSocket } from "../registry/registry.ts";
import type { Settings } from "../settings/table.ts";
import type { SessionIdentity } from "../shell/environment.ts";
import { installTmux } from "../tmux/instance/program.ts";
import { Wire, type WireEvents } from "../wire/socket.ts";

/**
 * Maximum clients at once: far more than a team of agents has; and maximum clients of one process, where the binary
 * `tmux` is one.
 */
const MOST_CLIENTS = 256;
const MOST_OF_PROCESS = 16;
/** Longest time until a client sends its command, in ms: the binary `tmux` sends it at once. */
const SILENT_MS = 10_000;

/** Interval between checks whether clients remain, in ms. */
const FLUSH_LOOK_MS = 5;

interface Client {
  readonly pid: number | null;
  /** `silent` until it has sent its command, `answered` until it leaves: both are evicted for others. */
  state: "silent" | "asked" | "answered";
  end(): void;
}

export class TmuxSocket {
  private isListening = false;
  /** The oldest first. */
  private readonly clients = new Set<Client>();

  constructor(
    private readonly of: {
      readonly instance: Instance;
      readonly settings: Settings;
      readonly logger: Logger;
      /** Whether an AI agent created the session, over MCP. */
      readonly byAgent: boolean;
      /** Id of this process. */
      readonly id: number;
      /** Number of the session. */
      readonly session: number;
    },
  ) {}

  /** The environment of a program that starts now; null: it gets no tmux. */
  environment(): SessionIdentity["tmux"] {
    const { instance, settings, logger, byAgent, id, session } = this.of;
    if (settings.tmux === "off" || (settings.tmux === "agents" && !byAgent)) return null;
    try {
      if (!this.isListening) this.listen();
      const bin = installTmux(instance);
      const { directory, socket } = tmuxPlaces(instance, id);
      return { at: `${socket},${process.pid},${session}`, directory, bin };
    } catch (error) {
      logger.warn("programs find no tmux: its socket or program cannot be made", { error });
      return null;
    }
  }

  /** Binds the socket again after its directory was deleted. */
  listenAgain(): void {
    if (this.isListening) this.listen();
  }

  /** Resolves when no client remains that has sent a command: one that has ended the session gets its answer. */
  async flush(patienceMs: number): Promise<void> {
    const deadline = performance.now() + patienceMs;
    const hasAsked = ({ state }: Client): boolean => state !== "silent";
    while ([...this.clients].some(hasAsked) && performance.now() < deadline) await Bun.sleep(FLUSH_LOOK_MS);
  }

  private listen(): void {
    const { instance, id } = this.of;
    const { directory, socket } = tmuxPlaces(instance, id);
    checkSocketPath(socket);
    for (const each of [directory, dirname(socket)]) ensureOwnDir(each);
    // The socket of an earlier process with this id.
    unlinkSocket(socket);
    Wire.listen(socket, (wire) => this.accept(socket, wire));
    this.isListening = true;
  }

  private accept(path: string, wire: Wire): WireEvents {
    const { instance } = this.of;
    const { peerPid } = wire;
    if (!this.makeRoom(peerPid)) {
      wire.end();
      return refused;
    }
    let served: WireEvents | null = null;
    const early: Uint8Array[] = [];
    const over = (): void => {
      clearTimeout(timer);
      this.clients.delete(client);
    };
    const client: Client = {
      pid: peerPid,
      state: "silent",
      // The client that ends it is not notified of its end.
      end: () => {
        over();
        wire.end();
        served?.close();
      },
    };
    const timer = setTimeout(() => client.end(), SILENT_MS);
    const load = async (): Promise<void> => {
      const { serveClient } = await import("../tmux/protocol/serve.ts");
      served = serveClient(instance, path, {
        peerPid,
        end: client.end,
        write: (bytes) => wire.write(bytes),
        became(state) {
          clearTimeout(timer);
          client.state = state;
        },
      });
      for (const bytes of early.splice(0)) served.data(bytes);
      if (!this.clients.has(client)) served.close();
    };
    this.clients.add(client);
    void load();
    return {
      data: (bytes) => (served === null ? void early.push(bytes.slice()) : served.data(bytes)),
      drain: () => served?.drain(),
      close: () => {
        over();
        served?.close();
      },
    };
  }

  /** Evicts the oldest inactive client when there are too many. @returns false: none can be evicted */
  private makeRoom(pid: number | null): boolean {
    const all = [...this.clients];
    // A process of another pid namespace has the number 0.
    const siblings = pid ? all.filter((each) => each.pid === pid) : [];
    const crowd = siblings.length >= MOST_OF_PROCESS ? siblings : all.length >= MOST_CLIENTS ? all : null;
    const oldest = crowd?.find(({ state }) => state !== "asked");
    oldest?.end();
    return crowd === null || oldest !== undefined;
  }
}

const refused: WireEvents = { data() {}, drain() {}, close() {} };
