/** Command records: only facts that the shell reported, all of them within limits. */
import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { CommandFollower } from "../../../src/pane/commands/command-follower.ts";
import { CommandLog } from "../../../src/pane/commands/command-log.ts";
import type { CommandLogLimits } from "../../../src/pane/commands/command-records.ts";
import { signalOfExitCode } from "../../../src/pane/commands/exit-signal.ts";
import type { ShellMark } from "../../../src/pane/ports.ts";
import { cutOutput } from "../../../src/pane/text/cut-output.ts";
import { HeadTail } from "../../../src/pane/text/retained-lines.ts";
import type { RetiredLines } from "../../../src/pane/text/text.ts";
import { FakeText } from "../../support/fake-text.ts";
import { failure, LivePane } from "../../support/live-pane.ts";

/** A log fed with marks and lines as by a session. */
function recording(limits?: CommandLogLimits) {
  const text = new FakeText();
  let holds: boolean | null = true;
  const log = new CommandLog({ text, clock: systemClock, cwd: () => "/home", shellHoldsTerminal: () => holds }, limits);
  const mark = (kind: ShellMark["kind"], more: Partial<ShellMark> = {}): void =>
    log.handleMark({
      kind,
      verified: true,
      exitCode: null,
      commandLine: null,
      offset: text.offset,
      position: text.position(),
      ...more,
    });
  const prompt = (more: Partial<ShellMark> = {}): void => {
    mark("A", more);
    text.print("$ ");
    mark("B", more);
  };
  const begin = (line: string, more: Partial<ShellMark> = {}): void => {
    prompt(more);
    text.print(`${line}\n`);
    mark("C", more);
  };
  const lines = (id = log.last()?.id ?? 0): string[] => {
    const kept = log.output(id);
    return kept === null ? [] : [...kept.head, ...kept.tail];
  };
  const foreground = (shell: boolean | null): void => {
    holds = shell;
  };
  return { text, log, mark, prompt, begin, lines, foreground };
}

const forged = { verified: false };

/** Lines, or a later piece of one, that history drops. */
function retired(lines: readonly (readonly [id: number, text: string])[], begins = true): RetiredLines {
  return {
    count: lines.length,
    areWhole: begins,
    lineId: (index) => lines[index]?.[0] ?? 0,
    beginsLine: () => begins,
    text: (index) => lines[index]?.[1] ?? "",
    length: (from, to) => lines.slice(from, to).reduce((sum, [, text]) => sum + text.length, 0),
    bytes: () => null,
  };
}

