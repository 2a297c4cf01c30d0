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

/** Clients at once: far more than a team of agents has. */
const MOST_CLIENTS = 256;

/** Interval between two looks at whether clients are left, in ms. */
const FLUSH_LOOK_MS = 5;

export class TmuxSocket {
  private isListening = false;
  private clients = 0;

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

  /** Resolves when no client is left: one that has ended the session is told so. */
  async flush(patienceMs: number): Promise<void> {
    const deadline = performance.now() + patienceMs;
    while (this.clients > 0 && performance.now() < deadline) await Bun.sleep(FLUSH_LOOK_MS);
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
    let client: WireEvents | null = null;
    const early: Uint8Array[] = [];
    let isOver = false;
    const over = (): void => {
      if (!isOver) this.clients--;
      isOver = true;
    };
    // Its own end is not reported to the one who ends it.
    const end = (): void => {
      over();
      wire.end();
    };
    const load = async (): Promise<void> => {
      const { serveClient } = await import("../tmux/protocol/serve.ts");
      const { peerPid } = wire;
      client = serveClient(instance, path, { peerPid, end, write: (bytes) => wire.write(bytes) });
      for (const bytes of early.splice(0)) client.data(bytes);
      if (isOver) client.close();
    };
    this.clients++;
    if (this.clients > MOST_CLIENTS) end();
    else void load();
    return {
      data: (bytes) => (client === null ? void early.push(bytes.slice()) : client.data(bytes)),
      drain: () => client?.drain(),
      close: () => {
        over();
        client?.close();
      },
    };
  }
}
