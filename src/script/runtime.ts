/**
 * The modules `wsh` and `wsh/test` of scripts and tests, and the runner of scripts. Bundled into one file (bundles.ts)
 * that the Bun in the executable reads from the state directory: it may import only bundled code and Bun's own modules.
 * It receives its orders in one variable, which the script's own programs do not inherit.
 */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { connect, type WshClient, WshError } from "../client/client.ts";
import { type Call, language, TerminalFailure } from "../client/terminal/language.ts";
import { printedText } from "../client/terminal/printing.ts";
import { besidePanes } from "./beside-panes.ts";
import { ORDERS_VARIABLE, type Orders, type ScriptOrders } from "./runner-input.ts";
import { testModule } from "./testing.ts";
import { Trace } from "./trace.ts";

/** Interval between checks whether the `wsh` that started this process was killed, in ms: it cannot report that. */
const PARENT_MS = 500;
/** Maximum stack frames of a failure that a message shows after its line. */
const MAX_FRAMES = 3;

const orders: Orders = JSON.parse(process.env[ORDERS_VARIABLE] ?? "{}");
// Workers of the test runner start with the environment of its first process.
if (process.env.BUN_TEST_WORKER_ID !== undefined || orders.kind === "script") delete process.env[ORDERS_VARIABLE];
if (orders.kind === "script") hideBun();

let client: Promise<WshClient> | null = null;
function connected(): Promise<WshClient> {
  client ??= connect({ socket: orders.socket });
  return client;
}
const call: Call = async (name, input, session) => {
  const server = await connected();
  // Operations of the server take no session.
  return session === undefined
    ? server.call(name as "sessions.list", input as never)
    : server.call(name, input, session);
};

const trace =
  orders.kind === "script" && orders.trace === undefined
    ? null
    : new Trace(async (...given) => (await connected()).subscribe(...given));
const shownTerminals = orders.beside === undefined ? null : besidePanes(call, orders.beside);
const wsh = language(call, {
  openDefaults: { cwd: process.cwd() },
  doubt: (text) => console.error(`warning: ${text}`),
  ...(trace === null ? {} : { watch: trace.watch }),
  ...(shownTerminals === null ? {} : { opened: shownTerminals.show }),
});
const { open, sessions } = wsh;
const exported = { default: wsh, wsh, open, sessions, TerminalFailure };

Bun.plugin({
  name: "wsh",
  setup(build) {
    build.module("wsh", () => ({ exports: exported, loader: "object" }));
    build.module("wsh/test", async () => ({
      exports: { ...exported, ...(await testModule(wsh, orders, trace)) },
      loader: "object",
    }));
  },
});

/** Programs of a script, `wsh` too, must not run as Bun; Bun.spawn inherits the environment of the start otherwise. */
function hideBun(): void {
  delete process.env.BUN_BE_BUN;
  const { spawn, spawnSync } = Bun;
  type Given = [argv: string[] | Record<string, unknown>, options?: Record<string, unknown>];
  const inheriting =
    (run: (...given: never[]) => unknown) =>
    (...[argv, options]: Given): unknown =>
      Array.isArray(argv)
        ? run(...([argv, { env: process.env, ...options }] as never[]))
        : run(...([{ env: process.env, ...argv }] as never[]));
  Object.assign(Bun, { spawn: inheriting(spawn), spawnSync: inheriting(spawnSync) });
}

if (orders.kind === "script") await runScript(orders);
else {
  const { afterAll } = await import("bun:test");
  afterAll(async () => {
    // The runner leaves a test at its time limit, and at a failure that nothing awaits, without its end.
    await wsh.closeAll().catch(() => {});
  });
  onSignal((_, number) => void wsh.closeAll().finally(() => process.exit(128 + number)));
}

