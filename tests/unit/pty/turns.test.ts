// Alone: measures how fast terminals are read beside floods.
/** The order in which terminals are read: one with a person's input comes first, none starves, and nothing is lost. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openPty } from "../../../src/pty/open.ts";
import { beforeEachRead } from "../../../src/pty/turns.ts";
import { Program, settled, until } from "../../support/pty-program.ts";

const linux = process.platform === "linux";
const FLOOD = "while :; do printf '%01000d' 0; done";
/** Until a key's echo has come another pane gets 8 KB each 100 ms. */
const DROP_BYTES = 8 * 1024;
const AWAITED_DROP_MS = 100;
/** Time for which a key is awaited. */
const TYPED_MS = 250;

describe.if(linux)("reading terminals in turns", () => {
  let looks = 0;
  beforeAll(() =>
    beforeEachRead(() => {
      looks++;
    }),
  );
  afterAll(() => beforeEachRead(() => {}));

  test("keys are checked before every read", async () => {
    using program = await Program.start(await openPty("bun"), "seq 1 20000; sleep 1000");
    looks = 0;
    await program.shows("\n20000");
    // A read is at most 128 KB, and there are more than 100 KB.
    expect(looks).toBeGreaterThan(1);
  });

  test("beside a key without its echo the others are read slowly, and at full speed again a quarter of a second later", async () => {
    const open = await openPty("bun");
    using flood = await Program.start(open, FLOOD);
    using quiet = await Program.start(open, "stty -echo; exec cat");
    await Bun.sleep(300);
    const before = flood.received;
    const began = performance.now();
    while (performance.now() - began < 400) {
      quiet.pty.noteTyping();
      await Bun.sleep(20);
    }
    const tookMs = performance.now() - began;
    const drops = (flood.received - before) / DROP_BYTES;
    expect(drops).toBeLessThanOrEqual(tookMs / AWAITED_DROP_MS + 1);
    const slow = (flood.received - before) / tookMs;
    expect(slow).toBeGreaterThan(0);
    await Bun.sleep(300);
    const after = flood.received;
    const again = performance.now();
    await Bun.sleep(300);
    expect((flood.received - after) / (performance.now() - again)).toBeGreaterThan(2 * slow);
  });

  test("until an echo beside eight floods has come, each of them is hardly read, and none starves", async () => {
    const open = await openPty("bun");
    const floods = await Promise.all(Array.from({ length: 8 }, () => Program.start(open, FLOOD)));
    const slowEcho = "while head -c1 >/dev/null; do sleep 0.12; printf x; done";
    using quiet = await Program.start(open, `stty raw -echo; printf ready; ${slowEcho}`);
    const bytes = () => floods.map(({ received }) => received);
    try {
      await quiet.shows("ready");
      await until("output of each", () => floods.every(({ received }) => received > 0));
      for (let keys = 0; keys < 5; ) {
        const seen = quiet.received;
        const before = bytes();
        const began = performance.now();
        let longestMs = 0;
        await quiet.type("x");
        for (let typed = began; quiet.received === seen; ) {
          quiet.pty.noteTyping();
          await new Promise((resume) => setImmediate(resume));
          longestMs = Math.max(longestMs, performance.now() - typed);
          typed = performance.now();
        }
        // Bytes and not the time, which the kernel shares among ten programs.
        const drops = 1 + (performance.now() - began) / AWAITED_DROP_MS;
        // Paused itself for so long, the process takes the key for an old one.
        if (longestMs < TYPED_MS) {
          keys++;
          for (const [at, after] of bytes().entries()) {
            expect(after - (before[at] ?? 0)).toBeLessThanOrEqual(drops * DROP_BYTES);
          }
        }
        await Bun.sleep(30);
      }
      // None starves.
      const passed = bytes();
      await until("more of each", () => floods.every(({ received }, at) => received > (passed[at] ?? 0)));
    } finally {
      for (const flood of floods) flood[Symbol.dispose]();
    }
  });

  test("the end of an output is complete, also beside keys and floods", async () => {
    const open = await openPty("bun");
    using flood = await Program.start(open, FLOOD);
    const programs = await Promise.all(
      Array.from({ length: 6 }, (_, at) => Program.start(open, `seq 1 5000; printf 'the end ${at}'`)),
    );
    const typing = setInterval(() => flood.pty.noteTyping(), 20);
    for (const program of programs) await program.exited;
    clearInterval(typing);
    const all = Array.from({ length: 5000 }, (_, at) => `${at + 1}\r\n`).join("");
    for (const [at, { text }] of programs.entries()) expect(text).toBe(`${all}the end ${at}`);
    for (const program of programs) program[Symbol.dispose]();
  });

  test("a terminal whose output is not accepted is paused, and loses nothing", async () => {
    using program = await Program.start(await openPty("bun"), "seq 1 200000; printf 'the end'", { hold: true });
    await settled("the output to stand still", () => program.received > 0 && program.received, 500);
    expect(program.received).toBeLessThan(1_000_000);
    program.acknowledge(true);
    await program.exited;
    expect(program.text.endsWith("200000\r\nthe end")).toBe(true);
  });
});
