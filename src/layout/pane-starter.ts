/**
 * Starts the processes of new panes, with the umask, limits and environment of the session. One process may be kept
 * ready: it has loaded its code and waits for what it is to run, so that a split is instant.
 */
import fs from "node:fs";
import * as v from "valibot";
import { type PreparedLaunch, prepareHost, spareHost } from "../instance/launch/host.ts";
import type { Instance } from "../instance/paths.ts";
import { hostSocket } from "../instance/paths.ts";
import type { PaneProgram } from "../protocol/layout.ts";
import { SessionInfoSchema } from "../protocol/session.ts";
import type { Size } from "../protocol/size.ts";

export interface PaneStarterPort {
  readonly instance: Instance;
  readonly session: number;
  /** The layout process's own. */
  readonly socket: string;
  /** The environment of the session's programs. */
  readonly env: Readonly<Record<string, string>>;
  readonly nofile: number | null;
  readonly maxPanes: number;
  readonly maxAll: number;
  /** Whether a process is kept ready. */
  readonly spare: boolean;
  name(): string;
  /** Nothing of its commands is kept. */
  isPrivate(): boolean;
  /** Variables of the newest viewer, over those of the session. */
  viewerEnv(): Readonly<Record<string, string>>;
}

export interface StartedPane {
  readonly id: string;
  readonly socket: string;
}

/** Time from the start of a pane to that of the next spare, in ms: until its prompt, the shell has the processor. */
const SPARE_DELAY_MS = 300;

export class PaneStarter implements Disposable {
  private spare: PreparedLaunch | null = null;
  private timer: Timer | null = null;

  constructor(private readonly port: PaneStarterPort) {}

  /** A process is made ready, soon. */
  keepSpare(): void {
    if (!this.port.spare || this.spare !== null) return;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.spare ??= spareHost(this.port.instance);
    }, SPARE_DELAY_MS);
    this.timer.unref();
  }

  /** @throws WshError of the new process; nothing is left of it then */
  async start(
    program: PaneProgram,
    size: Size,
    place: { readonly window: number; readonly cwd: string; readonly byPerson: boolean },
  ): Promise<StartedPane> {
    const { instance, session, env, nofile, maxPanes, maxAll } = this.port;
    const { spare } = this;
    this.spare = null;
    const prepared = spare?.isReady === true ? spare : prepareHost(instance);
    if (spare !== null && spare !== prepared) spare.discard();
    const { command = null, cwd = null, shell = null, stdin } = program;
    const report = await prepared.begin({
      socket: instance.httpSocket,
      create: {
        name: null,
        command,
        cwd,
        shell,
        env: program.env ?? null,
        tags: [],
        private: this.port.isPrivate(),
        ...size,
        ...(stdin === undefined ? {} : { stdin }),
      },
      naming: "number",
      env: { ...env, ...this.port.viewerEnv() },
      cwd: place.cwd,
      nofile,
      starter: place.byPerson ? "cli" : "server",
      member: {
        session,
        window: place.window,
        name: this.port.name(),
        max_panes: maxPanes,
        max_all: maxAll,
        served_at: this.port.socket,
      },
    });
    this.keepSpare();
    const { pane_id } = v.parse(SessionInfoSchema, report.info);
    return { id: pane_id, socket: hostSocket(instance, Number(pane_id.slice(1))) };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer ?? undefined);
    this.spare?.discard();
    this.spare = null;
  }
}

/** The directory that a pane's program is in, else the one that it reported. */
export function directoryOf(pid: number | null, reported: string | null): string {
  try {
    if (pid !== null) return fs.readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // Another system, or the program has ended.
  }
  return reported ?? "/";
}