/** Runs the script to its end. A failure is printed with its line, and the process exits with 1. */
async function runScript({ file, code, args, trace: traceFile }: ScriptOrders): Promise<void> {
  // The sandbox has it too, so that a program runs in both.
  const print = (...values: unknown[]): void => console.log(values.map(printedText).join(" "));
  Object.assign(globalThis, { wsh, open, print });
  try {
    if (traceFile !== undefined) trace?.claim(traceFile);
  } catch (thrown) {
    console.error(traceError(thrown));
    process.exit(1);
  }
  process.argv = [process.argv[0] ?? "", file ?? "-", ...args];
  // Code without a file gets a temporary one, so that failures name its lines.
  const directory = code === undefined ? null : fs.mkdtempSync(join(os.tmpdir(), "wsh-script-"));
  const path = directory === null ? (file ?? "") : join(directory, "script.ts");
  if (code !== undefined) fs.writeFileSync(path, code);
  /** The first failure, or null at the script's end. */
  const first = Promise.withResolvers<{ readonly thrown: unknown } | null>();
  const fail = (thrown: unknown): void => first.resolve({ thrown });
  // Failures of steps that the script does not await, and failures in its timers.
  process.on("unhandledRejection", fail);
  process.on("uncaughtException", fail);
  let signal: number | null = null;
  onSignal((name, number) => {
    signal = number;
    fail(new Error(`ended by ${name}`));
  });
  import(path).then(() => setImmediate(() => first.resolve(null)), fail);
  const failure = await first.promise;
  if (failure !== null && signal === null) console.error(describeError(failure.thrown, path, file === undefined));
  if (directory !== null) fs.rmSync(directory, { recursive: true, force: true });
  let isTraced = true;
  if (traceFile !== undefined)
    await trace?.save(traceFile, failure === null ? null : failure.thrown).catch((thrown) => {
      isTraced = false;
      console.error(traceError(thrown));
    });
  await shownTerminals?.close();
  await wsh.closeAll().catch(({ message }) => console.error(`${message}: end with wsh kill NAME`));
  (await client?.catch(() => null))?.close();
  process.exit(signal !== null ? 128 + signal : failure === null && isTraced ? (process.exitCode ?? 0) : 1);
}

function traceError(thrown: unknown): string {
  return `the trace cannot be written: ${thrown instanceof Error ? thrown.message : thrown}`;
}

/**
 * Calls back with the first signal that would end this process, unless the program handles that signal itself; with
 * SIGHUP when its parent is gone.
 */
function onSignal(listener: (name: string, number: number) => void): void {
  const parent = process.ppid;
  const parentCheck = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(parentCheck);
    listener("SIGHUP", os.constants.signals.SIGHUP);
  }, PARENT_MS);
  parentCheck.unref();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    const handle = (): void => {
      if (process.listenerCount(name) > 1) return;
      // A second signal ends it at once.
      process.off(name, handle);
      listener(name, os.constants.signals[name]);
    };
    process.on(name, handle);
  }
}

/** Formats an error: the line of the script, then the failure, then the calling lines. */
function describeError(thrown: unknown, path: string, isUnnamed: boolean): string {
  const isOurs = thrown instanceof TerminalFailure || thrown instanceof WshError;
  const placed = (file: string, row: number | string) =>
    isUnnamed && file === path ? `line ${row}` : `${file}:${row}`;
  const faults = thrown instanceof AggregateError ? thrown.errors : [thrown];
  if (faults[0] instanceof BuildMessage || faults[0] instanceof ResolveMessage) {
    const lines = faults.map(
      ({ message, position: at }) => `${at === null ? "" : `${placed(at.file, at.line)}: `}${message}`,
    );
    return lines.join("\n");
  }
  if (!(thrown instanceof Error)) return `the program threw ${printedText(thrown)}`;
  const stack = thrown.stack ?? "";
  const frames = stack.split("\n").filter((line) => /^\s*at /.test(line) && line.includes(`${path}:`));
  const [first, ...rest] = frames.map((frame) => {
    const [, row = ""] = /:(\d+):\d+\)?$/.exec(frame) ?? [];
    return placed(path, row);
  });
  const callers = rest.slice(0, MAX_FRAMES).map((place) => `\n  called at ${place}`);
  const name = isOurs ? "" : `${thrown.name}: `;
  return `${first === undefined ? "" : `${first}: `}${name}${thrown.message}${callers.join("")}`;
}
