/** Waiting for events in a session: the answer comes at the event, names the cause, and is never an echo. */
import { describe, expect, test } from "bun:test";
import { type Clock, systemClock } from "../../../src/base/clock.ts";

import { defaultCommandLimits } from "../../../src/pane/commands/commands-port.ts";
import { EchoTracker, echoLines } from "../../../src/pane/text/echo.ts";
import { unmaskedParts } from "../../../src/pane/text/masks.ts";
import { Budget, regexFinder } from "../../../src/pane/waiting/pattern.ts";
import { FakeText } from "../../support/fake-text.ts";
import { failure, LivePane } from "../../support/live-pane.ts";
import { isMissing } from "../../support/programs.ts";
import { watched } from "../../support/silence.ts";
import { processorMs } from "../../support/timing-retries.ts";

/** Time that the test advances. */
class TestClock implements Clock {
  private time = 1_000;
  private timers: { at: number; fire: () => void }[] = [];

  now(): number {
    return this.time;
  }

  wall(): number {
    return 1_700_000_000_000 + this.time;
  }

  after(ms: number, fire: () => void): Disposable {
    const timer = { at: this.time + ms, fire };
    this.timers.push(timer);
    return {
      [Symbol.dispose]: () => {
        this.timers = this.timers.filter((other) => other !== timer);
      },
    };
  }

  get pending(): number {
    return this.timers.length;
  }

  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.time = Math.max(this.time, next.at);
      this.timers = this.timers.filter((timer) => timer !== next);
      next.fire();
      await Promise.resolve();
    }
    this.time = end;
    await Promise.resolve();
  }
}

describe("waiting for silence", () => {
  const ask = { timeoutMs: 100, maxWaitMs: 1_000 };

  test("ends at once when it is quiet already, else when it becomes so", async () => {
    const clock = new TestClock();
    const { activity, silence } = watched(clock);
    await clock.pass(100);
    expect(await silence.awaitIdle(ask)).toEqual({ decided: "idle", generation: 0 });
    activity.record();
    let done = false;
    const idle = silence.awaitIdle(ask).then((outcome) => {
      done = true;
      return outcome;
    });
    await clock.pass(60);
    activity.record();
    await clock.pass(99);
    expect(done).toBe(false);
    await clock.pass(1);
    expect(await idle).toEqual({ decided: "idle", generation: 2 });
    expect(clock.pending).toBe(0);
  });

  test("with the present generation, activity must happen first", async () => {
    const clock = new TestClock();
    const { activity, silence } = watched(clock);
    await clock.pass(500);
    const idle = silence.awaitIdle({ ...ask, lastGeneration: 0 });
    await clock.pass(300);
    activity.record();
    await clock.pass(100);
    expect(await idle).toEqual({ decided: "idle", generation: 1 });
    await clock.pass(500);
    expect(await silence.awaitIdle({ ...ask, lastGeneration: 7 })).toMatchObject({ decided: "idle" });
    const never = silence.awaitIdle({ ...ask, lastGeneration: 1 });
    await clock.pass(1_000);
    expect(await never).toMatchObject({ decided: "timeout" });
  });

  test("fresh silence counts from the request, unless something is happening", async () => {
    const clock = new TestClock();
    const { activity, silence } = watched(clock);
    await clock.pass(500);
    let done = 0;
    void silence.awaitIdle({ ...ask, fresh: true, lastGeneration: 0 }).then(() => done++);
    await clock.pass(99);
    expect(done).toBe(0);
    await clock.pass(1);
    expect(done).toBe(1);
    activity.record();
    await clock.pass(60);
    void silence.awaitIdle({ ...ask, fresh: true }).then(() => done++);
    await clock.pass(40);
    expect(done).toBe(2);
  });

  test("ends with the deadline, the owner and the child", async () => {
    const clock = new TestClock();
    const { silence } = watched(clock);
    const owner = new AbortController();
    const cancelled = silence.awaitIdle({ ...ask, signal: owner.signal });
    owner.abort();
    expect(await cancelled).toMatchObject({ decided: "cancelled" });
    const late = silence.awaitIdle({ timeoutMs: 5_000, maxWaitMs: 200 });
    await clock.pass(200);
    expect(await late).toMatchObject({ decided: "timeout" });
    const open = silence.awaitIdle({ timeoutMs: 5_000, maxWaitMs: 9_000 });
    silence.noteExit();
    expect(await open).toMatchObject({ decided: "exited" });
    expect(await silence.awaitIdle({ timeoutMs: 0, maxWaitMs: 0 })).toMatchObject({ decided: "exited" });
  });
});

