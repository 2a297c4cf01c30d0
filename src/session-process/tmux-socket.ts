/**
 * What programs find at `$TMUX`: a socket of this process that speaks tmux's protocol, for the whole instance, and a
 * `tmux` at the end of PATH for machines without one. It is bound for the first program that is told of it, and stays as
 * long as the process; the code behind it is loaded when somebody connects.
 */
import { dirname } from "node:path";
import { ensureOwnDir } from "../instance/owned-files.ts";
import { checkSocketPath, type Instance, tmuxPlaces } from "../instance/paths.ts";
import { selfCommand } from "../launch/launch.ts";
import { installScripts } from "../launch/script-files.ts";
import type { Logger } from "../log/log.ts";
import { unlinkSocket } from "../registry/registry.ts";
import type { Settings } from "../settings/table.ts";
import type { SessionIdentity } from "../shell/environment.ts";
import { quote } from "../shell/words.ts";
import { Wire, type WireEvents } from "../wire/socket.ts";

/** Clients at once: far more than a team of agents has; and those of one process, where the binary `tmux` is one. */
const MOST_CLIENTS = 256;
const MOST_OF_PROCESS = 16;
/** Longest time until a client says what it wants, in ms: the binary `tmux` does at once. */
const SILENT_MS = 10_000;

/** Interval between two looks at whether clients are left, in ms. */
const FLUSH_LOOK_MS = 5;

interface Client {
  readonly pid: number | null;
  /** `silent` until it has sent its command, `answered` until it leaves: both make way for others. */
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
      /** An AI agent has made the session, over MCP. */
      readonly byAgent: boolean;
      /** Of this process. */
      readonly id: number;
      /** Number of the session. */
      readonly session: number;
    },
  ) {}

  /** For a program that starts now; null where it is told of no tmux. */
  environment(): SessionIdentity["tmux"] {
    const { instance, settings, logger, byAgent, id, session } = this.of;
    if (settings.tmux === "off" || (settings.tmux === "agents" && !byAgent)) return null;
    try {
      if (!this.isListening) this.listen();
      const self = selfCommand(["tmux"]).map(quote).join(" ");
      const text = `#!/bin/sh\nexec ${self} "$@"\n`;
      const bin = installScripts(instance, [{ name: "tmux", text, isProgram: true }]);
      const { directory, socket } = tmuxPlaces(instance, id);
      return { at: `${socket},${process.pid},${session}`, directory, bin };
    } catch (error) {
      logger.warn("programs find no tmux: its socket or program cannot be made", { error });
      return null;
    }
  }

  /** Binds again, after the directory was deleted. */
  listenAgain(): void {
    if (this.isListening) this.listen();
  }

  /** Resolves when no client is left that has sent a command: one that has ended the session is told so. */
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
    // Of an earlier process with this id.
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
      // Its own end is not reported to the one who ends it.
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

  /** Ends the oldest client that asks nothing where there are too many. @returns false where none makes way */
  private makeRoom(pid: number | null): boolean {
    const all = [...this.clients];
    // A process of another name space has the number 0.
    const siblings = pid ? all.filter((each) => each.pid === pid) : [];
    const crowd = siblings.length >= MOST_OF_PROCESS ? siblings : all.length >= MOST_CLIENTS ? all : null;
    const oldest = crowd?.find(({ state }) => state !== "asked");
    oldest?.end();
    return crowd === null || oldest !== undefined;
  }
}

const refused: WireEvents = { data() {}, drain() {}, close() {} };
