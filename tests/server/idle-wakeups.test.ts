// Quiet: counts how often processes are woken; a busy machine wakes them with retries of its own.
/** At rest a session, its server and a bridge are never woken, a list wakes no session, and suspended connections lose nothing. Linux only. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import type { Socket } from "bun";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { Wire } from "../../src/wire/socket.ts";
import { McpInstance } from "../support/mcp-instance.ts";
import { Gateway } from "../support/server.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { PATIENCE_MS, until } from "../support/until.ts";

/** Length of the observed silence, in ms: two turns of Bun's timer, which runs every second while its socket is open. */
const WATCHED_MS = 2_500;

/** The collector checks once a second after work, for half a minute; that is Bun's, and not under test. */
const env = { BUN_GC_TIMER_DISABLE: "1" };

/** Number of times that a process's main thread has gone to sleep. */
function slept(pid: number): number {
  return Number(
    /^voluntary_ctxt_switches:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/task/${pid}/status`, "utf8"))?.[1],
  );
}

/** Waits until none of the processes is woken: start-up work takes some seconds and must end. */
async function atRest(pids: readonly number[]): Promise<void> {
  const deadline = performance.now() + 2 * PATIENCE_MS;
  for (let most = Infinity; most > 1; ) {
    expect(performance.now()).toBeLessThan(deadline);
    const before = pids.map(slept);
    await Bun.sleep(WATCHED_MS);
    most = Math.max(...pids.map((pid, at) => slept(pid) - (before[at] ?? 0)));
  }
}

test.if(process.platform === "linux" && hasTmux)(
  "at rest neither a session, nor the command that shows one, nor a server, nor a bridge is woken",
  async () => {
    await using mcp = new McpInstance(env, { intervals: { memoryQuiet: 300 } });
    const server = await mcp.server();
    await mcp.session("one");
    await mcp.session("shown");
    const client = await mcp.client();
    await client.callTool({ name: "wsh_exec", arguments: { session: "one", command: "echo hello" } });
    await using person = await PersonTerminal.open(mcp);
    await person.run("wsh attach shown");
    await person.type("echo $((40+2))");
    await person.sees(/^42$/m);
    const others = mcp.processes().filter(({ command }) => / mcp$| attach shown$/.test(command));
    const pids = [server.pid, ...mcp.hosts(), ...others.map(({ pid }) => pid)];
    expect(pids).toHaveLength(5);
    await atRest(pids);
    expect((await client.callTool({ name: "wsh_list_sessions", arguments: {} })).isError).not.toBe(true);
    await person.type("echo $((50+2))");
    await person.sees(/^52$/m);
  },
);

async function listed(gateway: Gateway): Promise<SessionInfo[]> {
  return (await gateway.unix("/sessions")).json();
}

/** Run time of the processes' first threads, and how often they ran. */
function runs(pids: readonly number[]): Promise<string[]> {
  return Promise.all(pids.map((pid) => Bun.file(`/proc/${pid}/schedstat`).text()));
}

test("wakes no unused session, and still shows its age", async () => {
  await using gateway = await Gateway.start();
  for (const name of ["a", "b", "c"]) await gateway.create({ name });
  await until("the shells at rest", async () => (await listed(gateway)).every(({ state }) => state === "prompt"));
  const hosts = gateway.hosts();
  const before = await until("nobody to be woken", async () => {
    const one = await runs(hosts);
    await listed(gateway);
    await Bun.sleep(300);
    return JSON.stringify(await runs(hosts)) === JSON.stringify(one) ? one : null;
  });
  const [first] = await listed(gateway);
  let last = before;
  // A timer of the engine may come between: a list that woke them would wake all, each time.
  await until("lists that wake nobody", async () => {
    for (let n = 0; n < 20; n++) await listed(gateway);
    const after = await runs(hosts);
    const woken = after.filter((text, at) => text !== last[at]).length;
    last = after;
    return woken < 2;
  });
  await Bun.sleep(60);
  const [later] = await listed(gateway);
  expect(later?.idle_ms).toBeGreaterThanOrEqual((first?.idle_ms ?? 0) + 50);
}, 60_000);

/** Two ends of a connection, of which `remote` is to be suspended. */
class Pair implements AsyncDisposable {
  private readonly dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-t-"));
  readonly local: { bytes: number; text: string; closed: number } = { bytes: 0, text: "", closed: 0 };
  readonly remote: { text: string; drained: number; closed: number; wire: Wire | null } = {
    text: "",
    drained: 0,
    closed: 0,
    wire: null,
  };
  private listener: { stop(): void } | null = null;
  localSocket: Socket<undefined> | null = null;

  static async open(): Promise<Pair> {
    const pair = new Pair();
    const { remote } = pair;
    const unix = join(pair.dir, "s");
    pair.listener = Wire.listen(unix, (wire) => {
      remote.wire = wire;
      return {
        data: (bytes) => {
          remote.text += Buffer.from(bytes).toString();
        },
        drain: () => {
          remote.drained++;
        },
        close: () => {
          remote.closed++;
        },
      };
    });
    pair.localSocket = await Bun.connect({
      unix,
      socket: {
        data: (_, bytes) => {
          pair.local.bytes += bytes.length;
          if (pair.local.text.length < 100) pair.local.text += bytes.toString();
        },
        close: () => {
          pair.local.closed++;
        },
      },
    });
    await until("the remote end", () => remote.wire);
    return pair;
  }

  rest(): void {
    this.remote.wire?.rest();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.localSocket?.terminate();
    this.remote.wire?.end();
    this.listener?.stop();
    fs.rmSync(this.dir, { recursive: true });
  }
}

describe.if(process.platform === "linux")("a connection that rests", () => {
  test("continues where it was, both ways, and its other end does not notice", async () => {
    await using pair = await Pair.open();
    pair.localSocket?.write("before ");
    await until("the first bytes", () => pair.remote.text === "before ");
    // Still unread when the connection changes hands.
    pair.localSocket?.write("meanwhile ");
    pair.rest();
    pair.localSocket?.write("after");
    await until("all bytes", () => pair.remote.text === "before meanwhile after");
    expect(pair.remote.wire?.write(Buffer.from("answer"))).toBe(6);
    await until("the answer", () => pair.local.text === "answer");
    expect(pair.local.closed).toBe(0);
  });

  test("accepts as much as its reader, reports when to continue, and loses nothing", async () => {
    await using pair = await Pair.open();
    pair.rest();
    pair.localSocket?.pause();
    const bytes = new Uint8Array(4 * 1024 * 1024).fill(0x78);
    let written = pair.remote.wire?.write(bytes) ?? 0;
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(bytes.length);
    pair.localSocket?.resume();
    for (let turn = pair.remote.drained; written < bytes.length; turn = pair.remote.drained) {
      await until("room", () => pair.remote.drained > turn || pair.local.bytes === written);
      written += pair.remote.wire?.write(bytes.subarray(written)) ?? 0;
    }
    await until("the last byte", () => pair.local.bytes === bytes.length);
    expect(pair.remote.closed).toBe(0);
  });

  test("that is paused reads at most a read-ahead, then everything", async () => {
    await using pair = await Pair.open();
    pair.rest();
    pair.remote.wire?.pause();
    const bytes = Buffer.alloc(1024 * 1024, "y");
    let sent = pair.localSocket?.write(bytes) ?? 0;
    expect(sent).toBeLessThan(bytes.length);
    pair.remote.wire?.resume();
    await until("room for the rest", () => {
      sent += pair.localSocket?.write(bytes.subarray(sent)) ?? 0;
      return sent === bytes.length;
    });
    await until("the last byte", () => pair.remote.text.length === bytes.length);
  });

  test("ends once, whichever side ends it, and closes its descriptor", async () => {
    const open = () => fs.readdirSync("/proc/self/fd").length;
    for (const end of ["local", "remote"] as const) {
      const before = open();
      {
        await using pair = await Pair.open();
        pair.rest();
        if (end === "local") pair.localSocket?.end();
        else pair.remote.wire?.end();
        await until("the other's end", () => (end === "local" ? pair.remote.closed : pair.local.closed) === 1);
        expect(pair.remote.wire?.write(Buffer.from("x"))).toBe(-1);
        expect(pair.remote.closed).toBe(end === "local" ? 1 : 0);
      }
      await until("the descriptors to be closed", () => open() <= before);
    }
  });
});
