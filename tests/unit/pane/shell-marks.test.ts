/** Recorded streams of shells: their marks make the same commands however they are cut, and only their owner's count. */
import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { Activity } from "../../../src/pane/activity.ts";
import { Commands } from "../../../src/pane/commands/commands.ts";
import { EditorInput } from "../../../src/pane/editor-input.ts";
import { PaneText } from "../../../src/pane/text/terminal-text.ts";
import { TerminalModel } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";

const NONCE = "n0nce";

/** A session that reads a stream instead of a program's output. */
function session(historyLines = 1_000) {
  const model = new TerminalModel(
    { rows: 10, cols: 40, historyLines, historyBytes: 1e6, nonce: NONCE, profile: defaultProfile },
    {
      reply: () => {},
      chunk: () => {
        text.noteChunk();
        commands.noteChunk(null);
      },
      mark: (mark) => {
        text.notePosition(mark.offset, mark.position);
        commands.handleMark({
          kind: mark.kind,
          verified: mark.nonce === NONCE,
          exitCode: mark.exitCode,
          commandLine: mark.commandLine ?? null,
          params: mark.params,
          offset: mark.offset,
          position: text.textPosition(mark.position),
        });
      },
      bell: () => commands.noteBell(),
      title: () => {},
      cwd: () => {},
      alternate: () => {},
      clipboard: () => {},
      reset: () => {},
      retired: (lines) => commands.noteRetired(lines),
    },
  );
  const text = new PaneText(model);
  const commands = new Commands({
    text,
    clock: systemClock,
    activity: new Activity(systemClock),
    program: {
      pid: null,
      flags: () => ({ canonical: false, echo: false }),
      foreground: () => null,
      exit: null,
      isBehind: false,
    },
    target: {
      shell: "bash",
      integrationReason: null,
      inactiveReason: null,
      replacedBy: null,
      bracketedPaste: true,
      write: async () => {},
      interrupt: () => {},
      kill: () => false,
      execInput: () => ({ text: new Uint8Array(), line: "" }),
      hold: () => ({ write: async () => {}, endPaste: async () => {}, [Symbol.dispose]: () => {} }),
      typed: new EditorInput(),
      isWriting: false,
    },
    cwd: () => model.cwd,
    readFacts: () => null,
  });
  return { model, text, commands };
}

/** Facts of the commands, without those that differ each time. */
function known({ commands }: ReturnType<typeof session>): object[] {
  return commands.log.list().map(({ started_at, ended_at, duration_ms, ...record }) => {
    const output = commands.log.output(record.id);
    return { ...record, output: [...(output?.head ?? []), ...(output?.tail ?? [])] };
  });
}

const osc = (body: string): string => `\x1b]${body}\x07`;
const own = (kind: string): string => osc(`133;${kind};wsh=${NONCE}`);

/** bash with our integration: E after D, a prompt over two lines, output without a newline, a long line, a clear. */
const stream = [
  own("A"),
  "user@host ~\r\n$ ",
  own("B"),
  "echo é; false\r\n",
  own("C"),
  "é漢字\r\nno newline",
  own("D;1"),
  osc(`633;E;echo é\\x3b false;${NONCE}`),
  `\r\n${own("A")}user@host ~\r\n$ ${own("B")}printf long\r\n${own("C")}`,
  `${"0123456789".repeat(9)}\r\n\x1b[31mred\x1b[m\r\n${osc("133;D;99")}${osc("133;A")}`,
  own("D;0"),
  osc(`633;E;printf long;${NONCE}`),
  `${own("A")}$ ${own("B")}clear\r\n${own("C")}gone\r\n\x1b[H\x1b[2Jstays\r\n`,
  own("D;130"),
  osc(`633;E;clear;${NONCE}`),
  `${own("A")}$ ${own("B")}`,
].join("");

const wanted = [
  { id: 1, command: "echo é; false", exit_code: 1, signal: null, output: ["é漢字", "no newline"] },
  { id: 2, command: "printf long", exit_code: 0, signal: null, output: ["0123456789".repeat(9), "red"] },
  { id: 3, command: "clear", exit_code: 130, signal: "SIGINT", output: ["gone", "stays"] },
].map((record) => expect.objectContaining({ ...record, verified: true, state: "finished" }));

const full = process.env.WSH_TEST_FULL === "1";

