/** The backend of tmux commands in wsh: an instance's sessions through their processes, and data about the caller. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import * as v from "valibot";
import { SetHooks } from "../../events/set-hooks.ts";
import { hostname } from "../../instance/hostname.ts";
import type { Instance } from "../../instance/paths.ts";
import { selfCommand } from "../../launch/launch.ts";
import { sessionSpecOf, startSessionProcess } from "../../launch/session-process.ts";
import type { OperationOutput } from "../../operations/table.ts";
import { agentAt } from "../../platform/agent-above.ts";
import { isAlive } from "../../platform/alive.ts";
import { actingFor } from "../../platform/child-limits.ts";
import { present } from "../../protocol/defined.ts";
import { isSameOwner, ownerOf, requireNoAgent } from "../../protocol/owner.ts";
import { PaneTerminalSchema } from "../../protocol/pane-terminal.ts";
import { type SessionInfo, SessionInfoSchema } from "../../protocol/session.ts";
import { prefixKeyOf } from "../../settings/prefix-key.ts";
import { loadSettings } from "../../settings/settings.ts";
import { quote, shellText } from "../../shell/quoting.ts";
import { type Backend, TMUX_VERSION } from "../backend.ts";
import { optionPrefix } from "../bindings/key-names.ts";
import { TmuxError } from "../error.ts";
import { jobEnvironment } from "./jobs.ts";
import { carryPipe, PIPE } from "./pipe.ts";
import { Sessions } from "./sessions.ts";
import { StateFile } from "./state-file.ts";

/** Maximum hooks of events per minute, and the longest run of each, in seconds. */
const EVENTS_A_MINUTE = 600;
const EVENT_SECONDS = 60;

/** Maximum bytes that a command reads from a file or a standard input. */
export const MOST_INPUT_BYTES = 64 * 1024 * 1024;
/** Maximum characters of output that `run-shell` prints, and of a line in a format. */
const MOST_OUTPUT = 16 * 1024 * 1024;
const MOST_LINE = 64 * 1024;
/**
 * Longest wait for that line, and then for its command's end, in ms; afterwards the command's process group is ended.
 */
const LINE_PATIENCE_MS = 2_000;
const LINE_GRACE_MS = 50;

/** Whatever PATH the commands have. */
const SHELL = "/bin/sh";

/** The caller, and the functions that answer it. */
export interface ClientSide
  extends Pick<
    Backend,
    "env" | "cwd" | "caller" | "pane" | "hasTerminal" | "isByKey" | "socketPath" | "print" | "complain"
  > {
  /** Reads the caller's standard input to the end. */
  input(): Promise<Uint8Array>;
  /** Shows a session at the caller's terminal: `wsh ARGS`. @returns the exit status */
  attach(args: readonly string[]): Promise<number>;
  /** Rejects when the caller is gone; absent if the caller is this process. */
  readonly callerGone?: Promise<never>;
}

export type InstanceBackend = Backend & { readonly sessionsOf: Sessions } & Disposable;

