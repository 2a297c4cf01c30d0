/** Step 2: sockets, links and locks behave as the registry needs it. */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { errorCode } from "../../../src/base/errno.ts";
import { tryFlock } from "../../../src/platform/descriptors.ts";
import { platform } from "../../../src/platform/platform.ts";
import { system } from "../../../src/platform/system.ts";
import { tryConnect } from "../../../src/platform/unix-socket.ts";
import { until } from "../../../tests/support/until.ts";
import { compare, compiler, probeHeaders } from "../constants.ts";
import { type Checks, require, Skipped } from "../report.ts";

/** More than any accept queue has room for on macOS (128). */
const CONNECTS = 300;
/** Longest time of one connect that does not wait, in ms. */
const CONNECT_MS = 1_000;

const children = join(import.meta.dir, "../children");

export async function kernel(checks: Checks): Promise<void> {
  const dir = fs.mkdtempSync(join(fs.realpathSync(os.tmpdir()), "wsh-p-"));
  try {
    await checks.check("this machine's headers say what wsh's table says", headers);
    await checks.check("facts about processes are right", () => processFacts(dir));
    await checks.check("a program's terminal is told, and who holds it", terminalFacts);
    await checks.check("a bound socket is reached through links", () => links(dir));
    await checks.check("the listener's pid is told", () => peerPid(dir));
    await checks.check(`${CONNECTS} connects to a stopped listener`, () => stoppedListener(dir));
    await checks.check("a lock ends with its process, not with what that has started", () => {
      const file = join(dir, "spawn.lock");
      fs.writeFileSync(file, "");
      return lockAcrossSpawn(file);
    });
    await checks.check("so does the lock of a directory, which changes while it is locked", () => {
      const directory = join(dir, "directory");
      fs.mkdirSync(directory);
      return lockAcrossSpawn(directory, () => {
        fs.symlinkSync("../7.sock", join(directory, "dev"));
        fs.renameSync(join(directory, "dev"), join(directory, "api"));
        fs.unlinkSync(join(directory, "api"));
      });
    });
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

async function headers() {
  if (compiler === null) throw new Skipped("there is no C compiler");
  const comparison = compare(system, probeHeaders(compiler));
  require(comparison.differences.length === 0, "the table is wrong", { ...comparison });
  return { compared: comparison.compared };
}

/** A shell of our own, of which all is known. */
async function processFacts(dir: string) {
  const { processes } = platform();
  const child = Bun.spawn(["/bin/sh", "-c", "echo begun; read line; exit 3", "an argument"], {
    cwd: dir,
    stdin: "pipe",
    stdout: "pipe",
  });
  const { pid } = child;
  try {
    await firstLine(child.stdout);
    const stat = processes.stat(pid);
    const facts = { stat, args: processes.args(pid), cwd: processes.cwd(pid), executable: processes.executable(pid) };
    const own = processes.stat(process.pid);
    require(stat?.pid === pid && stat.ppid === process.pid && stat.group === own?.group, "wrong numbers", facts);
    require(stat.session === own.session && stat.started >= own.started, "wrong session or start", facts);
    require(facts.args.at(-1) === "an argument" && facts.args.length === 4, "wrong arguments", facts);
    require(facts.cwd === dir, "wrong directory", facts);
    require(facts.executable !== null && fs.existsSync(facts.executable), "wrong executable", facts);
    require(processes.members(stat.group).some((member) => member.pid === pid), "not in its own group", facts);
    child.kill("SIGSTOP");
    await until("the stop to be told", () => processes.stat(pid)?.state === "stopped");
    child.kill("SIGKILL");
    await child.exited;
    await until("the end to be told", () => processes.stat(pid) === null);
    require(!processes.isAlive(pid), "an ended process is alive");
    return facts;
  } finally {
    child.kill("SIGKILL");
  }
}

/** A program on a terminal of its own, which it names itself. */
async function terminalFacts() {
  const { processes } = platform();
  const said: string[] = [];
  const child = Bun.spawn(["/bin/sh", "-c", "tty; exec cat"], {
    terminal: { cols: 80, rows: 24, data: (_terminal, bytes) => void said.push(new TextDecoder().decode(bytes)) },
  });
  const { pid } = child;
  try {
    await until("the terminal's name", () => said.join("").includes("\n"));
    const stat = processes.stat(pid);
    const path = stat === null ? null : processes.terminalPath(stat.tty);
    const facts = { stat, path, said: said.join("").trim(), image: processes.image(pid) };
    require(path !== null && path === facts.said, "another terminal is told", facts);
    require(stat?.foreground === pid && stat.group === pid, "another holds it", facts);
    const holder = processes.holder(pid, stat.tty);
    require(holder?.holdsTerminal === true, "the program does not count as holding it", facts);
    child.kill("SIGSTOP");
    await until("the stopped program to hold it no more", () => !holder.holdsTerminal);
    child.kill("SIGCONT");
    await until("the program to hold it again", () => holder.holdsTerminal);
    child.kill("SIGKILL");
    await child.exited;
    require(!holder.holdsTerminal, "an ended program holds it", facts);
    holder.close();
    return facts;
  } finally {
    child.kill("SIGKILL");
    child.terminal?.close();
  }
}

async function links(dir: string) {
  const socket = join(dir, "7.sock");
  const names = join(dir, "names");
  fs.mkdirSync(names);
  const listener = Bun.listen({ unix: socket, socket: { data: () => {} } });
  try {
    fs.symlinkSync("../7.sock", join(names, "dev"));
    require(tryConnect(join(names, "dev")).kind === "connected", "a symbolic link does not lead to the socket");
    require(failure(() => fs.symlinkSync("../8.sock", join(names, "dev"))) === "EEXIST", "a name is given twice");
    fs.renameSync(join(names, "dev"), join(names, "prod"));
    require(tryConnect(join(names, "prod")).kind === "connected", "a renamed link does not lead to the socket");
    fs.symlinkSync("../9.sock", join(names, "gone"));
    require(tryConnect(join(names, "gone")).kind === "absent", "a dangling link is not seen as absent");
    fs.renameSync(join(names, "prod"), join(names, "gone"));
    require(tryConnect(join(names, "gone")).kind === "connected", "a link renamed over another is not taken");
    // Nothing needs it; it is only good to know.
    const hardLink = failure(() => fs.linkSync(socket, join(dir, "hard"))) ?? tryConnect(join(dir, "hard")).kind;
    return { hardLink };
  } finally {
    listener.stop(true);
  }
}

async function peerPid(dir: string) {
  const socket = join(dir, "pid.sock");
  const listener = Bun.listen({ unix: socket, socket: { data: () => {} } });
  try {
    const outcome = tryConnect(socket);
    require(outcome.kind === "connected" && outcome.pid === process.pid, "another pid is told", { outcome });
    return {};
  } finally {
    listener.stop(true);
  }
}

async function stoppedListener(dir: string) {
  const [socket, lock] = [join(dir, "busy.sock"), join(dir, "busy.lock")];
  const child = Bun.spawn([process.execPath, join(children, "listener.ts"), socket, lock], { stdout: "pipe" });
  try {
    require((await firstLine(child.stdout)) === "taken", "the child does not get its lock");
    child.kill("SIGSTOP");
    await until("the child to be stopped", () => processState(child.pid).startsWith("T"));
    const outcomes: Record<string, number> = {};
    let longest = 0;
    for (let left = CONNECTS; left > 0; left--) {
      const started = performance.now();
      const { kind } = tryConnect(socket);
      longest = Math.max(longest, performance.now() - started);
      outcomes[kind] = (outcomes[kind] ?? 0) + 1;
    }
    const facts = { outcomes, longestMs: Math.round(longest) };
    require(longest < CONNECT_MS, "a connect waits", facts);
    require(lockState(lock) === "held", "a stopped process does not hold its lock", facts);
    child.kill("SIGCONT");
    await until("the listener to answer again", () => tryConnect(socket).kind === "connected");
    return facts;
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
}

async function lockAcrossSpawn(lock: string, whileLocked: () => void = () => {}) {
  const holder = Bun.spawn([process.execPath, join(children, "lock-and-spawn.ts"), lock], { stdout: "pipe" });
  const { outcome, child } = JSON.parse(await firstLine(holder.stdout));
  try {
    require(outcome === "taken", `the child's lock is ${outcome}`);
    whileLocked();
    require(lockState(lock) === "held", "the lock of a living process can be taken");
    holder.kill("SIGKILL");
    await holder.exited;
    require(processState(child) !== "", "what it started has ended as well");
    require(lockState(lock) === "taken", "the lock outlives its process");
    return {};
  } finally {
    holder.kill("SIGKILL");
    process.kill(child, "SIGKILL");
  }
}

/** Takes the lock for a moment. */
function lockState(path: string): string {
  const fd = fs.openSync(path, "r");
  try {
    return tryFlock(fd).kind;
  } finally {
    fs.closeSync(fd);
  }
}

/** As ps(1) writes it on every system; empty when there is no such process. */
function processState(pid: number): string {
  return Bun.spawnSync(["ps", "-o", "stat=", "-p", String(pid)])
    .stdout.toString()
    .trim();
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const bytes of stream) {
    text += new TextDecoder().decode(bytes);
    if (text.includes("\n")) break;
  }
  return text.slice(0, text.indexOf("\n"));
}

function failure(run: () => void): string | null {
  try {
    run();
    return null;
  } catch (error) {
    return errorCode(error) ?? String(error);
  }
}