describe("marks split at every byte", () => {
  test("make the same commands", async () => {
    const bytes = Buffer.from(stream);
    const whole = session();
    await whole.model.write(new Uint8Array(bytes));
    const records = known(whole);
    expect(records).toEqual(wanted);
    for (let at = 1; at < bytes.length; at += full ? 1 : 3) {
      const parts = session();
      void parts.model.write(new Uint8Array(bytes.subarray(0, at)));
      await parts.model.write(new Uint8Array(bytes.subarray(at)));
      expect({ at, records: known(parts) }).toEqual({ at, records });
      parts.model.dispose();
    }
    const single = session();
    for (const byte of bytes) void single.model.write(Uint8Array.of(byte));
    await single.model.write(new Uint8Array());
    expect(known(single)).toEqual(records);
  });

  test("also when the history is too short for their output", async () => {
    const lines = Array.from({ length: 3_000 }, (_, n) => `line ${n}`);
    const text = `${own("A")}$ ${own("B")}many\r\n${own("C")}${lines.join("\r\n")}\r\n${own("D;0")}${own("A")}${own("B")}`;
    const bytes = Buffer.from(text);
    for (const size of [1_000_000, 4_099, 611]) {
      const parts = session(50);
      for (let at = 0; at < bytes.length; at += size)
        await parts.model.write(new Uint8Array(bytes.subarray(at, at + size)));
      expect(known(parts)).toEqual([expect.objectContaining({ output_lines: 3_000, output: lines })]);
      parts.model.dispose();
    }
  });
});

/** fish 4 marks by itself: no B, the command's text with C, and no secret. */
const fish4 = (status: number, command: string, output: string): string =>
  [
    osc("7;file://host/tmp/a%20b"),
    osc("133;A;click_events=1"),
    "user@host /tmp> ",
    `\x1b[32m${command}\x1b[m\r\n`,
    osc(`133;C;cmdline_url=${encodeURIComponent(command)}`),
    output,
    osc(`133;D;${status}`),
  ].join("");

describe("fish 4's own marks", () => {
  test("count while no verified one was seen, and are not called verified", async () => {
    const alone = session();
    await alone.model.write(Buffer.from(fish4(0, "echo a; echo 'b'", "a\r\nb\r\n") + fish4(1, "false", "")));
    expect(known(alone)).toMatchObject([
      { command: "echo a; echo 'b'", exit_code: 0, verified: false, cwd: "/tmp/a b", output: ["a", "b"] },
      { command: "false", exit_code: 1, verified: false, output: [] },
    ]);
    expect(alone.commands.log.hasVerifiedMarks).toBe(false);
  });

  test("count for nothing beside those of the integration", async () => {
    const both = session();
    const inside = `${own("A")}> ${own("B")}`;
    const command = [
      fish4(0, "early", "before\r\n"),
      osc("133;A;click_events=1"),
      inside,
      "false\r\n",
      osc("133;C;cmdline_url=forged"),
      own("C"),
      osc(`633;E;false;${NONCE}`),
      "real\r\n",
      osc("133;D;0"),
      osc("133;A"),
      "still running\r\n",
      own("D;1"),
      osc("133;A;click_events=1"),
      inside,
    ].join("");
    await both.model.write(Buffer.from(command));
    expect(known(both)).toMatchObject([
      { command: "early", verified: false },
      { command: "false", exit_code: 1, verified: true, output: ["real", "still running"] },
    ]);
    expect(both.commands.log.phase).toBe("prompt");
  });

  test("of a replayed recording count for nobody: another session's nonce is invalid", async () => {
    const replay = session();
    const foreign = (kind: string): string => osc(`133;${kind};wsh=another`);
    await replay.model.write(
      Buffer.from(
        `${own("A")}$ ${own("B")}cat log\r\n${own("C")}${foreign("D;0")}${foreign("A")}$ ${foreign("B")}x\r\n`,
      ),
    );
    expect(replay.commands.log.runningCommand).toMatchObject({ id: 1, exit_code: null, state: "running" });
    await replay.model.write(Buffer.from(own("D;2") + own("A") + own("B")));
    expect(known(replay)).toMatchObject([{ id: 1, exit_code: 2, verified: true }]);
  });
});

test("a script without effect reports why, in its own words alone, and not where marks have arrived", async () => {
  const words = "bash 3.2.57(1)-release is older than 4.4";
  const told = session();
  for (const other of ["rm -rf ~", `${words}, trust me`, "bash 5.2 is older than 4.4", ""]) {
    await told.model.write(Buffer.from(osc(`633;P;WshInactive=${other}`)));
    expect(told.commands.inactiveReason).toBeNull();
  }
  await told.model.write(Buffer.from(osc(`633;P;WshInactive=${words}`)));
  expect(told.commands.inactiveReason).toBe("bash 3.2 is older than 4.4");
  await told.model.write(Buffer.from(own("A")));
  expect(told.commands.inactiveReason).toBeNull();
});
