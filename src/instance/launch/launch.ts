/**
 * Starting a host or a server as a process that outlives its starter: own process session, cwd `/`, stderr in a log
 * of the state directory. What it must know goes in on stdin (a host's spec) or by environment (a token: arguments are
 * visible to everyone); what came of it comes out as exactly one JSON line on stdout, `{"ok":true,…}` or
 * `{"error":{…}}`, after which the child turns stdin and stdout into /dev/null (reportReady). A child that dies or is
 * silent for too long is an error with the end of its log; a silent one is killed first.
 */

import fs from "node:fs";
import { resolve } from "node:path";
import { orUntil } from "../../base/deadline.ts";
import { detachStdio } from "../../platform/descriptors.ts";
import { nofileVariable, originalNofile } from "../../platform/inherited-file-limit.ts";
import { type ErrorCode, WshError } from "../../protocol/errors.ts";
import { withLock } from "../lock.ts";
import { openLogFile } from "../log/log.ts";
import { checkRuntimeDir, type Instance, prepareRuntimeDir, prepareStateDir } from "../paths.ts";
import { probeSocket } from "../registry/socket-probe.ts";

/** How long a child may take to report, in ms: five hundred times what a host needs, for a machine under load. */
const readyTimeoutMs = 10_000;
/** Longest report, in bytes; a longer one is not a report. */
const longestReport = 1024 * 1024;
/** How much of a dead child's log an error repeats, in bytes. */
const logTailBytes = 2_000;

export type ReadyReport = Readonly<Record<string, unknown>>;

export interface SpawnOptions {
  /** The child's environment; this process's when absent. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Milliseconds until the child must have reported; 10000 when absent. For a server, waiting for a lock included. */
  readonly timeoutMs?: number;
  /** Makes the command from its arguments; selfCommand when absent. */
  readonly command?: (args: readonly string[]) => string[];
}

export interface ServerOptions extends SpawnOptions {
  /** TCP address to listen on; none when absent. */
  readonly bind?: string | undefined;
  /** Replaces the instance's token for this run. */
  readonly token?: string | undefined;
  /** Further arguments of `wsh server`. */
  readonly args?: readonly string[];
}

/** The command that runs this very program with other arguments: the binary, or bun and main.ts in development. */
export function selfCommand(args: readonly string[]): string[] {
  const isCompiled = import.meta.dir.startsWith("/$bunfs/");
  // The binary may have been replaced since we started; the kernel still has ours.
  const executable = fs.existsSync(process.execPath) ? process.execPath : "/proc/self/exe";
  return isCompiled ? [executable, ...args] : [executable, resolve(import.meta.dir, "../../main.ts"), ...args];
}

/**
 * Starts a session's host and returns its report without `ok`. The spec reaches the host as JSON on stdin.
 * Throws the host's own error, or session_create_failed when it died or did not report.
 */
export async function startHost(instance: Instance, spec: unknown, options: SpawnOptions = {}): Promise<ReadyReport> {
  return launch({
    command: (options.command ?? selfCommand)(["host"]),
    env: childEnv(instance, options),
    stdin: JSON.stringify(spec),
    log: openLog(instance, instance.hostLog),
    timeoutMs: options.timeoutMs ?? readyTimeoutMs,
    failure: "session_create_failed",
    what: "the session process",
  });
}

/**
 * Makes sure that the instance has a server: connects, or starts an ephemeral one. Of many callers at once one starts
 * it and the others wait. `report` is null when a server was there already (readServerInfo tells about it).
 * Throws the server's own error, or server_unavailable when it died or did not report.
 */
export async function startServer(
  instance: Instance,
  options: ServerOptions = {},
): Promise<{ started: boolean; report: ReadyReport | null }> {
  if (checkRuntimeDir(instance) && isServerAlive(instance)) return { started: false, report: null };
  prepareRuntimeDir(instance);
  const timeoutMs = options.timeoutMs ?? readyTimeoutMs;
  const deadline = performance.now() + timeoutMs;
  return withLock(
    instance.startLockFile,
    async () => {
      if (isServerAlive(instance)) return { started: false, report: null };
      try {
        const report = await launchServer(instance, options, Math.max(1, deadline - performance.now()));
        return { started: true, report };
      } catch (error) {
        // `wsh server` by hand takes no start lock and may have been quicker.
        if (error instanceof WshError && error.code === "server_already_running" && isServerAlive(instance)) {
          return { started: false, report: null };
        }
        throw error;
      }
    },
    { timeoutMs },
  );
}

/** In the child: sends the one report, then lets go of stdin and stdout. */
export function reportReady(report: ReadyReport): void {
  try {
    fs.writeSync(1, `${JSON.stringify({ ok: true, ...report })}\n`);
  } finally {
    detachStdio(); // a starter that has gone away meanwhile is no reason to fail
  }
}

/** In the child: reports why it cannot run. The caller ends the process. */
export function reportFailure(error: unknown): void {
  fs.writeSync(1, `${JSON.stringify({ error: WshError.from(error).toBody() })}\n`);
}

function isServerAlive(instance: Instance): boolean {
  return probeSocket(instance.httpSocket) === "alive";
}

