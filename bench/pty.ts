/**
 * The PTY layer alone: the echo of one key, and reading a flood, with each adapter beside a bare Bun.Terminal in the
 * same run. `bun bench/pty.ts [bun|bun-pty]`; nothing else of wsh takes part.
 */

import { openPty } from "../src/pty/open.ts";

const KEYS = 3_000;
/** bun-pty polls, so that each key takes ~8 ms. */
const KEYS_POLLED = 300;
/** A person's pause, shortened: long enough that every thread is asleep again. */
const PAUSE_MS = 2;
const FLOOD = "seq 1 3000000";
/** Digits, and CR LF on each line. */
const FLOOD_BYTES = 25_888_896;
const ROUNDS = 3;

interface Peer {
  readonly name: string;
  readonly keys: number;
  /** Starts a shell command; returns functions to type and to end it, and reports the size of each piece of output. */
  start(script: string, output: (bytes: number) => void): Promise<{ type(key: Uint8Array): void; end(): void }>;
}

const bare: Peer = {
  name: "bare Bun.Terminal",
  keys: KEYS,
  async start(script, output) {
    const child = Bun.spawn(["/bin/sh", "-c", script], {
      terminal: { rows: 24, cols: 80, data: (_terminal, bytes) => output(bytes.length) },
    });
    return {
      type: (key) => child.terminal?.write(key),
      end: () => {
        child.kill("SIGKILL");
        child.terminal?.close();
      },
    };
  },
};

function adapter(name: "bun" | "bun-pty", keys: number): Peer {
  return {
    name: `wsh, ${name}`,
    keys,
    async start(script, output) {
      const open = await openPty(name);
      const env = { PATH: process.env.PATH ?? "/usr/bin:/bin" };
      const pty = await open(
        { file: "/bin/sh", args: ["-c", script], cwd: "/", env, rows: 24, cols: 80 },
        {
          data: (bytes) => {
            pty.ack(bytes.length);
            output(bytes.length);
          },
          exit: () => {},
        },
      );
      return { type: (key) => void pty.write(key), end: () => pty.dispose() };
    },
  };
}

async function echo(peer: Peer): Promise<{ p50: number; p99: number }> {
  let arrived = Promise.withResolvers<void>();
  const shell = await peer.start("stty raw -echo; printf ready; exec cat", () => arrived.resolve());
  await arrived.promise;
  const key = new Uint8Array([0x61]);
  const times: number[] = [];
  for (let at = 0; at < peer.keys; at++) {
    arrived = Promise.withResolvers();
    const started = performance.now();
    shell.type(key);
    await arrived.promise;
    times.push(performance.now() - started);
    if (at % 10 === 0) await Bun.sleep(PAUSE_MS);
  }
  shell.end();
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(times.length * 0.5)] ?? 0, p99: times[Math.floor(times.length * 0.99)] ?? 0 };
}

async function flood(peer: Peer): Promise<{ ms: number; pieces: number }> {
  const whole = Promise.withResolvers<void>();
  let received = 0;
  let pieces = 0;
  const started = performance.now();
  const shell = await peer.start(FLOOD, (bytes) => {
    received += bytes;
    pieces += 1;
    if (received >= FLOOD_BYTES) whole.resolve();
  });
  await whole.promise;
  const ms = performance.now() - started;
  shell.end();
  return { ms, pieces };
}

const chosen = process.argv[2];
const peers = [bare];
if (chosen !== "bun-pty") peers.push(adapter("bun", KEYS));
if (chosen !== "bun") peers.push(adapter("bun-pty", KEYS_POLLED));

let base: { p50: number; ms: number } | undefined;
for (const peer of peers) {
  const { p50, p99 } = await echo(peer);
  const rounds: { ms: number; pieces: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await flood(peer));
  const best = rounds.reduce((a, b) => (b.ms < a.ms ? b : a));
  base ??= { p50, ms: best.ms };
  console.log(
    `${peer.name.padEnd(18)} echo p50 ${p50.toFixed(3)} ms (×${(p50 / base.p50).toFixed(2)}) p99 ${p99.toFixed(3)} ms   ` +
      `${FLOOD} ${Math.round(best.ms)} ms (×${(best.ms / base.ms).toFixed(2)}) in ${best.pieces} pieces`,
  );
}
process.exit();
