/**
 * The expected and the actual state: the sessions that a random walk made and their screens, the server, the
 * attached terminals, the bridge. Steps change both sides; `check` compares them. Nothing in here is random.
 */
import { existsSync, readdirSync } from "node:fs";
import { SessionClient } from "../../../src/cli/session/client.ts";
import { WshError } from "../../../src/protocol/errors.ts";
import { parentOf } from "../../support/processes.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { AttachedTerminal } from "./attached-terminal.ts";
import type { McpPipe } from "./mcp-pipe.ts";

interface Box {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly text: string;
}

interface Strip {
  readonly id: string;
  readonly position: "top" | "bottom";
  readonly text: string;
}

/** The expected state of a session. */
export interface Known {
  name: string;
  readonly id: string;
  readonly window: string;
  readonly pane: string;
  /** Of the shell. */
  pid: number;
  readonly host: number;
  readonly tags: Set<string>;
  /** Lines of output that its screen must contain, newest last; older ones may have scrolled away. */
  marks: string[];
  overlays: Box[];
  panels: Strip[];
  viewer: AttachedTerminal | null;
}

/** Lines that a step prints have this form, and no others do. */
const MARK = /^mark-\d+$/;

export class World implements AsyncDisposable {
  // Ended sessions are removed at once, so that the list is exact.
  readonly wsh = new Wsh({ config: 'grace_seconds = 0\nkill_grace_ms = 500\nagents_may = "everything"\n' });
  readonly sessions: Known[] = [];
  /** The server that the walk started; others may be started by bridges. */
  server: { readonly pid: number; kill(signal: NodeJS.Signals): Promise<void> } | null = null;
  bridge: McpPipe | null = null;
  private marks = 0;

  nextMark(): string {
    return `mark-${++this.marks}`;
  }

  /** Queries a session process. */
  async ask<T>(known: Known, run: (client: SessionClient) => Promise<T>): Promise<T> {
    using client = await SessionClient.open(this.wsh.instance, known.name);
    return await run(client);
  }

  /** Waits until a session whose files were deleted has registered again, under its name. */
  foundAgain(known: Known): Promise<unknown> {
    return until(`session ${known.name} to be found again`, () =>
      this.ask(known, async (client) => (await client.call("session.get", {})).state !== "crashed").catch((thrown) => {
        if (WshError.from(thrown).code === "session_not_found") return false;
        throw thrown;
      }),
    );
  }

  screenOf(known: Known): Promise<string[]> {
    return this.ask(known, async (client) => {
      const { lines } = await client.call("screen.get", { format: "plain" });
      return lines.map((line) => (typeof line === "string" ? line : ""));
    });
  }

  async adopt(name: string): Promise<Known> {
    const info = (await this.wsh.list()).find((session) => session.name === name);
    const pid = info?.pid ?? null;
    const host = pid === null ? null : parentOf(pid);
    if (info === undefined || pid === null || host === null) throw new Error(`session '${name}' did not start`);
    const tags = new Set(info.tags);
    const ids = { id: info.id, window: info.windows[0]?.id ?? "", pane: info.pane_id };
    const known: Known = { name, ...ids, pid, host, tags, marks: [], overlays: [], panels: [], viewer: null };
    this.sessions.push(known);
    await this.atPrompt(known);
    return known;
  }

  forget(known: Known): void {
    this.sessions.splice(this.sessions.indexOf(known), 1);
    known.viewer?.[Symbol.dispose]();
    known.viewer = null;
  }

  /** Waits until a session's shell waits for a command. */
  atPrompt(known: Known): Promise<unknown> {
    return until(`session ${known.name} to be at its prompt`, () =>
      this.ask(known, async (client) => (await client.call("session.get", {})).state === "prompt"),
    );
  }

  attach(known: Known, rows: number, cols: number): void {
    known.viewer = AttachedTerminal.open(this.wsh, ["attach", known.name], { rows, cols });
  }

  /** Everything that must be true after a step. */
  async check(): Promise<void> {
    await this.checkList();
    for (const known of this.sessions) {
      await this.checkMarks(known);
      await this.checkViewer(known);
    }
    await this.checkFiles();
    await this.checkProcesses();
    if (this.server !== null) await this.checkServer();
  }

  private async checkList(): Promise<void> {
    const wanted = this.sessions
      .map(({ name, id, pid, tags, viewer }) => `${name} ${id} ${pid} [${[...tags].sort()}] ${viewer === null ? 0 : 1}`)
      .sort();
    let seen: string[] = [];
    await until("the list to be right", async () => {
      // A session whose process was killed is listed as crashed if a checkpoint was written by then.
      const list = (await this.wsh.list()).filter(({ state }) => state !== "crashed");
      seen = list.map(({ name, id, pid, tags, attached }) => `${name} ${id} ${pid} [${tags}] ${attached}`).sort();
      return seen.join("\n") === wanted.join("\n");
    }).catch((error) => {
      throw new Error(`${error.message}: it is\n${seen.join("\n")}\nand should be\n${wanted.join("\n")}`);
    });
  }