describe("a command record", () => {
  test("a command of another script's hooks before the first prompt is not a command", () => {
    const { log, mark, begin } = recording();
    mark("C", forged);
    mark("D", { ...forged, exitCode: 0 });
    begin("make");
    expect(log.list().map(({ command }) => command)).toEqual(["make"]);
    const other = recording();
    other.begin("ls", forged);
    expect(other.log.list().map(({ command }) => command)).toEqual(["ls"]);
  });

  test("a reader of a command whose end was reported before its prompt gets its output and not the prompt", () => {
    const { text, log, mark, begin } = recording();
    begin("make");
    text.print("one\ntwo\n");
    mark("D", { exitCode: 7 });
    mark("A");
    text.print("first of two\n$ ");
    let got = "";
    let state = "";
    const sink = {
      text: (part: string) => {
        got += part;
      },
      omitted: () => {},
      ended: (record: { state: string }) => {
        state = record.state;
      },
    };
    new CommandFollower({ log, text, id: log.last()?.id ?? 0, sink, onEnd: () => {} });
    expect(state).toBe("");
    mark("B");
    expect([got, state]).toEqual(["one\ntwo\n", "finished"]);
  });

  test("the newest output is a prompt's end until more is printed", () => {
    const { text, log, mark, prompt, begin } = recording();
    expect(log.endsWithPrompt).toBe(false);
    prompt();
    expect(log.endsWithPrompt).toBe(true);
    text.print("l");
    expect(log.endsWithPrompt).toBe(false);
    begin("make");
    text.print("one\n");
    mark("D", { exitCode: 0 });
    expect(log.endsWithPrompt).toBe(false);
    prompt();
    expect(log.endsWithPrompt).toBe(true);
  });

  test("lasts from C to D and has the output between them", () => {
    const { text, log, mark, begin, lines, prompt } = recording();
    begin("make all");
    expect(log.phase).toBe("running");
    text.print("one\ntwo");
    expect(lines()).toEqual(["one", "two"]);
    mark("D", { exitCode: 2 });
    prompt();
    expect(lines()).toEqual(["one", "two"]);
    expect(log.last()).toMatchObject({
      id: 1,
      command: "make all",
      cwd: "/home",
      state: "finished",
      exit_code: 2,
      signal: null,
      verified: true,
      output_lines: 2,
    });
    expect(log.phase).toBe("prompt");
  });

  test("is named by the shell, after C or after D", () => {
    const { log, mark, begin } = recording();
    begin("ls  # shown otherwise");
    mark("E", { commandLine: "ls" });
    mark("D", { exitCode: 0 });
    expect(log.last()?.command).toBe("ls");
    begin("x");
    mark("D", { exitCode: 0 });
    mark("E", { commandLine: "x\ny" });
    expect(log.last()?.command).toBe("x\ny");
    log.expect({ command: "what exec sent", line: "eval 'what exec sent'", byProgram: true });
    begin("eval 'what exec sent'");
    mark("E", { commandLine: "eval 'what exec sent'" });
    mark("D", { exitCode: 0 });
    expect(log.last()?.command).toBe("what exec sent");
  });

  test("the command that ran is compared with exec's", () => {
    const { log, mark, begin, prompt } = recording();
    const sent = { command: "echo clean", line: "echo clean", byProgram: true };
    log.expect(sent);
    begin("1;2cecho clean");
    mark("D", { exitCode: 0 });
    expect(log.comparison(1)).toEqual({ kind: "open", ran: "1;2cecho clean" });
    // The shell's own report has precedence over the screen.
    mark("E", { commandLine: "echo  clean" });
    expect(log.comparison(1)).toEqual({ kind: "same" });
    prompt();
    expect(log.last()).toMatchObject({ command: "echo clean", verified: true });
    expect(log.last()).not.toHaveProperty("sent");
    log.expect(sent);
    begin("echo clean");
    mark("E", { commandLine: "rm -r x; echo clean" });
    mark("D", { exitCode: 0 });
    prompt();
    expect(log.comparison(2)).toEqual({ kind: "differs", ran: "rm -r x; echo clean" });
    expect(log.last()).toMatchObject({ command: "rm -r x; echo clean", sent: "echo clean", verified: false });
  });

  test("ends without a code at a prompt without D, if the shell holds the terminal", () => {
    const { log, begin, prompt, foreground } = recording();
    begin("cat typescript");
    foreground(false);
    prompt();
    expect(log.last()).toMatchObject({ state: "running" });
    foreground(true);
    prompt();
    expect(log.last()).toMatchObject({ state: "finished", exit_code: null, signal: null });
  });

  test("counts an end only with the prompt after it: a command can report one itself", () => {
    const { text, log, mark, begin, lines, prompt } = recording();
    begin("eval prompt code");
    mark("D", { exitCode: 5 });
    text.print("after\n");
    expect(log.last()).toMatchObject({ state: "running" });
    mark("D", { exitCode: 9 });
    prompt();
    expect(log.last()).toMatchObject({ state: "finished", exit_code: 9, verified: true });
    expect(lines()).toEqual(["after"]);
  });

  test("takes a pasted block for one command", () => {
    const { text, log, mark, begin, lines } = recording();
    begin("a\nb");
    text.print("out a\n");
    mark("C");
    text.print("out b\n");
    mark("D", { exitCode: 0 });
    expect(log.list()).toHaveLength(1);
    expect(lines()).toEqual(["out a", "out b"]);
  });

  test("ends with the child, with the child's code and never an invented one", () => {
    const { log, begin } = recording();
    begin("exit 3");
    log.handleExit({ code: 3, signal: null });
    expect(log.last()).toMatchObject({ state: "finished", exit_code: 3 });
    begin("sleep 60");
    log.handleExit({ code: null, signal: "SIGKILL" });
    expect(log.last()).toMatchObject({ state: "finished", exit_code: null, signal: "SIGKILL" });
    begin("sleep 60");
    log.handleExit({ code: null, signal: null });
    expect(log.last()).toMatchObject({ state: "lost", exit_code: null });
  });

  test("is not ended or begun by forged marks once true ones were seen", () => {
    const { log, mark, begin, prompt } = recording();
    begin("early", forged);
    mark("D", { exitCode: 0, ...forged });
    expect(log.last()).toMatchObject({ verified: false, exit_code: 0 });
    begin("true one");
    mark("D", { exitCode: 99, ...forged });
    mark("A", forged);
    mark("B", forged);
    expect(log.last()).toMatchObject({ state: "running", verified: true });
    expect(log.innerPhase).toBe("prompt");
    mark("C", forged);
    expect(log.innerPhase).toBe("running");
    expect(log.list()).toHaveLength(2);
    mark("D", { exitCode: 1 });
    prompt();
    expect(log.last()).toMatchObject({ exit_code: 1 });
  });

  test("is that of the line which replaced the shell, though the new program is seen before the marks of that line", () => {
    const { text, log, mark, prompt } = recording();
    prompt();
    text.print("exec fish\n");
    log.handleReplacement();
    // The person's own PS0 prints C, too, before ours.
    mark("C", forged);
    mark("C", { offset: text.offset + 30 });
    log.handleReplacement();
    expect(log.list()).toMatchObject([{ command: "exec fish", state: "replaced", exit_code: null, verified: true }]);
    const [{ output_start, output_end } = { output_start: 1, output_end: 0 }] = log.list();
    expect(output_end).toBeGreaterThanOrEqual(output_start);
    // The new one's own marks count.
    prompt(forged);
    mark("C", forged);
    expect(log.list()).toHaveLength(2);
    expect(log.last()).toMatchObject({ state: "running", verified: false });
  });

  test("keeps lines that history drops, and counts those that it does not keep", () => {
    const { text, log, mark, begin } = recording({ records: 10, recordBytes: 200, totalBytes: 10_000 });
    begin("seq");
    const first = text.position().line;
    for (let n = 0; n < 1_000; n++) text.print(`line ${n}\n`);
    for (let n = 0; n < 900; n += 100) {
      log.noteRetired(retired(Array.from({ length: 100 }, (_, at) => [first + n + at, `line ${n + at}`])));
    }
    text.forgotten = first + 900;
    mark("D", { exitCode: 0 });
    const kept = log.output(1);
    expect(kept?.head.slice(0, 2)).toEqual(["line 0", "line 1"]);
    expect(kept?.tail.at(-1)).toBe("line 999");
    const { head, tail, omitted } = kept ?? { head: [], tail: [], omitted: 0 };
    expect(head.length + tail.length + omitted).toBe(1_000);
    expect(tail.map((line) => Number(line.slice(5)))).toEqual(tail.map((_, n) => 1_000 - tail.length + n));
  });

  test("joins the pieces in which a long line leaves", () => {
    const { text, log, mark, begin, lines } = recording();
    begin("long");
    const { line } = text.position();
    text.print(`${"a".repeat(100)}${"b".repeat(100)}\nend\n`);
    log.noteRetired(retired([[line, "a".repeat(100)]]));
    expect(lines()).toEqual(["a".repeat(100) + "b".repeat(100), "end"]);
    log.noteRetired(retired([[line, "b".repeat(100)]], false));
    text.forgotten = line + 1;
    mark("D", { exitCode: 0 });
    expect(lines()).toEqual(["a".repeat(100) + "b".repeat(100), "end"]);
  });

  test("is evicted by newer ones: its output first, then itself", () => {
    const { text, log, mark, begin, prompt } = recording({ records: 3, recordBytes: 1_000, totalBytes: 1_000 });
    for (let n = 0; n < 5; n++) {
      begin(`command ${n}`);
      text.print(`${String(n).repeat(400)}\n`);
      mark("D", { exitCode: 0 });
    }
    prompt();
    expect(log.list().map((record) => record.id)).toEqual([3, 4, 5]);
    expect(log.get(1)).toBeNull();
    expect(log.output(3)).toEqual({ head: [], tail: [], omitted: 1 });
    expect(log.output(5)?.head).toEqual(["4".repeat(400)]);
  });
});

