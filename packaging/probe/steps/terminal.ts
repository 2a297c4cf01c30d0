/** Step 3: nothing that a program writes is lost, however it ends and whoever reads. */
import { platform } from "../../../src/platform/platform.ts";
import { openPty } from "../../../src/pty/open.ts";
import { Program } from "../../../tests/support/pty-program.ts";
import { until } from "../../../tests/support/until.ts";
import type { ProbeOptions } from "../probe.ts";
import { type Checks, type Facts, require } from "../report.ts";

/** Programs that run at once, so that a thousand take seconds. */
const AT_ONCE = 8;
/** How long a program may take to end, in ms. */
const END_MS = 10_000;
/** How long a program whose output is not read has to end, in ms. */
const UNREAD_MS = 1_000;
/** Bytes of a line that Linux keeps and macOS cuts. */
const LINE_BYTES = 2_000;
/** How long a cut line may leave its reader waiting, in ms. */
const LINE_MS = 3_000;

export async function terminal(checks: Checks, { isSmall }: ProbeOptions): Promise<void> {
  const times = isSmall ? 40 : 1_000;
  await checks.check(`${times} programs that end at once`, () => quickExits(times), 120_000);
  await checks.check("a program that ends while nobody reads its output", unreadEnd);
  await checks.check("a reader that pauses until the program should have ended", () => pausedReader(2_000_000));
  const flood = isSmall ? 1_000_000 : 10_000_000;
  await checks.check(`a flood of ${flood} bytes`, () => bytesOf(flood));
  await checks.check(`a typed line of ${LINE_BYTES} bytes`, longLine);
}

async function quickExits(times: number): Promise<Facts> {
  const open = await openPty("bun");
  let left = times;
  const wrong: string[] = [];
  let slowest = 0;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const isSilent = left % 2 === 0;
      const started = performance.now();
      using program = await Program.start(open, isSilent ? "exec true" : "printf 0123456789; exit 7");
      const exit = await Promise.race([program.exited, Bun.sleep(END_MS)]);
      slowest = Math.max(slowest, performance.now() - started);
      const expected = isSilent ? "0 " : "7 0123456789";
      const got = `${exit === undefined ? "never" : (exit.code ?? exit.signal)} ${program.text}`;
      if (got !== expected) wrong.push(got);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const facts = { wrong: wrong.length, examples: wrong.slice(0, 5), slowestMs: Math.round(slowest) };
  require(wrong.length === 0, "output or ends were lost", facts);
  return facts;
}

/**
 * This process does nothing while the program writes and ends, so that the output waits in the kernel. Whether the program
 * can be waited for before it was read is a fact about the system; that both come afterwards is required.
 */
async function unreadEnd(): Promise<Facts> {
  const { processes } = platform();
  using program = await Program.start(await openPty("bun"), "printf 0123456789; exit 7");
  const began = performance.now();
  let state: string;
  do {
    Bun.sleepSync(1);
    state = processes.stat(program.pty.pid)?.state ?? "gone";
  } while (state !== "ended" && state !== "gone" && performance.now() - began < UNREAD_MS);
  const unread = { state, ms: Math.round(performance.now() - began), received: program.received };
  const exit = await Promise.race([program.exited, Bun.sleep(END_MS)]);
  const facts = { unread, exit: exit ?? "never", text: program.text };
  require(exit?.code === 7 && program.text === "0123456789", "output or the end was lost", facts);
  require(process.platform !== "linux" || state === "ended", "on Linux it ends, read or not", facts);
  return facts;
}

/** More than the kernel keeps: the program blocks, and ends only when it is read. */
async function pausedReader(bytes: number): Promise<Facts> {
  using program = await Program.start(await openPty("bun"), writes(bytes), { hold: true });
  await until("the first output", () => program.received > 0);
  const before = program.received;
  program.acknowledge(true);
  const exit = await program.exited;
  const facts = { before, received: program.received, exit };
  require(program.received === bytes && exit.code === 3, "not everything came", facts);
  return facts;
}

async function bytesOf(bytes: number): Promise<Facts> {
  const started = performance.now();
  using program = await Program.start(await openPty("bun"), writes(bytes));
  const exit = await program.exited;
  const facts = { received: program.received, exit, ms: Math.round(performance.now() - started) };
  require(program.received === bytes && exit.code === 3, "not everything came", facts);
  return facts;
}

function writes(bytes: number): string {
  return `head -c ${bytes} /dev/zero | tr '\\0' x; exit 3`;
}

/** The kernel's line: all of it on Linux, on macOS its first 1,024 bytes; what a Mac does exactly is to be seen. */
async function longLine(): Promise<Facts> {
  using program = await Program.start(await openPty("bun"), `echo ready; IFS= read -r line; echo "length=\${#line}."`);
  await program.shows("ready");
  await program.type(`${"a".repeat(LINE_BYTES)}\n`);
  const kept = await until("the length", () => /length=(\d+)\./.exec(program.text)?.[1], LINE_MS).catch(() => null);
  const facts = { typed: LINE_BYTES, kept: kept === null ? null : Number(kept) };
  require(process.platform !== "linux" || facts.kept === LINE_BYTES, "Linux has cut the line", facts);
  return facts;
}