describe("the echo of input", () => {
  const cooked = { canonical: true, echo: true };
  const raw = { canonical: false, echo: false };
  const bytes = (text: string) => new TextEncoder().encode(text);

  function tracker(prompt: string) {
    const text = new FakeText();
    text.print(prompt);
    const echo = new EchoTracker(text, systemClock);
    const print = (output: string): void => {
      text.print(output);
      echo.update();
    };
    /** The rest of each line without the echo. */
    const open = () =>
      text.shown.map((line, id) =>
        unmaskedParts(line.length, 0, echo.masks(id, line))
          .map(({ start, end }) => line.slice(start, end))
          .join("|"),
      );
    return { text, echo, print, open };
  }

  test("is masked where it appears, also while it is incomplete", () => {
    const { echo, print, open } = tracker("$ ");
    echo.noteInput(bytes("echo hello\r"), raw, false);
    print("echo h");
    expect(open()).toEqual(["$ "]);
    print("ello\nhello\n$ ");
    expect(open()).toEqual(["$ ", "hello", "$ "]);
  });

  test("output that only equals the input is not", () => {
    const { echo, print, open } = tracker("");
    echo.noteInput(bytes("hello\n"), cooked, true);
    print("hello\nhello\n");
    expect(open()).toEqual(["", "hello", ""]);
  });

  test("text printed over it is output", () => {
    const { text, echo, print, open } = tracker("$ ");
    echo.noteInput(bytes("cat notes\r"), raw, false);
    print("cat notes\n");
    text.shown[0] = "$ name: ";
    expect(open()).toEqual(["$ name: ", ""]);
  });

  test("several lines at once are found after their prompts", () => {
    const { echo, print, open } = tracker(">>> ");
    echo.noteInput(bytes("print(1)\nprint(2)\n"), raw, true);
    print("print(1)\n1\n>>> print(2)\n2\n>>> ");
    expect(open()).toEqual([">>> ", "1", ">>> ", "2", ">>> "]);
  });

  test("input that a program does not show masks nothing, even where words end alike", () => {
    const { echo, print, open } = tracker("Sure? ");
    echo.noteInput(bytes("y\n"), raw, true);
    print("\nReady\nfine by me\n");
    expect(open()).toEqual(["Sure? ", "Ready", "fine by me", ""]);
  });

  test("an echo that does not arrive is given up, however the output arrives", () => {
    const { echo, print } = tracker("");
    echo.noteInput(bytes("x"), raw, true);
    for (let line = 0; line < 600; line++) print(`${line}\n`);
    expect(echo.isPending).toBe(false);
  });

  test("a password is not remembered", () => {
    const { echo, print, open } = tracker("Password: ");
    echo.noteInput(bytes("secret\n"), { canonical: true, echo: false }, true);
    print("\nsecret\n");
    expect(open()).toEqual(["Password: ", "secret", ""]);
  });

  test("control characters and corrections are masked as displayed", () => {
    expect(echoLines("sleep\x03")).toEqual(["sleep^C"]);
    expect(echoLines("lx\x7fs -l\rnext")).toEqual(["ls -l", "next"]);
    expect(echoLines("cd /u\tlocal\r\x1b[A\r")).toEqual(["cd /u"]);
    const { echo, print, open } = tracker("");
    echo.noteInput(bytes("\x03"), cooked, true);
    print("^C\n$ ");
    expect(open()).toEqual(["", "$ "]);
  });

  test("input typed ahead is masked again at the prompt", () => {
    const { echo, print, open } = tracker("");
    echo.noteInput(bytes("ls\n"), cooked, true);
    print("ls\nworking\n$ ");
    echo.notePrompt();
    print("ls\nfile\n");
    expect(open()).toEqual(["", "working", "$ ", "file", ""]);
  });

  test("input that an interrupt discarded is not awaited at the prompt, where it would hide later echo", () => {
    const { echo, print, open } = tracker("");
    echo.noteInput(bytes("ls\n"), cooked, true);
    echo.noteInput(bytes("\x03"), cooked, true);
    print("ls\n^C\n$ ");
    echo.notePrompt();
    echo.noteInput(bytes("date\r"), raw, false);
    print("date");
    expect(open()).toEqual(["", "", "$ "]);
  });

  test("input just before the prompt is masked in both places, though they arrive at once", () => {
    const { text, echo, print, open } = tracker("");
    echo.noteInput(bytes("ls\n"), cooked, true);
    text.print("ls\n$ ");
    echo.notePrompt();
    print("ls\nfile\n");
    expect(open()).toEqual(["", "$ ", "file", ""]);
  });
});