function launchServer(instance: Instance, options: ServerOptions, timeoutMs: number): Promise<ReadyReport> {
  const args = ["server", "--report", "--ephemeral", "--socket", instance.httpSocket];
  args.push("--bind", options.bind ?? "none");
  const env = childEnv(instance, options);
  if (options.token !== undefined) env.WSH_TOKEN = options.token;
  const nofile = originalNofile();
  if (nofile !== null) env[nofileVariable] = String(nofile);
  return launch({
    command: (options.command ?? selfCommand)([...args, ...(options.args ?? [])]),
    env,
    stdin: "",
    log: openLog(instance, instance.serverLog),
    timeoutMs,
    failure: "server_unavailable",
    what: "the server",
  });
}

/** The child's environment. A configuration that was named relative to our directory is named in full: its cwd is `/`. */
function childEnv(instance: Instance, options: SpawnOptions): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.env ?? process.env)) if (value !== undefined) env[name] = value;
  if (instance.configNamed) env.WSH_CONFIG = instance.configFile;
  return env;
}

/** Where a child's stderr goes, and how long the log was before. null where no log can be written: it must not matter. */
interface ChildLog {
  readonly fd: number;
  readonly path: string;
  readonly from: number;
}

function openLog(instance: Instance, path: string): ChildLog | null {
  try {
    prepareStateDir(instance);
    const fd = openLogFile(path);
    return { fd, path, from: fs.fstatSync(fd).size };
  } catch {
    return null;
  }
}

interface Launch {
  readonly command: string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly log: ChildLog | null;
  readonly timeoutMs: number;
  readonly failure: ErrorCode;
  readonly what: string;
}

async function launch({ command, env, stdin, log, timeoutMs, failure, what }: Launch): Promise<ReadyReport> {
  let child: Bun.Subprocess<"pipe", "pipe", number | "ignore">;
  try {
    child = Bun.spawn({
      cmd: command,
      cwd: "/",
      env,
      // Not the bytes themselves: those would stay in a descriptor of ours until some garbage collection.
      stdin: "pipe",
      stdout: "pipe",
      stderr: log?.fd ?? "ignore",
      detached: true,
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WshError(failure, `${what} could not be started: ${reason}`, {}, { cause: error });
  } finally {
    if (log !== null) fs.closeSync(log.fd);
  }
  child.unref();
  void feed(child.stdin, stdin);

  const deadline = performance.now() + timeoutMs;
  const line = await orUntil<{ text: string } | null | "silent">(
    firstLine(child.stdout),
    { ms: timeoutMs },
    () => "silent",
  );
  if (line === "silent") {
    child.kill("SIGKILL");
    throw new WshError(failure, `${what} did not report within ${timeoutMs} ms${tail(log)}`);
  }
  if (line === null) {
    await orUntil<unknown>(child.exited, { ms: deadline - performance.now() }, () => {});
    throw new WshError(failure, `${what} ${ending(child)} before it was ready${tail(log)}`);
  }
  return readReport(line.text, failure, what);
}

async function feed(sink: Bun.FileSink, text: string): Promise<void> {
  try {
    sink.write(text);
    await sink.end();
  } catch {
    // A child that ends without reading says why in its report.
  }
}

/** The text up to the first newline, null when the stream ends without one. */
async function firstLine(stream: ReadableStream<Uint8Array>): Promise<{ text: string } | null> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let text = "";
  try {
    while (text.length < longestReport) {
      const { value, done } = await reader.read();
      if (done) return null;
      text += decoder.decode(value, { stream: true });
      const end = text.indexOf("\n");
      if (end !== -1) return { text: text.slice(0, end) };
    }
    return { text };
  } finally {
    // Not awaited: the child may keep the pipe for a moment longer.
    reader.cancel().catch(() => undefined);
  }
}

function readReport(line: string, failure: ErrorCode, what: string): ReadyReport {
  let report: unknown;
  try {
    report = JSON.parse(line);
  } catch (error) {
    throw new WshError(failure, `${what} reported ${JSON.stringify(line.slice(0, 200))}`, {}, { cause: error });
  }
  if (isObject(report)) {
    if (isObject(report.error)) throw WshError.fromBody(report.error);
    const { ok, ...rest } = report;
    if (ok === true) return rest;
  }
  throw new WshError(failure, `${what} reported ${JSON.stringify(line.slice(0, 200))}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function ending(child: Bun.Subprocess): string {
  if (child.signalCode !== null) return `was ended by ${child.signalCode}`;
  return child.exitCode === null ? "closed its report" : `exited with ${child.exitCode}`;
}

/** What a child wrote to its log, at most its end, as the continuation of a message. */
function tail(log: ChildLog | null): string {
  if (log === null) return "";
  let fd: number | null = null;
  try {
    fd = fs.openSync(log.path, "r");
    const size = fs.fstatSync(fd).size;
    const start = Math.max(log.from, size - logTailBytes);
    const bytes = Buffer.alloc(Math.max(0, size - start));
    const text = bytes.toString("utf8", 0, fs.readSync(fd, bytes, 0, bytes.length, start)).trim();
    return text === "" ? `; see ${log.path}` : `:\n${text}`;
  } catch {
    return "";
  } finally {
    if (fd !== null) fs.closeSync(fd);
  }
}
