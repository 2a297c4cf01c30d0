/**
 * Starts a process of ours that outlives its starter: own process session, cwd `/`, stderr in a log in the state
 * directory. Its input comes on stdin (session-process.ts) or by environment (a token: arguments are visible to
 * everyone); its result is exactly one JSON line on stdout, `{"ok":true,…}` or `{"error":{…}}` (report.ts). A child
 * that dies, or is silent for too long and is then killed, gives an error with the end of its log.
 */

import fs from "node:fs";
import { resolve } from "node:path";
import { orUntil } from "../base/deadline.ts";
import { type Instance, prepareStateDir } from "../instance/paths.ts";
import { openLogFile } from "../log/log.ts";
import { withoutMarks } from "../platform/marked-processes.ts";
import { givesOtherCode } from "../platform/other-code.ts";
import { type ErrorCode, WshError } from "../protocol/errors.ts";
import { isRecord } from "../protocol/json.ts";
import { ownProgram } from "./own-program.ts";

/** Time within which a child must report, in ms: 500 times a session process's start, for a loaded machine. */
export const readyTimeoutMs = 10_000;
/** Longest report, in bytes. */
const longestReport = 1024 * 1024;
/** Part of a dead child's log that an error quotes, in bytes. */
const logTailBytes = 2_000;

export type ReadyReport = Readonly<Record<string, unknown>>;

export interface SpawnOptions {
  /** The child's environment; this process's when absent. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Time within which the child must report, in ms, default 10000. For a server, this includes waiting for a lock. */
  readonly timeoutMs?: number;
  /** Makes the command from its arguments; default selfCommand. */
  readonly command?: (args: readonly string[]) => string[];
}

/** Whether this is the executable, not its source. */
const isCompiled = import.meta.dir.startsWith("/$bunfs/");

/** Returns the command that runs this program with other arguments: the binary, or bun and main.ts in development. */
export function selfCommand(args: readonly string[]): string[] {
  const own = ownProgram();
  return isCompiled ? [own, ...args] : [own, resolve(import.meta.dir, "../main.ts"), ...args];
}

/** Returns the child's environment. A relative path of a configuration is made absolute: the child's cwd is `/`. */
export function childEnv(instance: Instance, options: SpawnOptions): Record<string, string> {
  const env: Record<string, string> = {};
  // Tests of the source give it other code.
  const isPassed = (name: string): boolean => !isCompiled || !givesOtherCode(name);
  for (const [name, value] of Object.entries(options.env ?? process.env))
    if (value !== undefined && isPassed(name)) env[name] = value;
  if (instance.configNamed) env.WSH_CONFIG = instance.configFile;
  return env;
}

/** Log of a child's stderr, and its earlier length. Null if no log can be written; the child starts all the same. */
interface ChildLog {
  readonly fd: number;
  readonly path: string;
  readonly from: number;
}

export function openLog(instance: Instance, path: string): ChildLog | null {
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

export function launch({ command, env, stdin, log, timeoutMs, failure, what }: Launch): Promise<ReadyReport> {
  let child: Bun.Subprocess<"pipe", "pipe", number | "ignore">;
  try {
    child = Bun.spawn({
      cmd: command,
      cwd: "/",
      env: withoutMarks(env),
      // A pipe instead of the bytes: Bun would keep those in a descriptor of ours until some garbage collection.
      stdin: "pipe",
      stdout: "pipe",
      stderr: log?.fd ?? "ignore",
      detached: true,
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const isGone = command[0] === process.execPath && !fs.existsSync(process.execPath);
    const details = isGone
      ? { hint: "The wsh executable was replaced or removed, as by an upgrade: start wsh again." }
      : {};
    throw new WshError(failure, `${what} could not be started: ${reason}`, details, { cause: error });
  } finally {
    if (log !== null) fs.closeSync(log.fd);
  }
  child.unref();
  return report(child, stdin, { log, timeoutMs, failure, what });
}

async function report(
  child: Bun.Subprocess<"pipe", "pipe", number | "ignore">,
  stdin: string,
  { log, timeoutMs, failure, what }: Pick<Launch, "log" | "timeoutMs" | "failure" | "what">,
): Promise<ReadyReport> {
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
    // A child that ends without reading reports the reason.
  }
}

/** Returns the text up to the first newline, null when the stream ends without one. */
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
    // Not awaited: the child may keep the pipe open for a moment.
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
  if (isRecord(report)) {
    if (isRecord(report.error)) throw WshError.fromBody(report.error);
    const { ok, ...rest } = report;
    if (ok === true) return rest;
  }
  throw new WshError(failure, `${what} reported ${JSON.stringify(line.slice(0, 200))}`);
}

function ending(child: Bun.Subprocess): string {
  if (child.signalCode !== null) return `was ended by ${child.signalCode}`;
  return child.exitCode === null ? "closed its report" : `exited with ${child.exitCode}`;
}

/** Returns the end of a child's log, as the continuation of a message. */
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
