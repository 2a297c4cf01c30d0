/**
 * The contract of the PTY port, run against both adapters, and against the first on a terminal that behaves as macOS's
 * does. Limits of bun-pty are recorded by its actual behaviour (`can`), so that their removal is noticed.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBunTerminalOn } from "../../../src/pty/adapters/bun-terminal.ts";
import { INPUT_LIMIT_BYTES } from "../../../src/pty/input-queue.ts";
import { Master } from "../../../src/pty/master.ts";
import { openPty } from "../../../src/pty/open.ts";
import { QUANTUM_BYTES } from "../../../src/pty/port.ts";
import { onDarwin } from "../../support/darwin-terminal.ts";
import { Program, type ProgramOptions, settled, until } from "../../support/pty-program.ts";

const everything = { bytes: true, signalNames: true, formats: true, throttle: true, argv0: true };
const little = { bytes: false, signalNames: false, formats: false, throttle: false, argv0: false };
const adapters = [
  { adapter: "bun", opened: () => openPty("bun"), can: everything },
  { adapter: "bun-pty", opened: () => openPty("bun-pty"), can: little },
  { adapter: "bun on macOS", opened: async () => openBunTerminalOn(onDarwin(Master.find), false), can: everything },
] as const;

const scratch = realpathSync(mkdtempSync(join(tmpdir(), "wsh-pty-")));
afterAll(() => rmSync(scratch, { recursive: true }));

/** Ends a script whose output counts and whose end does not: the package at times discards what its thread reads last. */
const STAYS = "read end";
const full = process.env.WSH_TEST_FULL === "1";
/** Programs that end at once, one after the other: no more for the package, which polls, and of which little is asked. */
const SHORT_LIVED = full ? 50 : 20;
const SHORT_LIVED_POLLED = full ? 50 : 4;

/** Interval between two signals to a program that may have only noted the first, in ms. */
const AGAIN_MS = 500;

const linux = process.platform === "linux";
const shell = {
  file: "/bin/bash",
  args: ["--norc", "--noprofile", "-i"],
  env: { PS1: "READY> ", HISTFILE: "" },
} as const;
/** Output of `seq 1 last` on a cooked terminal. */
const counted = (last: number) => Array.from({ length: last }, (_, at) => `${at + 1}\r\n`).join("");
const running = (pid: number) => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};
const nameOf = (pid: number | null) => {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return null;
  }
};