export function backendOf(
  instance: Instance,
  client: ClientSide,
  agent: string | null = agentAt(client.caller),
): InstanceBackend {
  const state = new StateFile(instance);
  const sessions = new Sessions(instance, client.caller, agent, (message) => void client.complain(message));
  const instanceOptions = ["--socket", instance.httpSocket];
  const self = (...args: readonly string[]): string =>
    selfCommand([...args])
      .map(quote)
      .join(" ");
  const { uid, username } = os.userInfo();
  const { env, cwd, caller, pane, hasTerminal, isByKey = false, socketPath, print, complain } = client;
  // A program that a session's process starts for an agent acts for that agent.
  const jobPlace = async (): Promise<Surroundings> => {
    const { environment, environments } = state.read();
    const own = Object.keys(environments).length === 0 ? undefined : await sessions.sessionAround(pane);
    // What an agent has set in its session reaches no program that a person's command starts.
    const isOthers = agent === null && own?.owner?.kind === "agent";
    const variables = { ...environment, ...(own === undefined || isOthers ? {} : environments[own.id]) };
    return { env: { ...jobEnvironment(instance, client, variables), ...present({ WSH_AGENT: agent }) }, cwd };
  };
  /** Variables that the text unsets remain set in the surrounding shell. */
  const shellFor = (text: string): string[] =>
    agent === null ? [SHELL, "-c", text] : [SHELL, "-c", `${SHELL} -c "$1"; exit $?`, "sh", text];
  const run = async (text: string) => {
    const place = await jobPlace();
    return actingFor(agent ?? undefined, () =>
      Bun.spawn(shellFor(text), { ...place, stdin: "ignore", stdout: "pipe", stderr: "ignore", detached: true }),
    );
  };
  return {
    env,
    cwd,
    caller,
    pane,
    hasTerminal,
    isByKey,
    socketPath,
    print,
    complain,
    version: TMUX_VERSION,
    hostname: hostname(""),
    account: { uid, name: username },
    pid: process.pid,
    control: null,
    agent,
    withAgent: (other) => backendOf(instance, client, other),
    sessionsOf: sessions,

    sessions: () => sessions.list(),
    async call(operation, input, target) {
      return (await sessions.call(operation, input, target)) as OperationOutput<typeof operation>;
    },
    terminal: async (pane) => v.parse(PaneTerminalSchema, await sessions.call("peer.terminal", {}, pane)),
    async create({ rows, cols, ...session }) {
      const create = { ...session, rows, cols, shell: null, tags: [] };
      // An absolute directory is enough: the caller's own may have been deleted.
      const started = create.cwd !== null && isAbsolute(create.cwd) ? create.cwd : cwd;
      const owner = ownerOf(sessions.context.caller);
      const starter = { starter: "cli", naming: "number", owner, env, cwd: started } as const;
      const { info } = v.parse(
        ReportSchema,
        await startSessionProcess(instance, sessionSpecOf(instance, create, starter), { env }),
      );
      return info;
    },
    async kill(target) {
      await sessions.call("session.kill", {}, target);
    },
    attach: ({ id }, { readOnly }) =>
      client.attach(["attach", ...instanceOptions, ...(readOnly ? ["--read-only"] : []), id]),

    readState: () => state.read(),
    changeState: (change) => state.change(change),
    stateChange: () =>
      client.callerGone === undefined ? state.changed() : Promise.race([state.changed(), client.callerGone]),

    runAtEvents(events) {
      const run = ["sh", "-c", `exec ${self(...instanceOptions, "tmux")} set-hook -R wsh-event`];
      // In the order in which the events happen.
      const hook = { event: [...events], run, at_once: 1, a_minute: EVENTS_A_MINUTE, timeout_seconds: EVENT_SECONDS };
      new SetHooks(instance).hooks = events.length === 0 ? [] : [hook];
    },

    requirePerson(command) {
      // Only the file counts: an agent controls the environment of the programs that it starts.
      const { values } = loadSettings(instance, { env: {}, tolerant: true });
      requireNoAgent(values, sessions.context.caller, command);
    },
    async requireOwnSessions(command) {
      const own = ownerOf(sessions.context.caller);
      if (agent === null) return;
      const { infos, isComplete } = await sessions.list();
      const isOwn = ({ owner }: SessionInfo): boolean => owner !== undefined && isSameOwner(owner, own);
      if (!isComplete || !infos.every(isOwn)) this.requirePerson(command);
    },
    async requireOwn(target, command) {
      const op = /^@[sw]/.test(target) ? (target.startsWith("@s") ? "session.update" : "window.update") : "pane.update";
      if (agent !== null) await sessions.call("peer.leave", { op, input: { tmux: command } }, target);
    },
    async requireAll(op, input, targets) {
      if (agent === null) return;
      for (const target of targets) await sessions.call("peer.leave", { op, input, ahead: true }, target);
    },
    async keysChanged() {
      const { infos } = await sessions.list();
      await Promise.all(infos.map(({ id }) => sessions.call("peer.reload", {}, id).catch(() => {})));
    },
    keySettings() {
      const settings = loadSettings(instance, { env: process.env, tolerant: true });
      const isPreset = settings.values.prefix_preset === "tmux";
      const { prefix } = state.read().session;
      return {
        prefix: prefix === undefined ? prefixKeyOf(settings) : optionPrefix(prefix),
        isPreset,
        configured: settings.keys,
      };
    },

    async shell(command) {
      const child = await run(command);
      const output = await textOf(child.stdout, (text) => text.length >= MOST_OUTPUT);
      return { code: await child.exited, output };
    },
    async shellLine(command) {
      const child = await run(command);
      const text = textOf(child.stdout, (read) => read.includes("\n") || read.length >= MOST_LINE);
      const late = Promise.withResolvers<string>();
      const timer = setTimeout(() => late.resolve(`<'${command}' not ready>`), LINE_PATIENCE_MS);
      const [line = ""] = (await Promise.race([text, late.promise])).split("\n");
      clearTimeout(timer);
      await Promise.race([child.exited, Bun.sleep(LINE_GRACE_MS)]);
      if (child.exitCode === null && child.signalCode === null) signal(-child.pid);
      return line;
    },
    async spawn(command, input) {
      const { stdin } = background(shellFor(command), await jobPlace(), input === undefined ? {} : { stdin: "pipe" });
      if (stdin === null) return;
      // A command may end without reading it.
      stdin.on("error", () => {});
      await Promise.race([new Promise<void>((resolve) => stdin.end(input, () => resolve())), once(stdin, "close")]);
    },
    self: `${self(...instanceOptions, "tmux")}`,
    shellText,
    isAlive,
    end(pid) {
      if (pid > 1) signal(pid);
    },
    async pipe(pane, command, ways) {
      const [shell, given] = [
        `exec ${self(...instanceOptions, "tmux", "pipe-pane")}`,
        JSON.stringify({ pane, command, ...ways }),
      ];
      const place = await jobPlace();
      const child = background(
        ["sh", "-c", shell],
        { ...place, env: { ...place.env, [PIPE]: given } },
        { stdout: "pipe" },
      );
      const { stdout } = child;
      const first = stdout === null ? [] : await Promise.race([once(stdout, "data"), once(stdout, "close")]);
      stdout?.destroy();
      if (!Buffer.isBuffer(first[0])) throw new TmuxError("pipe failed: the pane's program has ended");
      return child.pid ?? 0;
    },
    carryPipe: () => carryPipe({ sessions, state }, env, cwd),
    sleep: (ms) => Bun.sleep(ms),
    isDirectory: (path) => fs.statSync(resolve(cwd, path), { throwIfNoEntry: false })?.isDirectory() === true,
    async shownInput() {
      const file = join(fs.mkdtempSync(join(os.tmpdir(), "wsh-tmux-")), "input");
      await fs.promises.writeFile(file, await client.input(), { mode: 0o600 });
      return `cat ${quote(file)}; rm -r ${quote(dirname(file))}`;
    },
    async readFile(path) {
      if (path === "-") return client.input();
      try {
        return await boundedFile(resolve(cwd, path));
      } catch (thrown) {
        throw fileFault(path, thrown);
      }
    },
    async writeFile(path, data, append) {
      try {
        await fs.promises.writeFile(resolve(cwd, path), data, { flag: append ? "a" : "w" });
      } catch (thrown) {
        throw fileFault(path, thrown);
      }
    },
    [Symbol.dispose]: () => sessions[Symbol.dispose](),
  };
}