test("evicted records no longer count: of many commands the newest keep their output", () => {
  const { text, log, mark, begin, prompt } = recording({ records: 3, recordBytes: 1_000, totalBytes: 1_000 });
  for (let n = 0; n < 50; n++) {
    begin(`command ${n}`);
    text.print(`${"x".repeat(100)}\n\nlast of ${n}\n`);
    mark("D", { exitCode: 0 });
  }
  prompt();
  expect(log.list().map(({ id }) => log.output(id)?.head)).toEqual(
    [47, 48, 49].map((n) => ["x".repeat(100), "", `last of ${n}`]),
  );
});

describe("output for a reader", () => {
  const kept = (count: number, budget = 1_000_000) => {
    const lines = new HeadTail(budget);
    for (let n = 0; n < count; n++) lines.push(`line ${n}`);
    return lines.retained();
  };

  test("is whole when it fits, else head and tail with the number of lines between", () => {
    expect(cutOutput(kept(3), 100)).toEqual({ text: "line 0\nline 1\nline 2", omittedLines: 0 });
    const cut = cutOutput(kept(1_000), 60);
    expect(cut.text.split("\n")).toEqual([
      "line 0",
      "line 1",
      "line 2",
      "line 3",
      "[993 lines omitted]",
      "line 997",
      "line 998",
      "line 999",
    ]);
    expect(cut.omittedLines).toBe(993);
    expect(cutOutput(kept(1_000, 60), 1_000).omittedLines).toBeGreaterThan(980);
    expect(cutOutput(kept(2), 0)).toEqual({ text: "", omittedLines: 2 });
  });

  test("keeps characters complete when one line is too long", () => {
    const lines = new HeadTail(1_000);
    lines.push("é".repeat(400));
    const { text } = cutOutput(lines.retained(), 101);
    expect(text).toMatch(/^é{25} \[… 700 bytes omitted …\] é{25}$/);
    const rest = cutOutput({ head: ["a".repeat(5_000), "end"], tail: [], omitted: 0 }, 1_000);
    expect(rest).toMatchObject({
      text: expect.stringMatching(/^a+ \[… \d+ bytes omitted …\] a+\nend$/),
      omittedLines: 1,
    });
  });

  test("a code above 128 names its signal only if it exists", () => {
    expect([130, 137, 143, 128, 255, 1, null].map(signalOfExitCode)).toEqual([
      "SIGINT",
      "SIGKILL",
      "SIGTERM",
      null,
      null,
      null,
      null,
    ]);
  });
});

