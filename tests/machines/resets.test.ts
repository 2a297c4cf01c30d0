/**
 * A connection to a machine that the kernel resets at every possible moment: the caller is told that
 * nothing was sent, or that the outcome is unknown, never how a socket ended; and no command runs twice.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import { join } from "node:path";
import { HttpLink } from "../../src/cluster/http-link.ts";
import { StdioRelay } from "../../src/cluster/ssh/relay.ts";
import type { Base, Transport } from "../../src/cluster/transport.ts";
import { WshError } from "../../src/protocol/errors.ts";
import { PROTOCOL_VERSION } from "../../src/protocol/messages.ts";
import { VERSION } from "../../src/protocol/version.ts";
import { ResettingProxy } from "../support/resetting-proxy.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(120_000);

/** Words for sockets and local processes, which do not belong in messages about another machine. */
const SOCKET_WORDS = /ECONN|EPIPE|socket connection|verbose|internal|the session process/;
/** The caller's own deadline for a change, in ms. */
const OWN_MS = 1_000;
const caller = { kind: "cli", id: "test", connected: true } as const;
const hello = JSON.stringify({ wsh: PROTOCOL_VERSION, version: VERSION, server_id: "remote", hostname: "remote" });

function answer(body: string, length = body.length): string {
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-resets-"));
afterAll(() => fs.rmSync(dir, { recursive: true }));

function wayTo(base: Base): Transport {
  return { base, open: async () => base, connectionLost() {}, async *examine() {}, close: async () => {} };
}

/** Errors of a read, and of a change. */
async function troublesOver(base: Base, bytes = 10): Promise<WshError[]> {
  const link = new HttpLink("remote", wayTo(base));
  const text = "x".repeat(bytes);
  const calls = [
    () => link.call("sessions.list", { all: true, server: "local", tag: [], all_machines: false }, { caller }),
    () => link.call("input.send", { data: text }, { session: "dev", caller, deadline: Date.now() + OWN_MS }),
  ];
  const troubles: WshError[] = [];
  for (const ask of calls) {
    await link.hello();
    troubles.push(
      await ask().then(
        () => new WshError("internal_error", "it was answered"),
        (thrown) => WshError.from(thrown),
      ),
    );
    expect(link.state.error).not.toMatch(SOCKET_WORDS);
  }
  return troubles;
}

const told = (troubles: readonly WshError[]): unknown[] =>
  troubles.map(({ code, message }) => [code, SOCKET_WORDS.test(message)]);
const TOLD = [
  ["machine_unreachable", false],
  ["outcome_unknown", false],
];

describe("a request", () => {
  type End = (socket: net.Socket, head: string) => void;
  const ends: Readonly<Record<string, { readonly bytes?: number; readonly end: End }>> = {
    "in its middle": { bytes: 400_000, end: (socket) => socket.pause() && socket.resetAndDestroy() },
    "before the answer": { end: (socket) => socket.resetAndDestroy() },
    "in the middle of the answer's head": {
      end: (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Le", () => socket.resetAndDestroy()),
    },
    "in the middle of the answer": {
      end: (socket) => socket.write(answer('{"result":', 5_000), () => socket.resetAndDestroy()),
    },
    "in the middle of an answer without a length": {
      end: (socket) =>
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"res\r\n', () =>
          socket.resetAndDestroy(),
        ),
    },
  };
  for (const over of ["a Unix socket", "TCP"]) {
    for (const [when, { bytes, end }] of Object.entries(ends)) {
      test(`over ${over} that is reset ${when}`, async () => {
        const server = net.createServer((socket) => {
          socket.on("error", () => {});
          socket.on("data", (data) => {
            const head = data.toString();
            if (head.startsWith("GET /link ")) socket.write(answer(hello));
            // A Unix socket has no reset: unread data when it closes makes one.
            else if (over === "TCP") end(socket, head);
            else end(Object.assign(socket, { resetAndDestroy: () => socket.destroy() }), head);
          });
        });
        const unix = join(dir, "s");
        await new Promise<void>((done) =>
          over === "TCP" ? server.listen(0, "127.0.0.1", done) : server.listen(unix, done),
        );
        const address = server.address();
        const base =
          address === null || typeof address === "string"
            ? { url: "http://localhost", unix, headers: {} }
            : { url: `http://127.0.0.1:${address.port}`, headers: {} };
        expect(told(await troublesOver(base, bytes))).toEqual(TOLD);
        server.close();
      });
    }
  }

  test("that is not accepted when the listener is killed", async () => {
    const unix = join(dir, "l");
    const program = `
      const answer = ${JSON.stringify(answer(hello))};
      require("node:net").createServer((socket) => socket.on("data", () => socket.write(answer, () => socket.end()))).listen("${unix}", () =>
        require("node:fs").writeFileSync("${unix}.listens", ""));
    `;
    const start = async () => {
      // The socket exists before it listens.
      for (const path of [unix, `${unix}.listens`]) fs.rmSync(path, { force: true });
      const child = Bun.spawn([process.execPath, "-e", program], { stdio: ["ignore", "ignore", "ignore"] });
      await until("it to listen", () => fs.existsSync(`${unix}.listens`));
      return child;
    };
    const base = { url: "http://localhost", unix, headers: {} };
    for (const changes of [false, true]) {
      const child = await start();
      const link = new HttpLink("remote", wayTo(base));
      await link.hello();
      child.kill("SIGSTOP");
      const asked = changes
        ? link.call("input.send", { data: "x" }, { session: "dev", caller, deadline: Date.now() + OWN_MS })
        : link.call("sessions.list", { all: true, server: "local", tag: [], all_machines: false }, { caller });
      const trouble = asked.then(
        () => null,
        (thrown) => WshError.from(thrown),
      );
      await until("the request to wait for the listener", () => waitsAt(unix));
      child.kill("SIGKILL");
      expect(told([(await trouble) ?? new WshError("internal_error", "it was answered")])).toEqual([
        TOLD[changes ? 1 : 0] ?? [],
      ]);
    }
  });
});

/** Whether a connection to the socket waits to be accepted, according to Linux. */
function waitsAt(path: string): boolean {
  if (process.platform !== "linux") return true;
  const lines = fs.readFileSync("/proc/net/unix", "utf8").split("\n");
  // State 02: connecting, or connected and not accepted yet.
  return lines.some((line) => line.endsWith(` ${path}`) && line.split(/\s+/)[5] === "02");
}

/** Ends of a stand-in for ssh and `wsh proxy` there, as text of a shell script. */
const proxies: Readonly<Record<string, string>> = {
  "that is gone before it has read anything": "exit 1",
  "that is killed while it is written to": "read -r line; kill -9 $$",
  "that ends after its hello": "echo wsh-proxy-1; read -r line; exit 0",
  "that ends in the middle of its answer":
    "echo wsh-proxy-1; read -r line; printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 999\\r\\n\\r\\nx'",
};
for (const [which, script] of Object.entries(proxies)) {
  test(`a proxy on standard input ${which} ends its connection, and not this process`, async () => {
    const path = join(dir, "relay");
    const address = { kind: "ssh", user: null, host: "remote", port: null, instance: null } as const;
    const relay = new StdioRelay(path, { argv: ["sh", "-c", script, "sh"] }, address, join(dir, "c"));
    relay.listen();
    // As much as a socket buffers, and more: a write error is reported in several ways.
    for (const bytes of [10, 300_000, 3_000_000]) {
      const init = { unix: path, method: "POST", body: "x".repeat(bytes) };
      const text = fetch("http://localhost/link/call", init).then((response) => response.text());
      expect(WshError.from(await text.catch((thrown) => thrown))).toBeInstanceOf(WshError);
    }
    relay.stop();
  });
}

describe("commands", () => {
  let remote: Wsh;
  let local: Wsh;
  let port = 0;
  let token = "";

  beforeAll(async () => {
    remote = new Wsh();
    local = new Wsh();
    port = Number(new URL(await remote.tcpServer()).port);
    token = (await remote.ok("token")).trim();
    await local.server();
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
    await remote[Symbol.asyncDispose]();
  });

  /** Adds the machine as one whose streams are reset after so many pieces, and runs a command. */
  async function resetAt(at: number, name: string, args: (machine: string) => readonly string[]) {
    await using proxy = await ResettingProxy.to(port, (line) => line.includes(" /link/stream"), at);
    const body = JSON.stringify({ address: `http://127.0.0.1:${proxy.port}`, name, token });
    const added = await local.fetch("/servers", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
    });
    expect(added.status).toBe(201);
    const { code, stderr } = await local.run(...args(name));
    expect((await local.fetch(`/servers/${name}`, { method: "DELETE" })).ok).toBe(true);
    return { at, code, stderr, resets: proxy.resets };
  }

  const PIECES = [0, 1, 2, 3, 4, 5, 6];

  test("that read report that the machine is not reached, wherever their stream is reset", async () => {
    await remote.session("seen");
    const done = await Promise.all(PIECES.map((at) => resetAt(at, `look${at}`, (name) => ["screen", `${name}/seen`])));
    const isLost = ({ stderr }: { stderr: string }): boolean =>
      /(?:the connection to .*look|machine 'look).*(?:lost|does not answer)/.test(stderr);
    for (const one of done) {
      const { at, code, stderr } = one;
      // The connection may be reset after the answer has arrived.
      expect({ at, isSaid: code === 0 || isLost(one), told: SOCKET_WORDS.exec(stderr) }).toEqual({
        ...{ at, isSaid: true, told: null },
      });
    }
    expect(done.filter(isLost).length).toBeGreaterThan(3);
  });

  test("that run something run it once at most, and report its known state", async () => {
    const log = (at: number) => join(remote.dir, `run${at}.log`);
    const done = await Promise.all(
      PIECES.map(async (at) => {
        const { name: session } = await remote.session(`run${at}`);
        return resetAt(at, session, (name) => ["exec", `${name}/${session}`, "--", `echo run >>${log(at)}`]);
      }),
    );
    for (const { at, code, stderr } of done) {
      const runs = fs.existsSync(log(at)) ? fs.readFileSync(log(at), "utf8").split("run\n").length - 1 : 0;
      const isSaid =
        runs === 0 ? /(?:the connection to|machine) .*run/.test(stderr) && code !== 0 : code === 0 || code === 125;
      expect({ at, runs: runs <= 1, isSaid, told: SOCKET_WORDS.exec(stderr) }).toEqual({
        ...{ at, runs: true, isSaid: true, told: null },
      });
    }
  });
});