const ReportSchema = v.object({ info: SessionInfoSchema });

/** Reads until the output is enough, then closes the stream, so that the writer learns of it. */
async function textOf(stream: ReadableStream<Uint8Array>, isEnough: (text: string) => boolean): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    if (isEnough(text)) break;
  }
  return text;
}

/** @throws TmuxError for a file or device larger than the limit */
async function boundedFile(path: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of fs.createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MOST_INPUT_BYTES) throw new TmuxError(`${path}: File too large`);
  }
  return Buffer.concat(parts);
}

interface Surroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** Starts shell text that outlives this process. @returns the process id, which leads a process group */
function background(
  [shell = SHELL, ...words]: readonly string[],
  place: Surroundings,
  { stdin = "ignore", stdout = "ignore" }: { readonly stdin?: "ignore" | "pipe"; readonly stdout?: "ignore" | "pipe" },
): ChildProcess {
  const child = actingFor(place.env.WSH_AGENT, () =>
    spawn(shell, words, { ...place, detached: true, stdio: [stdin, stdout, "ignore"] }),
  );
  child.on("error", () => {});
  child.unref();
  return child;
}

/** @param pid a negative number means a process group */
function signal(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // The process has ended.
  }
}

function fileFault(path: string, thrown: unknown): TmuxError {
  if (thrown instanceof TmuxError) return thrown;
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "No such file or directory",
    EACCES: "Permission denied",
    EISDIR: "Is a directory",
  };
  return new TmuxError(`${path}: ${reasons[code] ?? code}`);
}