describe("programs' effects on a shell's records", () => {
  test("forged marks, a nested shell and a size that changes", async () => {
    await using live = await LivePane.start();
    const result = await live.exec("printf '\\033]133;D;99\\007\\033]133;A\\007real\\n'; (exit 5)");
    expect(result).toMatchObject({ exit_code: 5, output: "real" });
    const nested = await live.run("bash --norc --noprofile\r");
    expect(nested).toMatchObject({ decidedBy: "prompt", state: { relay: "bash", decidedFrom: "kernel" } });
    expect(await failure(live.exec("true"))).toMatchObject({ code: "not_at_prompt" });
    expect(await live.run("exit 6\r")).toMatchObject({ decidedBy: "command_finished", command: { exit_code: 6 } });
    const long = "0123456789".repeat(12);
    const wide = live.exec(`echo ${long}; sleep 0.3; echo ${long}`);
    await live.commands.wait({ anyOf: [{ type: "text", text: long }], maxWaitMs: 5_000 });
    await live.pane.resize(20, 50);
    expect(await wide).toMatchObject({ output: `${long}\n${long}`, exit_code: 0 });
  });

  test("a background job may print at the prompt", async () => {
    await using live = await LivePane.start({ rc: "set +m" });
    const since = live.pane.outputCursor;
    await live.exec("(sleep 0.2; echo server is ready) &");
    const found = await live.commands.wait({
      anyOf: [{ type: "text", text: "server is ready" }],
      since,
      maxWaitMs: 10_000,
    });
    expect(found).toMatchObject({ decidedBy: "text" });
  });

  test("of two callers at the prompt one types, and the other is refused", async () => {
    await using live = await LivePane.start();
    await live.exec("true");
    const offers = ["one", "two"].map((text) => live.commands.offerLine({ text, maxWaitMs: 1_000 }));
    expect(await Promise.allSettled(offers)).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "prompt_not_empty" } },
    ]);
  });

  test("without facts of the kernel, marks, flags and silence decide", async () => {
    await using live = await LivePane.start({ facts: false });
    expect(await live.exec("echo hi")).toMatchObject({ exit_code: 0, output: "hi" });
    expect(await live.run("false\r")).toMatchObject({ decidedBy: "command_finished", command: { exit_code: 1 } });
    expect(await live.run("cat\r", { timeoutMs: 300 })).toMatchObject({
      decidedBy: "idle",
      state: { state: "running", decidedFrom: "flags" },
    });
    live.type("\x03");
    await live.commands.wait({ anyOf: [{ type: "prompt" }], maxWaitMs: 10_000 });
    const password = live.commands.wait({ anyOf: [{ type: "password" }], maxWaitMs: 10_000 });
    live.type("read -s secret\r");
    expect(await password).toMatchObject({ decidedBy: "password", state: { decidedFrom: "flags" } });
  });
});