  /** The newest marks, in order, none twice and none missing. */
  private async checkMarks(known: Known): Promise<void> {
    const last = known.marks.at(-1);
    const lines = await this.screenOf(known);
    const shown = lines.filter((line) => MARK.test(line));
    const wanted = known.marks.slice(known.marks.length - shown.length);
    if (shown.join() === wanted.join() && (last === undefined || shown.length > 0)) return;
    throw new Error(`session ${known.name} should show ${known.marks.slice(-5)} last; it shows\n${lines.join("\n")}`);
  }

  /** The person sees the session's screen, with agents' drawings on it. */
  private async checkViewer(known: Known): Promise<void> {
    const { viewer } = known;
    if (viewer === null) return;
    let wanted: string[] = [];
    await until("the terminal to show the session", async () => {
      wanted = compose(known, await this.screenOf(known), viewer.screen.terminal.cols);
      return viewer.text().join("\n") === wanted.join("\n");
    }).catch((error) => {
      const seen = viewer.text().join("\n");
      throw new Error(`${error.message} ${known.name}: it shows\n${seen}\n-- and should show\n${wanted.join("\n")}`);
    });
  }

  /** A file for each session and its name, and no other files of session processes. */
  private async checkFiles(): Promise<void> {
    const { sessionsDir, namesDir } = this.wsh.instance;
    const names = this.sessions.flatMap(({ name, id, window }) => [name, `${id}.${window.slice(1)}`]).sort();
    const sockets = this.sessions.map(({ pane }) => `${pane.slice(1)}.sock`).sort();
    const wanted = `${names} and ${sockets}`;
    let seen = "";
    await until("the registry to be right", () => {
      const files = filesOf(sessionsDir).filter((file) => file.endsWith(".sock"));
      seen = `${filesOf(namesDir)} and ${files}`;
      return seen === wanted;
    }).catch((error) => {
      throw new Error(`${error.message}: it holds ${seen}; it should hold ${wanted}`);
    });
  }

  private async checkProcesses(): Promise<void> {
    const allowed = new Set(this.sessions.flatMap(({ pid, host, viewer }) => [pid, host, viewer?.pid ?? 0]));
    if (this.bridge !== null) allowed.add(this.bridge.pid);
    let strays: ReturnType<Wsh["processes"]> = [];
    await until("what is over to have ended", () => {
      const servers = new Set(this.wsh.servers());
      if (servers.size > 1) return false;
      // A zombie has no environment any more, so it is not found here.
      strays = this.wsh.processes().filter(({ pid }) => !allowed.has(pid) && !servers.has(pid));
      return strays.length === 0;
    }).catch((error) => {
      throw new Error(`${error.message}: left are ${JSON.stringify(strays)}; servers ${this.wsh.servers()}`);
    });
  }

  /** The server's list is the same. */
  private async checkServer(): Promise<void> {
    const wanted = this.sessions.map(({ name, pid }) => `${name} ${pid}`).sort();
    let seen: string[] = [];
    await until("the server's list to be right", async () => {
      const list: { name: string; pid: number; state: string }[] = await (await this.wsh.fetch("/sessions")).json();
      seen = list
        .filter(({ state }) => state !== "crashed")
        .map(({ name, pid }) => `${name} ${pid}`)
        .sort();
      return seen.join() === wanted.join();
    }).catch((error) => {
      throw new Error(`${error.message}: it is ${seen}, and should be ${wanted}`);
    });
  }

  /** Nothing is left after `wsh stop`: no process, no socket, no name. */
  async end(): Promise<void> {
    this.bridge?.[Symbol.dispose]();
    this.bridge = null;
    await this.wsh.ok("stop");
    this.server = null;
    for (const known of [...this.sessions]) {
      await known.viewer?.exited;
      this.forget(known);
    }
    await this.checkFiles();
    await this.checkProcesses();
    await until("the server's sockets to be gone", () => !existsSync(this.wsh.instance.httpSocket));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { viewer } of this.sessions) viewer?.[Symbol.dispose]();
    this.bridge?.[Symbol.dispose]();
    await this.wsh[Symbol.asyncDispose]();
  }
}

/** Expected screen of a person's terminal of that width: strips, the program's screen, boxes above it. */
function compose(known: Known, screen: readonly string[], cols: number): string[] {
  const strip = ({ text }: Strip): string => text.slice(0, cols);
  // The newest is nearest the edge.
  const top = known.panels.filter(({ position }) => position === "top").map(strip);
  const bottom = known.panels.filter(({ position }) => position === "bottom").map(strip);
  const rows = [...top.reverse(), ...screen, ...bottom];
  for (const { x, y, text } of known.overlays) {
    const row = rows[y];
    if (row === undefined || x >= cols) continue;
    rows[y] = (row.padEnd(x).slice(0, x) + text + row.slice(x + text.length)).slice(0, cols);
  }
  return rows.map((row) => row.trimEnd());
}

function filesOf(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory).sort() : [];
}