describe.each(adapters)("$adapter", ({ opened, can }) => {
  const start = async (script: string, options?: ProgramOptions) => Program.start(await opened(), script, options);

  test("a program gets its arguments, directory, size and complete environment, and nothing else", async () => {
    process.env.WSH_TEST_OWN = "ours";
    using program = await start("", {
      file: "/bin/sh",
      args: [
        ...["-c", `echo "[$1][$2][$#]"; pwd; stty size; echo "$GREETING"; env; tty; ${STAYS}`],
        ...["sh", "two words", "quo'te\"$x"],
      ],
      cwd: scratch,
      env: { GREETING: "cześć 🙂" },
      rows: 33,
      cols: 101,
    });
    delete process.env.WSH_TEST_OWN;
    await program.shows(`${program.pty.tty}\r\n`);
    expect(program.text).toContain(`[two words][quo'te"$x][2]\r\n${scratch}\r\n33 101\r\ncześć 🙂\r\n`);
    expect(program.text).not.toContain("WSH_TEST_OWN");
    expect(program.text).toEndWith(`${program.pty.tty}\r\n`);
  });

  test("a login shell gets a login shell's name", async () => {
    using program = await start(`echo "[$0]"; ${STAYS}`, { argv0: "-sh" });
    await program.shows("]\r\n");
    expect(program.text).toBe(can.argv0 ? "[-sh]\r\n" : "[/bin/sh]\r\n");
  });

  test("the child leads a separate session on its terminal", async () => {
    using program = await start(`ps -o pid=,pgid=,sid=,tpgid= -p $$; ${STAYS}`);
    await program.shows("\r\n");
    expect(program.text.trim().split(/\s+/)).toEqual(Array(4).fill(String(program.pty.pid)));
  });

  test("a program that cannot be started is an error with the reason", async () => {
    const made = (name: string, text: string, mode = 0o755) => {
      const path = join(scratch, name);
      writeFileSync(path, text, { mode });
      return path;
    };
    const plain = made("plain", "#!/bin/sh\n", 0o644);
    for (const [file, reason] of [
      ["/nowhere/program", "does not exist"],
      [scratch, "is a directory"],
      [plain, "is not executable"],
      [made("lost", "#! /nowhere/sh -e\n"), "needs the interpreter '/nowhere/sh', which does not exist"],
      [made("led", `#!${plain}\n`), `needs the interpreter '${plain}', which is not executable`],
      ...(can.formats
        ? ([[made("text", "echo\n"), "is not an executable of this system and has no '#!' line"]] as const)
        : []),
    ] as const) {
      await expect(start("", { file })).rejects.toMatchObject({
        code: "session_create_failed",
        message: `'${file}' ${reason}`,
      });
    }
  });

  test("the child has the person's soft limit of open files, this process keeps its own", async () => {
    const own = readFileSync("/proc/self/limits", "utf8");
    using program = await start(`ulimit -Sn; ulimit -Hn; echo end; ${STAYS}`, { openFiles: 321 });
    await program.shows("end");
    expect(program.text).toStartWith("321\r\n");
    expect(program.text).not.toBe("321\r\n321\r\nend\r\n");
    expect(readFileSync("/proc/self/limits", "utf8")).toBe(own);
  });

  test("characters of several bytes arrive whole, both ways", async () => {
    using program = await start("stty -echo; echo ready; cat");
    await program.shows("ready");
    const line = `${"zażółć gęślą jaźń 🙂 日本語 ".repeat(18)}\n`; // shorter than any kernel's line
    for (let at = 0; at < 20; at++) await program.type(line);
    const whole = `ready\r\n${line.replace("\n", "\r\n").repeat(20)}`;
    await until("all lines", () => program.received >= Buffer.byteLength(whole));
    expect(program.text).toBe(whole);
  });

  test("bytes that are not text", async () => {
    const all = Uint8Array.from({ length: 256 }, (_, at) => at);
    using program = await start("stty raw -echo; echo ready; head -c 256 >bytes; printf '\\200\\377end'; sleep 1", {
      cwd: scratch,
    });
    await program.shows("ready");
    await program.pty.write(all);
    if (can.bytes) {
      await until("the output ends", () => program.bytes.includes("end"));
      expect([...program.bytes.subarray(-5)]).toEqual([0x80, 0xff, ...Buffer.from("end")]);
      expect(new Uint8Array(readFileSync(join(scratch, "bytes")))).toEqual(all);
    } else {
      // Each byte from 0x80 became the three bytes of U+FFFD, so that 256 bytes are there before the 171st is.
      await program.shows("end");
      expect(program.text).toContain("\ufffd\ufffdend");
      expect(readFileSync(join(scratch, "bytes")).subarray(128, 131).toString()).toBe("\ufffd");
    }
  });

  test("the program sees a resize", async () => {
    using program = await start("trap 'stty size' WINCH; echo ready; while :; do sleep 0.02; done");
    await program.shows("ready");
    program.pty.resize(50, 132);
    await program.shows("50 132");
    program.pty.resize(7, 20);
    await program.shows("7 20");
  });

  test("an exit code is reported, once", async () => {
    using program = await start("exit 42");
    expect(await program.exited).toEqual({ code: 42, signal: null });
    await settled("no second report", () => program.exits, 150);
    expect(program.exits).toBe(1);
  });

  test("a child ended by a signal", async () => {
    using own = await start("kill -KILL $$");
    expect(await own.exited).toEqual(can.signalNames ? { code: null, signal: "SIGKILL" } : { code: 1, signal: null });
    using ours = await start("echo ready; exec sleep 60");
    await ours.shows("ready");
    ours.pty.signal("SIGTERM", "child");
    expect(await ours.exited).toEqual(
      can.signalNames ? { code: null, signal: "SIGTERM" } : { code: null, signal: null },
    );
  });

  test("the last output of a program is never cut off", async () => {
    const whole = counted(20_000);
    const rounds = 6;
    let complete = 0;
    for (let round = 0; round < rounds; round++) {
      using program = await start("seq 1 20000; exit 7");
      expect(await program.exited).toEqual({ code: 7, signal: null });
      if (program.text === whole) complete++;
    }
    // The package at times discards what its thread reads last.
    expect(complete).toBeGreaterThanOrEqual(can.throttle ? rounds : 1);
  });

  test("unread output of a program that ends is kept", async () => {
    const script = `stty -echo -opost; head -c ${QUANTUM_BYTES} /dev/zero; read go; printf '%01000d' 0; exit 3`;
    using program = await start(script, { hold: true });
    await until("a quantum was delivered", () => program.received === QUANTUM_BYTES);
    await program.type("\n");
    await until("the program ended", () => !running(program.pty.pid));
    program.acknowledge(true);
    expect(await program.exited).toEqual({ code: 3, signal: null });
    if (can.throttle) expect(program.received).toBe(QUANTUM_BYTES + 1000);
  });

  test("programs that end at once, one after the other, lose nothing and delay nothing", async () => {
    const times: number[] = [];
    const rounds = can.throttle ? SHORT_LIVED : SHORT_LIVED_POLLED;
    for (let round = 0; round < rounds; round++) {
      const began = performance.now();
      using silent = await start("", { file: "/bin/true", args: [] });
      expect(await silent.exited).toEqual({ code: 0, signal: null });
      using loud = await start("echo ended; exit 9");
      expect(await loud.exited).toEqual({ code: 9, signal: null });
      // The package at times discards what its thread reads last.
      if (can.throttle) expect(loud.text).toBe("ended\r\n");
      times.push(performance.now() - began);
    }
    // Each of the two would otherwise wait for a silence of 100 ms, in every round; the package polls.
    if (can.throttle) expect(times.toSorted((a, b) => a - b)[Math.floor(rounds / 4)]).toBeLessThan(200);
  });

  test("the end of a program whose own job keeps the terminal open", async () => {
    using program = await start("set -m; trap '' HUP; (trap '' HUP; sleep 2; echo late) & echo early; exit 5");
    expect(await program.exited).toEqual({ code: 5, signal: null });
    if (can.throttle) expect(program.text).toContain("early");
  });

  test("a shell that was hung up ends", async () => {
    using program = await start("", shell);
    await program.shows("READY> ");
    const hangUp = () => program.pty.signal("SIGHUP", "group");
    hangUp();
    // Between its prompt and its wait for a key bash only notes a first signal, and then waits; a second one ends it.
    const again = setInterval(hangUp, AGAIN_MS);
    try {
      expect((await program.exited).code === 0).toBe(false);
    } finally {
      clearInterval(again);
    }
  });

  test.if(linux)("a child gets none of our descriptors, and its terminal is not ours", async () => {
    const controlling = () => readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ")[4];
    const before = controlling();
    using first = await start("echo ready; sleep 5");
    using second = await start(`ls -l /proc/self/fd | grep -c '/dev/\\(pts\\|ptmx\\)'; ${STAYS}`);
    await second.shows("\r\n");
    // Its own terminal, as 0 and 2; 1 is the pipe.
    expect(second.text).toBe("2\r\n");
    expect(controlling()).toBe(before);
    expect(first.exits).toBe(0);
  });

  test("a grandchild that keeps the terminal open does not delay the end", async () => {
    using silent = await start("trap '' HUP; (sleep 3) & echo started; exit 3");
    expect(await silent.exited).toEqual({ code: 3, signal: null });
    if (can.throttle) expect(silent.text).toContain("started");
    // Bounded: with bun-pty nothing else ends it.
    using noisy = await start("trap '' HUP; timeout 2 sh -c 'while echo noise; do sleep 0.01; done' & exit 4");
    expect(await noisy.exited).toEqual({ code: 4, signal: null });
  });

  test("a flood waits for acknowledgements and every line arrives", async () => {
    const last = full ? 300_000 : 150_000;
    const whole = counted(last);
    using program = await start("", { file: "/usr/bin/seq", args: ["1", String(last)], hold: true });
    await until("a quantum was delivered", () => program.received >= QUANTUM_BYTES);
    if (can.throttle) {
      const written = () => Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${program.pty.pid}/io`, "utf8"))?.[1]);
      if (linux) {
        await settled("the child stops", written, 100);
        // Delivered, read ahead (up to 256 KB), and in the kernel's buffers.
        expect(written()).toBeLessThan(3 * QUANTUM_BYTES);
      }
      expect(program.exits).toBe(0);
    } else {
      await until("the child is not held up", () => !running(program.pty.pid));
    }
    expect(program.received).toBe(QUANTUM_BYTES);
    program.acknowledge(true);
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(can.throttle ? program.text === whole : whole.startsWith(program.text)).toBe(true);
  });

  test("Ctrl-C stops a flood at once and leaves the prompt", async () => {
    using program = await start("", shell);
    await program.shows("READY> ");
    for (let round = 0; round < (full ? 4 : 2); round++) {
      const from = program.received;
      await program.type("yes\r");
      await until("the flood is on", () => program.received > from + 1_000_000);
      await program.type("\x03");
      await until("the shell is in front", () => program.pty.foreground() === program.pty.pid);
      await until("a prompt", () => program.endsWith("READY> "));
    }
    await program.type("echo $?-still-here\r");
    await program.shows("130-still-here\r\n");
  });

  test("Ctrl-C reaches an unread flood", async () => {
    using program = await start("", { ...shell, hold: true });
    await program.shows("READY> ");
    await program.type("yes\r");
    await until("nothing more is delivered", () => program.received >= QUANTUM_BYTES);
    expect(program.pty.foreground()).not.toBe(program.pty.pid);
    await program.type("\x03");
    if (can.throttle) await until("the shell is in front", () => program.pty.foreground() === program.pty.pid);
    program.acknowledge(true);
    await until("a prompt", () => program.endsWith("READY> "));
  });

  test("Ctrl-S stops the output, Ctrl-Q continues it, nothing is lost", async () => {
    const go = join(scratch, `go-${crypto.randomUUID()}`);
    const rest = `[ $i != 50 ] || until [ -e ${go} ]; do sleep 0.01; done; sleep 0.002`;
    using program = await start(`stty -echo; for i in $(seq 1 120); do echo $i; ${rest}; done; ${STAYS}`);
    await program.shows("50\r\n");
    await program.type("\x13");
    writeFileSync(go, "");
    await settled("the output stops", () => program.received, 200);
    expect(program.text).not.toContain("120\r\n");
    await program.type("\x11");
    await until("all lines", () => program.received >= counted(120).length);
    expect(program.text).toBe(counted(120));
  });

  test("flags tell a password prompt from a line and from a key", async () => {
    using program = await start("", { file: "/bin/bash", args: ["-c", "read -s a; read b; stty raw -echo; read c"] });
    const flagsAre = (canonical: boolean, echo: boolean) =>
      until(`canonical ${canonical}, echo ${echo}`, () => {
        const flags = program.pty.flags();
        return flags?.canonical === canonical && flags.echo === echo;
      });
    await flagsAre(true, false);
    await program.type("secret\n");
    await flagsAre(true, true);
    await program.type("line\n");
    await flagsAre(false, false);
  });

  test("a signal goes to the foreground group, the child's group or the child", async () => {
    using program = await start("", shell);
    await program.shows("READY> ");
    await program.type("sleep 61\r");
    // Not sooner: between fork and exec the shell's child still handles signals as the shell does.
    await until("the command is in front", () => nameOf(program.pty.foreground()) === "sleep");
    program.pty.signal("SIGINT", "foreground");
    await until("the shell is in front", () => program.pty.foreground() === program.pty.pid);

    using group = await start("sleep 62 & echo pid=$!; wait");
    await group.shows("\r\n");
    const grandchild = Number(/pid=(\d+)/.exec(group.text)?.[1]);
    group.pty.signal("SIGTERM", "group");
    await group.exited;
    await until("the whole group ended", () => !running(grandchild));

    using child = await start("trap 'kill $!; exit 9' TERM; sleep 60 & echo ready; wait");
    await child.shows("ready");
    child.pty.signal("SIGTERM", "child");
    expect(await child.exited).toEqual({ code: 9, signal: null });
    child.pty.signal("SIGTERM", "child");
  });

  test("a megabyte of input arrives exactly", async () => {
    using program = await start("stty raw -echo; echo ready; exec cat");
    await program.shows("ready");
    const start_ = program.received;
    const paste = Buffer.from(counted(150_000)).subarray(0, 1024 * 1024);
    await program.pty.write(paste);
    await until("all came back", () => program.received - start_ >= paste.length);
    expect(program.bytes.subarray(start_).equals(paste)).toBe(true);
  });

  test("several writers stay in order", async () => {
    using program = await start("stty raw -echo; echo ready; exec cat");
    await program.shows("ready");
    const start_ = program.received;
    const pieces = Array.from({ length: 60 }, (_, at) => `<${at}:${String(at % 10).repeat((at * 97) % 4000)}>`);
    await Promise.all(pieces.map((piece) => program.type(piece)));
    const whole = pieces.join("");
    await until("all came back", () => program.received - start_ >= whole.length);
    expect(program.bytes.subarray(start_).toString() === whole).toBe(true);
  });

  test("input to an ended program is refused", async () => {
    using program = await start("exit 0");
    await program.exited;
    await expect(program.type("late")).rejects.toMatchObject({ code: "input_send_failed" });
  });

  test("dispose hangs up: the session gets SIGHUP", async () => {
    const program = await start("trap 'echo gone >hangup; exit' HUP; echo ready; while :; do sleep 0.02; done", {
      cwd: scratch,
    });
    await program.shows("ready");
    program.pty.dispose();
    program.pty.dispose();
    await until("the trap ran", () => readdirSync(scratch).includes("hangup"));
    await until("the child ended", () => !running(program.pty.pid));
    rmSync(join(scratch, "hangup"));
    await expect(program.type("late")).rejects.toMatchObject({ code: "input_send_failed" });
    expect(program.pty.flags()).toBeNull();
    expect(program.pty.foreground()).toBeNull();
  });

  test.if(linux)("nothing is left behind: no descriptor, thread or process", async () => {
    const counts = () => ({
      descriptors: readdirSync("/proc/self/fd").length,
      threads: readdirSync("/proc/self/task").length,
    });
    const cycle = async (round: number) => {
      const program = await start(round % 3 === 0 ? "exit 0" : round % 3 === 1 ? "exec sleep 60" : "exec yes", {
        hold: round % 2 === 0,
      });
      if (round % 3 === 0) await program.exited;
      program.pty.dispose();
      await until("the child ended", () => !running(program.pty.pid));
    };
    for (let round = 0; round < 6; round++) await cycle(round);
    const before = counts();
    for (let round = 0; round < 24; round++) await cycle(round);
    await until("the counts are back", () => {
      const now = counts();
      return now.descriptors <= before.descriptors + 2 && now.threads <= before.threads + 2;
    });
  });
});

test("a program that does not read makes input fail after five seconds, and nothing accumulates", async () => {
  await Promise.all(
    // In one process at the same time, as a session process never has them: one of each kind.
    adapters.slice(0, 2).map(async ({ opened }) => {
      using program = await Program.start(await opened(), "stty raw -echo; echo ready; exec sleep 60");
      await program.shows("ready");
      const started = performance.now();
      const first = program.pty.write(new Uint8Array(INPUT_LIMIT_BYTES).fill(97));
      const second = program.pty.write(new Uint8Array(1024 * 1024).fill(98));
      // The second is over the limit at once, the first gives up in the end.
      const isFirst = await Promise.race([first.catch(() => true), second.catch(() => false)]);
      expect(isFirst).toBe(false);
      await expect(second).rejects.toMatchObject({ code: "input_send_failed" });
      await expect(first).rejects.toMatchObject({ code: "input_send_failed" });
      const elapsed = performance.now() - started;
      expect(elapsed).toBeGreaterThan(4_900);
      expect(elapsed).toBeLessThan(15_000);
    }),
  );
}, 60_000);

test("where a failed start only ends with 127, such an end at once counts as one, unless a command may have ended so", async () => {
  const open = openBunTerminalOn(onDarwin(Master.find), false);
  const file = join(scratch, "ends");
  writeFileSync(file, "#!/bin/sh\nexit 127\n", { mode: 0o755 });
  await expect(Program.start(open, "", { file, args: [] })).rejects.toMatchObject({
    code: "session_create_failed",
    message: `'${file}' ended at once with code 127, as what cannot be started does`,
  });
  using command = await Program.start(open, "exit 127");
  expect(await command.exited).toEqual({ code: 127, signal: null });
  const speaking = join(scratch, "speaks");
  writeFileSync(speaking, "#!/bin/sh\necho none; exit 127\n", { mode: 0o755 });
  using loud = await Program.start(open, "", { file: speaking, args: [] });
  expect(await loud.exited).toEqual({ code: 127, signal: null });
});
