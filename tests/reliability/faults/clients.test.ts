/**
 * Broken, slow, malicious or dead clients, at every socket: they are dropped or waited for, and nobody else notices. The
 * session's program continues, its screen is exact, and no memory accumulates.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  encodeJsonMessage,
  encodeMessage,
  MessageDecoder,
  messageTypes,
  PROTOCOL_VERSION,
} from "../../../src/protocol/messages.ts";
import { descriptorsOf, stopProcess } from "../../support/processes.ts";
import { testWith } from "../../support/programs.ts";
import { seededRandom } from "../../support/terminals/outer-screen.ts";
import { within } from "../../support/timing-retries.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { program } from "../../support/wsh-program.ts";
import { AttachedTerminal } from "../walk/attached-terminal.ts";

const HELLO = encodeJsonMessage(messageTypes.hello, { wsh: PROTOCOL_VERSION, version: "0", role: "cli" });
const caller = { kind: "cli", id: "torn", connected: true };

function request(id: number, op: string, input: object = {}): Uint8Array {
  return encodeJsonMessage(messageTypes.request, { id, op, input, caller, access: "admin" });
}

/** A client that writes what it wants. */
class Raw {
  readonly decoder = new MessageDecoder();
  readonly answers: unknown[] = [];
  /** All received bytes, including frames. */
  received = "";
  closed = false;
  private constructor(private readonly socket: Bun.Socket) {}

  static async open(path: string): Promise<Raw> {
    let self: Raw | null = null;
    const socket = await Bun.connect({
      unix: path,
      socket: {
        data: (_, bytes) => {
          if (self !== null) self.received += bytes.toString("latin1");
          for (const { type, payload } of self?.decoder.push(bytes) ?? []) {
            if (type === messageTypes.response) self?.answers.push(JSON.parse(Buffer.from(payload).toString()));
          }
        },
        close: () => {
          if (self !== null) self.closed = true;
        },
      },
    });
    self = new Raw(socket);
    return self;
  }

