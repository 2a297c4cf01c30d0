/**
 * The modules `wsh` and `wsh/test` of scripts and tests, and the runner of scripts. Bundled into one file (bundles.ts)
 * that the Bun in the executable reads from the state directory: it may import only bundled code and Bun's own modules.
 * It receives its orders in one variable, which the script's own programs do not inherit.
 */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { connect, type WshClient, WshError } from "../client/client.ts";
import { printedText } from "../client/terminal/brief.ts";
import { type Call, language, TerminalFailure } from "../client/terminal/language.ts";
import { besides } from "./beside-panes.ts";
import { ORDERS_VARIABLE, type Orders, type ScriptOrders } from "./orders.ts";
import { testModule } from "./testing.ts";
import { Trace } from "./trace.ts";

const orders: Orders = JSON.parse(process.env[ORDERS_VARIABLE] ?? "{}");
// Workers of the test runner start with the environment of its first process.
if (process.env.BUN_TEST_WORKER_ID !== undefined || orders.kind === "script") delete process.env[ORDERS_VARIABLE];
if (orders.kind === "script") delete process.env.BUN_BE_BUN;

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
const shown = orders.beside === undefined ? null : besides(call, orders.beside);
const wsh = language(call, {
  made: { cwd: process.cwd() },
  doubt: (text) => console.error(`warning: ${text}`),
  ...(trace === null ? {} : { watch: trace.watch }),
  ...(shown === null ? {} : { opened: shown.opened }),
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

if (orders.kind === "script") await runScript(orders);

/** Runs the script to its end. A failure is printed with its line, and the process exits with 1. */
async function runScript({ file, code, args, trace: traceFile }: ScriptOrders): Promise<void> {
  // The sandbox has it too, so that a program runs in both.
  const print = (...values: unknown[]): void => console.log(values.map(printedText).join(" "));
  Object.assign(globalThis, { wsh, open, print });
  process.argv = [process.argv[0] ?? "", file ?? "-", ...args];
  // Code without a file gets a temporary one, so that failures name its lines.
  const directory = code === undefined ? null : fs.mkdtempSync(join(os.tmpdir(), "wsh-script-"));
  const path = directory === null ? (file ?? "") : join(directory, "script.ts");
  if (code !== undefined) fs.writeFileSync(path, code);
  let failure: unknown = null;
  const failed = (thrown: unknown): void => {
    failure ??= thrown ?? new Error("the script threw nothing");
  };
  // Failures of steps that the script does not await.
  process.on("unhandledRejection", failed);
  try {
    await import(path);
  } catch (thrown) {
    failed(thrown);
  }
  if (failure !== null) console.error(describeError(failure, path, file === undefined));
  if (directory !== null) fs.rmSync(directory, { recursive: true, force: true });
  if (traceFile !== undefined) await trace?.save(traceFile, failure);
  await shown?.close();
  await wsh.closeAll().catch(() => {});
  (await client?.catch(() => null))?.close();
  process.exit(failure === null ? (process.exitCode ?? 0) : 1);
}

/** The line of the script, then the failure. */
function describeError(thrown: unknown, path: string, isUnnamed: boolean): string {
  if (!(thrown instanceof TerminalFailure || thrown instanceof WshError))
    return Bun.inspect(thrown, { colors: process.stderr.isTTY });
  const frame = (thrown.stack ?? "").split("\n").find((line) => /^\s*at /.test(line) && line.includes(`${path}:`));
  const [, row] = /:(\d+):\d+\)?$/.exec(frame ?? "") ?? [];
  return `${row === undefined ? "" : `${isUnnamed ? "line " : `${path}:`}${row}: `}${thrown.message}`;
}