describe("patterns", () => {
  test("match with groups, within the open part of a line", async () => {
    const find = await regexFinder("(\\w+)=(\\d+)?", "i");
    expect(find("X a=1 b=", 0, 8)).toEqual({ text: "a=1", start: 2, groups: ["a", "1"] });
    expect(find("X a=1 b=", 4, 8)).toEqual({ text: "b=", start: 6, groups: ["b", null] });
    expect(find("X a=1 b=", 0, 3)).toBeNull();
    const long = `${"x".repeat(50_000)}=7${"y".repeat(50_000)}`;
    expect(find(long, 0, long.length)).toMatchObject({ groups: [long.slice(0, 50_000), "7"] });
  });

  test("are refused when they are not RE2 syntax", async () => {
    await expect(regexFinder("(a)\\1", "")).rejects.toMatchObject({ code: "invalid_request" });
    await expect(regexFinder("(?=a)", "")).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("that would block the session in a line of megabytes are refused, not run", async () => {
    const find = await regexFinder(".{1000}$", "");
    const line = "x".repeat(300_000);
    const began = processorMs();
    expect(() => find(line, 0, line.length)).toThrow(expect.objectContaining({ code: "regex_too_slow" }));
    expect(processorMs() - began).toBeLessThan(5_000);
    expect(find(line, 0, 2_000)).toMatchObject({ start: 1_000 });
  });

  test("that would be exponential take linear time", async () => {
    const find = await regexFinder("^(a+)+$", "");
    const began = processorMs();
    for (let n = 0; n < 50; n++) find(`${"a".repeat(5_000)}!`, 0, 5_001);
    expect(processorMs() - began).toBeLessThan(2_000);
  });

  test("that are too expensive nevertheless are stopped, unless only the processor was with others", () => {
    let time = 0;
    const spendFive = (budget: Budget) => {
      const work = () => {
        time += 60;
        return null;
      };
      for (let n = 0; n < 5; n++) budget.spend(work);
    };
    const clock = () => time;
    expect(() => spendFive(new Budget(clock, clock))).toThrow("matching");
    spendFive(new Budget(clock, () => time / 3));
  });
});

describe("waiting in a session", () => {
  const max = { maxWaitMs: 15_000 };

  test("for a text: later output, not its echo or earlier text", async () => {
    await using live = await LivePane.start();
    await live.exec("echo MARKER-1");
    const before = await live.commands.wait({ anyOf: [{ type: "text", text: "MARKER-1" }], maxWaitMs: 0 });
    expect(before.decidedBy).toBe("timeout");
    const wait = live.commands.wait({ anyOf: [{ type: "text", text: "MARKER-2" }], ...max });
    live.type("sleep 0.2; echo MARKER-2\r");
    const found = await wait;
    expect(found).toMatchObject({ decidedBy: "text", match: "MARKER-2" });
    const id = found.lineId ?? -1;
    const { lines } = live.pane.terminal.text({ line: id, col: 0 }, { line: id + 1, col: 0 }, "plain");
    expect(lines).toEqual([{ id, line: "MARKER-2" }]);
  });

  test("a match's cursor is its end: later text of the same piece is found after it, each once", async () => {
    await using live = await LivePane.start();
    // Each printed at once, and the matches that a loop finds.
    const printed: Record<string, [string, ...string[]]> = {
      "one: 1\\ntwo: 2\\nthree: 3\\n": ["(\\w+): \\d", "one: 1", "two: 2", "three: 3"],
      "a=1 b=2 c=3": ["\\w=\\d", "a=1", "b=2", "c=3"],
      "p 1%%\\rp 2%% p 3%%\\r\\x1b[Kp 44%%\\nlast 5%%\\n": ["\\d+%", "1%", "2%", "3%", "44%", "5%"],
      "\u4f60\u597d x1 \u4e16\u754c x2 e\u0301 x3\\n\\tx4\\n": ["x\\d", "x1", "x2", "x3", "x4"],
      "\\n\\nq1\\n\\x1b[A\\x1b[4C\\x1b[1mq2\\n": ["q\\d", "q1", "q2"],
      "\\x1b[?1049h\\x1b[Hr1 r2\\r\\nr3\\x1b[5;1Hr4": ["r\\d", "r1", "r2", "r3", "r4"],
      "\\x1b[?1049ls1\\n\\x1b[1mABC\\x1b[m": ["[A-Z]", "A", "B", "C"],
    };
    for (const [text, [pattern, ...wanted]] of Object.entries(printed)) {
      await live.exec("clear");
      let since = live.pane.giveCursor();
      const begin = since;
      const anyOf = [{ type: "regex", pattern, flags: "" }] as const;
      // The first match ends a wait; the others came with it.
      const first = live.commands.wait({ anyOf, since, ...max });
      live.type(`printf '${text}'; read x\r`);
      const found: { match: string; since: number }[] = [];
      for (let next = await first; next.decidedBy === "regex"; ) {
        since = next.outputCursor;
        found.push({ match: next.match ?? "", since });
        await live.commands.wait({ anyOf: [{ type: "waiting_for_input" }], ...max });
        next = await live.commands.wait({ anyOf, since, maxWaitMs: 0 });
      }
      expect(found.map(({ match }) => match)).toEqual(wanted);
      // An earlier match's cursor continues there again, and cursors grow.
      expect(await live.commands.wait({ anyOf, since: found[0]?.since, maxWaitMs: 0 })).toMatchObject({
        match: wanted[1],
      });
      expect(found.map((each) => each.since)).toEqual(
        [...new Set(found.map((each) => each.since))].sort((a, b) => a - b),
      );
      // The command ends after each of its matches.
      live.type("\r");
      await live.commands.wait({ anyOf: [{ type: "prompt" }], ...max });
      const ended = { anyOf: [{ type: "command_finished" }] as const, maxWaitMs: 0 };
      expect(await live.commands.wait({ ...ended, since: begin })).toMatchObject({ decidedBy: "command_finished" });
      expect(await live.commands.wait({ ...ended, since })).toMatchObject({ decidedBy: "command_finished" });
    }
    // Text after a match is output since it.
    await live.exec("clear");
    const since = live.pane.giveCursor();
    await live.exec("printf 'a \u4f60 b1 rest\\nnext\\n'");
    const { outputCursor } = await live.commands.wait({ anyOf: [{ type: "text", text: "b1" }], since, maxWaitMs: 0 });
    const after = live.pane.textSince(outputCursor, "plain").lines.map(({ line }) => line);
    expect(after.slice(0, 2)).toEqual([" rest", "next"]);
  });

  test("a match that its line may still change counts once the line has ended or rests", async () => {
    await using live = await LivePane.start();
    const next = "read -rsn1";
    live.type(
      `(sleep 0.1; printf 'Build 1'; sleep 0.1; printf '23 o'; sleep 0.1; printf 'k\\nCode 47'; sleep 0.1; printf '11: '; ${next}; printf '50%%'; sleep 30)\r`,
    );
    const found = async (pattern: string, since: number) => {
      const began = performance.now();
      const { match, outputCursor } = await live.commands.wait({
        anyOf: [{ type: "regex", pattern, flags: "" }],
        since,
        ...max,
      });
      return { match, outputCursor, ms: performance.now() - began };
    };
    const since = live.pane.giveCursor();
    const [whole, code, question] = await Promise.all([
      found("^Build \\d+( ok)?$", since),
      found("Code \\d+", since),
      found("^Code \\d+: $", since),
    ]);
    expect([whole.match, code.match, question.match]).toEqual(["Build 123 ok", "Code 4711", "Code 4711: "]);
    live.type("x");
    // The end of the line is unknown; after a time it counts, and at once with the end of the program.
    expect(await found("50%$", question.outputCursor)).toMatchObject({ match: "50%" });
    const ended = found("t\\d+$", live.pane.giveCursor());
    live.type("\x03");
    await live.commands.wait({ anyOf: [{ type: "prompt" }], ...max });
    live.type("exec printf t7\r");
    expect(await ended).toMatchObject({ match: "t7" });
  });

  test("a match at the cursor waits for a program that computes", async () => {
    await using live = await LivePane.start();
    const since = live.pane.giveCursor();
    live.type("(printf 'Sum 1'; timeout --foreground 0.5 yes >/dev/null; printf '23\\n'; sleep 30)\r");
    const { match } = await live.commands.wait({
      anyOf: [{ type: "regex", pattern: "^Sum \\d+", flags: "" }],
      since,
      ...max,
    });
    expect(match).toBe("Sum 123");
    live.type("\x03");
  });

  test("from a cursor of the past", async () => {
    await using live = await LivePane.start();
    const since = live.pane.outputCursor;
    await live.exec("echo port 8080 open");
    const wait = { anyOf: [{ type: "regex", pattern: "port (\\d+)", flags: "" }], since, maxWaitMs: 0 } as const;
    expect(await live.commands.wait(wait)).toMatchObject({ decidedBy: "regex", match: "port 8080", groups: ["8080"] });
    const after = live.pane.outputCursor;
    expect(await live.commands.wait({ ...wait, since: after })).toMatchObject({ decidedBy: "timeout" });
    expect(await failure(live.commands.wait({ ...wait, since: after + 1 }))).toMatchObject({ code: "invalid_cursor" });
  });

  test("in a long unfinished line are the whole line's", async () => {
    await using live = await LivePane.start();
    live.type(`printf x; printf '%100000s' y; sleep 0.2; printf '%100000s. ' code; read -n 1 -s\r`);
    const wait = (pattern: string, maxWaitMs: number) =>
      live.commands.wait({ anyOf: [{ type: "regex", pattern, flags: "" }], maxWaitMs, since: 0 });
    const [whole, end] = await Promise.all([wait("^.*code\\.", 15_000), wait("^ +code", 1_000)]);
    expect(whole).toMatchObject({ match: expect.stringMatching(/^x.{200001}$/) });
    expect(end).toMatchObject({ decidedBy: "timeout" });
  });

  test("in a long line each text once", async () => {
    await using live = await LivePane.start();
    const pause = "read -n 1 -s";
    live.type(
      `printf '%100000s code %s. ' x 1; ${pause}; printf '%1000s' y; ${pause}; printf 'code %s.' 2; ${pause}\r`,
    );
    const wait = { anyOf: [{ type: "regex", pattern: "code \\d\\.", flags: "" }], ...max } as const;
    expect(await live.commands.wait({ ...wait, since: 0 })).toMatchObject({ match: "code 1." });
    await live.commands.wait({ anyOf: [{ type: "waiting_for_input" }], ...max });
    const since = live.pane.outputCursor;
    expect(await live.commands.wait({ ...wait, since, maxWaitMs: 0 })).toMatchObject({ decidedBy: "timeout" });
    const next = live.commands.wait({ ...wait, since });
    live.type("1");
    live.type("2");
    expect(await next).toMatchObject({ match: "code 2." });
  });

  test("for a line that is not finished and one that is rewritten", async () => {
    await using live = await LivePane.start();
    live.type("printf 'Continue? '; read answer; for i in 1 2 3; do printf '\\r%s%% of all' $i; sleep 0.1; done\r");
    const asked = await live.commands.wait({ anyOf: [{ type: "text", text: "Continue? " }], ...max, since: 0 });
    expect(asked).toMatchObject({ decidedBy: "text" });
    const state = await live.commands.wait({ anyOf: [{ type: "waiting_for_input" }], ...max });
    expect(state).toMatchObject({ decidedBy: "waiting_for_input", state: { state: "waiting_for_input" } });
    const wait = live.commands.wait({ anyOf: [{ type: "regex", pattern: "^3% of", flags: "" }], ...max });
    live.type("y\r");
    expect(await wait).toMatchObject({ decidedBy: "regex", match: "3% of" });
  });

  test("for new text, when a prompt is erased and redrawn with the answer", async () => {
    await using live = await LivePane.start();
    const key = "read -rsn1 k";
    const [erase, draw] = ["printf '\\033[1A\\033[1G\\033[J'", 'printf "Setup\\nname: $a"'];
    live.type(`a=; ${draw}; for n in 1 2; do ${key}; a=$a$k; ${erase}; ${key}; ${draw}; done; ${key}; echo; ${draw}\r`);
    const asked = { anyOf: [{ type: "regex", pattern: "name|Setup", flags: "" }], maxWaitMs: 0 } as const;
    expect(await live.commands.wait({ ...asked, ...max })).toMatchObject({ match: "Setup" });
    await live.commands.wait({ anyOf: [{ type: "waiting_for_input" }], ...max });
    const since = live.pane.giveCursor();
    const changed = live.commands.wait({ ...asked, ...max, since });
    for (const typed of "a-b-") {
      live.type(typed);
      await live.commands.wait({ anyOf: [{ type: "waiting_for_input" }], ...max });
    }
    expect(await live.commands.wait({ ...asked, since })).toMatchObject({ decidedBy: "timeout" });
    live.type("q");
    expect(await changed).toMatchObject({ match: "Setup" });
  });

  test("for text that scrolls by in a flood", async () => {
    await using live = await LivePane.start({ historyLines: 100 });
    const wait = live.commands.wait({ anyOf: [{ type: "regex", pattern: "^12345$", flags: "" }], ...max });
    live.type("seq 1 20000\r");
    expect(await wait).toMatchObject({ decidedBy: "regex", match: "12345" });
  });

  test("for text on the alternate screen", async () => {
    await using live = await LivePane.start();
    const wait = live.commands.wait({ anyOf: [{ type: "text", text: "inside" }], ...max });
    live.type("printf '\\033[?1049h\\033[3;3Hin''side'; sleep 60\r");
    expect(await wait).toMatchObject({ decidedBy: "text", match: "inside" });
    const full = live.commands.state();
    expect(full.state).toBe("fullscreen");
    // Also when the command's start came in the same piece of output.
    const since = live.commands.log.runningCommand?.output_start;
    const again = { anyOf: [{ type: "text", text: "inside" }] as const, since, maxWaitMs: 0 };
    expect(await live.commands.wait(again)).toMatchObject({ match: "inside" });
  });

  test("for the command's end, a password, the bell and the shell's end", async () => {
    await using live = await LivePane.start();
    const finished = live.commands.wait({ anyOf: [{ type: "command_finished" }], ...max });
    live.type("(exit 4)\r");
    expect(await finished).toMatchObject({ decidedBy: "command_finished", command: { exit_code: 4 } });
    const password = live.commands.wait({ anyOf: [{ type: "password" }], ...max });
    live.type("read -s secret\r");
    expect(await password).toMatchObject({ decidedBy: "password", state: { state: "password" } });
    live.type("word\r");
    const bell = live.commands.wait({ anyOf: [{ type: "bell" }], ...max });
    live.type("printf '\\a'\r");
    expect(await bell).toMatchObject({ decidedBy: "bell" });
    const end = live.commands.wait({ anyOf: [{ type: "text", text: "never" }, { type: "exited" }], ...max });
    live.type("exit\r");
    expect(await end).toMatchObject({ decidedBy: "exited" });
    expect(await live.commands.wait({ anyOf: [{ type: "prompt" }], ...max })).toMatchObject({ decidedBy: "exited" });
  });

  test("a quiet sleep is not finished", async () => {
    await using live = await LivePane.start();
    const began = performance.now();
    const run = await live.run("sleep 2.1\r");
    expect(run).toMatchObject({ decidedBy: "command_finished", command: { exit_code: 0 } });
    expect(performance.now() - began).toBeGreaterThan(2_000);
    const asked = await live.run("sleep 60\r", { timeoutMs: 100, maxWaitMs: 10_000 });
    expect(asked).toMatchObject({ decidedBy: "idle", state: { state: "running" } });
  });

  test.skipIf(isMissing("python3"))("a line of the python REPL returns when it is ready again", async () => {
    await using live = await LivePane.start();
    const start = await live.run("python3 -q\r");
    expect(start).toMatchObject({ decidedBy: "waiting_for_input" });
    const sum = await live.run("import time; time.sleep(0.5); 20 + 22\r");
    expect(sum.decidedBy).toBe("waiting_for_input");
    expect(sum.output.text.split("\n")[0]).toBe("42");
    const server =
      "import http.server as h; h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler).serve_forever()\r";
    expect(await live.run(server, { timeoutMs: 300 })).toMatchObject({
      decidedBy: "idle",
      state: { doing: "waiting" },
    });
  });

  test("ends with its owner, its time and its limit", async () => {
    await using live = await LivePane.start();
    const owner = new AbortController();
    const waits = Array.from({ length: defaultCommandLimits.waiters }, () =>
      live.commands.wait({ anyOf: [{ type: "text", text: "never" }], ...max, signal: owner.signal }),
    );
    const one = live.commands.wait({ anyOf: [{ type: "exited" }], ...max });
    expect(await failure(one)).toMatchObject({ code: "resource_limit_reached" });
    owner.abort();
    for (const outcome of await Promise.all(waits)) expect(outcome.decidedBy).toBe("cancelled");
    expect(live.commands.pendingWaitCount).toBe(0);
    const short = await live.commands.wait({ anyOf: [{ type: "bell" }], maxWaitMs: 30 });
    expect(short.decidedBy).toBe("timeout");
    expect(
      await failure(live.commands.wait({ anyOf: [{ type: "command_finished" }], commandId: 99, ...max })),
    ).toMatchObject({ code: "command_not_found" });
  });
});