  write(bytes: Uint8Array): void {
    this.socket.write(bytes);
    this.socket.flush();
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  end(): void {
    this.socket.end();
  }

  terminate(): void {
    this.socket.terminate();
  }
}

const wsh = new Wsh();
let socket = "";
let host = 0;

/** One session for all tests: whatever clients do, it goes on. */
beforeAll(async () => {
  const { pane_id } = await wsh.session("s");
  socket = join(wsh.instance.sessionsDir, `${pane_id.slice(1)}.sock`);
  host = wsh.hosts()[0] ?? 0;
});
afterAll(() => wsh[Symbol.asyncDispose]());

async function works(): Promise<void> {
  expect(await wsh.run("exec", "s", "--", "echo works; (exit 4)")).toMatchObject({ code: 4, stdout: "works\n" });
}

/** Waits until a process has at most that many descriptors open; a leak would be one for each client. */
function givenBack(pid: number, most: number): Promise<unknown> {
  return until("descriptors to be closed", () => descriptorsOf(pid) <= most).catch((error) => {
    throw new Error(`${error.message}: ${descriptorsOf(pid)} are open, not ${most}`);
  });
}

describe("at a session process's socket", () => {
  test("byte by byte has the same effect as at once", async () => {
    const raw = await Raw.open(socket);
    for (const byte of Buffer.concat([HELLO, request(1, "session.get")])) {
      raw.write(Uint8Array.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until("the answer", () => raw.answers.length === 1);
    expect(raw.answers).toMatchObject([{ id: 1, result: { name: "s" } }]);
  });

  test("half frames, meaningless frames, false lengths: closed, and the session is intact", async () => {
    await works();
    const before = descriptorsOf(host);
    const whole = Buffer.concat([HELLO, request(1, "screen.get")]);
    for (let cut = 1; cut < whole.length; cut += 7) {
      const raw = await Raw.open(socket);
      raw.write(whole.subarray(0, cut));
      raw.terminate();
    }
    const mad = [
      Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
      Uint8Array.of(messageTypes.hello, 0xff, 0xff, 0xff, 0xff),
      Buffer.concat([HELLO, encodeMessage(messageTypes.request, Buffer.from("{"))]),
      Buffer.concat([HELLO, encodeJsonMessage(messageTypes.request, { id: "x" })]),
      Buffer.concat([HELLO, encodeJsonMessage(messageTypes.resize, { rows: -1 }), Uint8Array.of(0x7f, 0, 0, 0, 0)]),
    ];
    for (const bytes of mad) {
      const raw = await Raw.open(socket);
      raw.write(bytes);
      await until("a mad client to be closed", () => raw.closed);
    }
    await works();
    await givenBack(host, before + 1);
  });

  test("random bytes never end it", async () => {
    const random = seededRandom(20);
    for (let i = 0; i < 60; i++) {
      const raw = await Raw.open(socket);
      const noise = Uint8Array.from({ length: 1 + Math.floor(random() * 200) }, () => Math.floor(random() * 256));
      raw.write(random() < 0.5 ? Buffer.concat([HELLO, noise]) : noise);
      if (random() < 0.5) raw.end();
      else raw.terminate();
    }
    await works();
  });

  test("a client that requests and does not read gets the newest screen later, not all that it missed", async () => {
    const raw = await Raw.open(socket);
    raw.pause();
    const size = { rows: 24, cols: 80 };
    const attach = { ...size, scrollback: "all", read_only: true, render_only: false, prefix: null };
    raw.write(Buffer.concat([HELLO, request(1, "peer.attach", attach)]));
    await until("it to be a client", async () => (await wsh.list())[0]?.clients === 1);
    await wsh.exec("s", "seq 1 340000 > /dev/tty");
    await works();
    raw.resume();
    await until("the newest screen", () => raw.received.includes("works"));
    // 2.6 MB were printed; pending are a socket's buffer, the session process's limit, and a picture with its new lines.
    expect(raw.received.length).toBeLessThan(2_000_000);
    raw.terminate();
    await until("it to be forgotten", async () => (await wsh.list())[0]?.clients === 0);
  });
});

describe("at an attached terminal", () => {
  test("one that is stopped during a flood delays nobody, and then shows the end", async () => {
    using stopped = AttachedTerminal.open(wsh, ["attach", "s"]);
    using other = AttachedTerminal.open(wsh, ["attach", "s", "--read-only"]);
    await stopped.shows("$");
    await other.shows("$");
    stopped.signal("SIGSTOP");
    await wsh.exec("s", "seq 1 60000; echo done");
    await other.shows(/^done$/m);
    stopped.signal("SIGCONT");
    await stopped.shows(/^60000\ndone$/m);
    stopped.type("echo after$((1+1))\r");
    await stopped.shows(/^after2$/m);
  });
});

/**
 * Runs a command whose output is a terminal that nobody reads once a prompt was shown, until a line arrives on standard
 * input; prints the number of bytes up to "the-42". Input comes from elsewhere, so that the session process
 * has no terminal to write to: everything passes through the client.
 */
const UNREAD_TERMINAL = `
import fcntl, os, pty, struct, subprocess, sys, termios
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=slave, stderr=slave, start_new_session=True)
os.close(slave)
seen = b""
while b"$" not in seen: seen += os.read(master, 65536)
print("shown", flush=True)
sys.stdin.readline()
seen = b""
while b"the-42" not in seen: seen += os.read(master, 65536)
print(len(seen), flush=True)
child.kill()
child.wait()
`;

describe("at an unread terminal", () => {
  testWith("python3")("the client stops reading its session, and then shows the newest screen", async () => {
    const command = ["python3", "-c", UNREAD_TERMINAL, ...program, "attach", "s"];
    await using person = Bun.spawn(command, { cwd: wsh.dir, env: wsh.env, stdin: "pipe", stdout: "pipe" });
    const printed = person.stdout.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    expect((await printed.next()).value).toBe("shown\n");
    // Slower than a flood, of which a terminal gets pictures: 100 KB in 50 ms, 2 MB in all.
    await wsh.exec("s", "for n in {1..20}; do seq 1 20000 > /dev/tty; sleep 0.05; done; echo the-$((40 + 2))");
    person.stdin.write("\n");
    await person.stdin.flush();
    // What the client and the session process keep for a slow terminal, with buffers of the system, and a picture.
    expect(Number((await printed.next()).value)).toBeLessThan(1_500_000);
  });
});

describe("at the server's sockets", () => {
  let server: Awaited<ReturnType<Wsh["server"]>>;
  beforeAll(async () => {
    server = await wsh.server();
  });

  test("half requests and half lines are dropped; the server answers the next", async () => {
    // The first request opens the descriptors that all others use.
    expect((await wsh.fetch("/sessions")).status).toBe(200);
    const before = descriptorsOf(server.pid);
    const head = "POST /sessions/s/input HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf of it";
    const hello = `${JSON.stringify({ wsh: 1, version: "0", cwd: "/", env: {} })}\n{"jsonrpc":"2.0","id":1,"method":"pi`;
    for (const [path, text] of [
      [wsh.instance.httpSocket, head],
      [wsh.instance.httpSocket, "\0\xff garbage\r\n\r\n"],
      [wsh.instance.mcpSocket, hello],
      [wsh.instance.mcpSocket, "no json\n"],
      [wsh.instance.mcpSocket, "{".repeat(100_000)],
    ] as const) {
      for (let cut = 1; cut <= text.length; cut += Math.ceil(text.length / 9)) {
        const raw = await Raw.open(path).catch(() => null);
        raw?.write(Buffer.from(text.slice(0, cut), "latin1"));
        raw?.terminate();
      }
    }
    expect(await (await wsh.fetch("/sessions")).json()).toMatchObject([{ name: "s" }]);
    expect(await wsh.screen("s")).not.toContain("half of it");
    await givenBack(server.pid, before + 2);
    expect(wsh.servers()).toEqual([server.pid]);
  });

  test("a stopped session process is waited for by its own callers alone", async () => {
    await wsh.session("other");
    await stopProcess(host);
    const hung = wsh.fetch("/sessions/s/screen");
    await within(4_500, async () => {
      for (let i = 0; i < 20; i++) expect((await wsh.fetch("/sessions/other/screen")).status).toBe(200);
    });
    process.kill(host, "SIGCONT");
    expect((await hung).status).toBe(200);
    await works();
  });
});
