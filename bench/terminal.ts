/**
 * The terminal model beside the bare emulator, in one run: parse rates, snapshot, packing, memory of history.
 * `bun run bench/terminal.ts`
 */
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { Terminal } from "@xterm/headless";
import { containing, TerminalModel, type TerminalSink } from "../src/terminal/model.ts";
import { defaultProfile } from "../src/terminal/profile.ts";

const CHUNK = 65_536;
const SIZE = 12e6;

const sink: TerminalSink = {
  reply() {},
  chunk() {},
  mark() {},
  bell() {},
  title() {},
  cwd() {},
  alternate() {},
  clipboard() {},
  reset() {},
};

function model(rows = 50, cols = 200): TerminalModel {
  return new TerminalModel(
    { rows, cols, historyLines: 10_000, historyBytes: 64e6, nonce: "n", profile: defaultProfile },
    sink,
  );
}

function repeat(line: (i: number) => string): Uint8Array {
  const parts: string[] = [];
  for (let i = 0, size = 0; size < SIZE; i++) {
    const text = line(i);
    size += text.length;
    parts.push(text);
  }
  return Buffer.from(parts.join(""));
}

async function rate(bytes: Uint8Array, write: (part: Uint8Array) => Promise<void>): Promise<number> {
  const began = performance.now();
  for (let at = 0; at < bytes.length; at += CHUNK) await write(bytes.slice(at, at + CHUNK));
  return bytes.length / (performance.now() - began) / 1e3;
}

function timed(name: string, runs: number, fn: () => void): void {
  for (let i = 0; i < runs / 4; i++) fn();
  const began = performance.now();
  for (let i = 0; i < runs; i++) fn();
  console.log(`${name.padEnd(34)} ${((performance.now() - began) / runs).toFixed(4)} ms`);
}

const streams: Record<string, Uint8Array> = {
  "seq, short lines": repeat((i) => `${i}\r\n`),
  "log lines of 80": repeat((i) => `${String(i).padStart(10)} ${"the quick brown fox jumps over it ".repeat(2)}\r\n`),
  "SGR, ls --color": repeat((i) => `\x1b[0m\x1b[01;34mdir${i}\x1b[0m  \x1b[01;32mrun.sh\x1b[0m  plain.txt\r\n`),
  "full-screen redraw": repeat((i) => `\x1b[${(i % 50) + 1};1H\x1b[38;5;${i % 256}m${"x".repeat(60)}\x1b[K`),
  "UTF-8": repeat((i) => `${i} naïve façade 日本語テキスト ─────\r\n`),
};
for (const [name, bytes] of Object.entries(streams)) {
  const bare = new Terminal({ rows: 50, cols: 80, scrollback: 1_000, allowProposedApi: true, logLevel: "off" });
  bare.loadAddon(new UnicodeGraphemesAddon());
  const peer = await rate(bytes, (part) => {
    bare.input("", true);
    return new Promise((resolve) => bare.write(part, resolve));
  });
  const terminal = model(50, 80);
  const ours = await rate(bytes, (part) => terminal.write(part));
  console.log(
    `${name.padEnd(34)} ${ours.toFixed(1)} MB/s, bare emulator ${peer.toFixed(1)}, ratio ${(ours / peer).toFixed(2)}`,
  );
}

const full = model();
await full.write(
  Buffer.from(Array.from({ length: 12_000 }, (_, i) => `${i} ${"\x1b[32mword\x1b[0m plain ".repeat(12)}\r\n`).join("")),
);
timed("screen plain 50×200", 400, () => full.screen("plain"));
timed("screen styled 50×200", 400, () => full.screen("styled"));
const key = Buffer.from("x");
timed("key echo: write, one byte", 2_000, () => void full.write(key.slice()));
timed("frame: write + changedRows", 400, () => {
  const { epoch } = full;
  void full.write(Buffer.from("\x1b[10;5Habc"));
  full.changedRows(epoch);
});
timed("grid after one changed row", 400, () => {
  void full.write(Buffer.from("\x1b[10;5Habc"));
  full.grid();
});
timed("scrollback 1,000 rows styled", 20, () => full.scrollback({ offset: -5_000, limit: 1_000, format: "styled" }));
timed("grep 10,000 lines", 20, () => full.grep(containing("nowhere"), { limit: 10, format: "plain" }));
timed("serialize with 1,000 rows", 20, () => full.serialize({ history: 1_000 }));
let wide = false;
timed("resize with reflow", 20, () => {
  wide = !wide;
  void full.resize(50, wide ? 120 : 200);
});
const lines = model(24, 80);
await lines.write(Buffer.from(Array.from({ length: 12_000 }, (_, i) => `${i} `.padEnd(80, "abcdefgh")).join("\r\n")));
console.log(`history, 80 columns                ${Math.round(lines.historyBytes / (lines.totalLines - 1_240))} B/line`);
