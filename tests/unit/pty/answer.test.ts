/** The answer to a key, read in the turn that wrote it: never ahead of earlier reads of the event loop. */
import { afterAll, expect, test } from "bun:test";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPty } from "../../../src/pty/open.ts";
import type { Pty } from "../../../src/pty/port.ts";
import { Gate } from "../../support/held-command.ts";
import { until } from "../../support/pty-program.ts";
import { within } from "../../support/timing-retries.ts";

const ECHO = "stty raw -echo; printf .; exec cat";
const scratch = fs.mkdtempSync(join(tmpdir(), "wsh-answer-"));
afterAll(() => fs.rmSync(scratch, { recursive: true }));

async function start(script: string): Promise<{ readonly pty: Pty; shown(): string }> {
  let text = "";
  const open = await openPty("bun");
  const env = { PATH: process.env.PATH ?? "/usr/bin:/bin" };
  const pty: Pty = await open(
    { file: "/bin/sh", args: ["-c", script], cwd: "/", env, rows: 24, cols: 80 },
    {
      data: (bytes) => {
        text += Buffer.from(bytes).toString("latin1");
        queueMicrotask(() => pty.ack(bytes.length));
      },
      exit: () => {},
    },
  );
  await until("the program has begun", () => text === ".");
  return { pty, shown: () => text.slice(1) };
}

/** Nothing but this process runs for so long: others' writes meanwhile are ready at the event loop's next poll. */
function busy(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test.each([
  ["the keys", true],
  ["the program", false],
])("bytes stay in order when keys and output are ready at once, %s first", async (_first, keysFirst) => {
  const { pty, shown } = await start(ECHO);
  const fifo = join(scratch, `keys-${keysFirst}`);
  expect(Bun.spawnSync(["mkfifo", fifo]).exitCode).toBe(0);
  const fd = fs.openSync(fifo, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
  const keys = Bun.file(fd).stream().getReader();
  let sent = 0;
  let answers = 0;
  const next = (): Uint8Array => Buffer.from(`${sent++},`);
  for (let round = 0; round < 200; round++) {
    const key = keys.read();
    await Bun.sleep(0);
    if (keysFirst) fs.writeSync(fd, "k");
    void pty.write(next());
    busy(1);
    if (!keysFirst) fs.writeSync(fd, "k");
    await key;
    void pty.write(next());
    const answer = pty.readAnswer();
    if (answer !== null) answers++;
    answer?.deliver();
  }
  const wanted = Array.from({ length: sent }, (_, at) => `${at},`).join("");
  await until("every byte has come", () => shown().length >= wanted.length);
  expect(shown()).toBe(wanted);
  // The rest of them had output before them.
  expect(answers).toBeGreaterThan(0);
  await keys.cancel();
  fs.closeSync(fd);
  pty.dispose();
});

test("a silent program delays nobody for long, and its next output is not lost", async () => {
  const gate = new Gate(scratch);
  const { pty, shown } = await start(
    `stty raw -echo; printf .; head -c1 >/dev/null; ${gate.wait}; printf late; exec cat`,
  );
  await pty.write(Buffer.from("x"));
  // A thousand times the expected value, for a loaded machine.
  await within(500, async () => expect(pty.readAnswer()).toBeNull());
  gate.open();
  await until("the late output", () => shown() === "late");
  pty.dispose();
  expect(pty.readAnswer()).toBeNull();
});
