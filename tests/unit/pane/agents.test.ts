/** The running agent and its state, from recorded hooks and announcements. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readHook } from "../../../src/cli/hooks/events.ts";
import { AgentWatch } from "../../../src/pane/agent/agent-watch.ts";
import type { ProcessIdentity } from "../../../src/pane/agent/lineage.ts";
import { beginningOf, lastReply, readTranscript } from "../../../src/pane/agent/transcript.ts";
import type { ProgramState } from "../../../src/pane/state/classify.ts";
import { isWrapper } from "../../../src/platform/agent-above.ts";
import { busyChild } from "../../../src/platform/busy-child.ts";
import { agentTable } from "../../../src/platform/known-agents.ts";
import type { AgentInfo, AgentState } from "../../../src/protocol/agent.ts";
import { KittyNotifications, parseOsc9, parseOsc777 } from "../../../src/terminal/attention.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { until } from "../../support/until.ts";

const process = (pid: number, ppid: number, ...args: string[]): ProcessIdentity => ({
  pid,
  ppid,
  name: (args[0] ?? "").split("/").at(-1)?.slice(0, 15) ?? "",
  args,
  key: `${pid}:1`,
});

describe("the table knows an agent", () => {
  const table = agentTable(["mine=my-agent", "lab=python3 */lab/run.py*"]);
  const cases: readonly (readonly [string, string | undefined])[] = [
    ["claude", "claude"],
    ["/opt/bin/codex --full-auto", "codex"],
    ["node /usr/lib/node_modules/.bin/gemini", "gemini"],
    ["node --no-warnings=X /usr/lib/node_modules/@google/gemini-cli/dist/index.js", "gemini"],
    ["node /usr/lib/node_modules/@openai/codex/bin/codex.js", "codex"],
    ["/usr/bin/python3.12 /home/me/.local/bin/aider --yes", "aider"],
    ["python3 -m aider", "aider"],
    ["bash /home/me/bin/claude", "claude"],
    [
      "/home/me/.local/share/cursor-agent/versions/1/node /home/me/.local/share/cursor-agent/versions/1/index.js",
      "cursor-agent",
    ],
    ["my-agent", "mine"],
    ["python3 /srv/lab/run.py --fast", "lab"],
    ["vim claude", undefined],
    ["bash -c claude", undefined],
    ["node server.js claude", undefined],
    ["-bash", undefined],
    ["grep -r codex .", undefined],
  ];
  for (const [line, name] of cases) {
    test(`${line}: ${name ?? "none"}`, () => expect(table(process(9, 1, ...line.split(" ")))?.name).toBe(name));
  }
});

/** A pane whose shell (pid 10) runs programs, with a manual clock. */
class FakePane {
  readonly clock = manualClock();
  readonly told: (AgentInfo | null)[] = [];
  readonly watch: AgentWatch;
  processes = new Map<number, ProcessIdentity>([[10, process(10, 1, "bash")]]);
  foreground = [10];
  ancestors: number[] = [];
  doing: ProgramState["doing"] = "ready";
  looks = 0;
  busy: string | null = null;

  constructor() {
    this.watch = new AgentWatch({
      clock: this.clock,
      table: agentTable(),
      lineage: (pid) => this.processes.get(pid) ?? null,
      pid: () => 10,
      foreground: () => this.foreground[0] ?? null,
      checkForeground: () => this.look(),
      busyChild: () => this.busy,
      onChange: (agent) => void this.told.push(agent),
    });
  }

  look(): void {
    this.looks++;
    const facts = (pid: number) => {
      const found = this.processes.get(pid) ?? process(pid, 1, "gone");
      return { ...found, group: this.foreground[0] ?? 0, activity: "reading_tty" as const };
    };
    const members = this.foreground.filter((pid) => this.processes.has(pid)).map(facts);
    this.watch.noteObservation(
      { group: this.foreground[0] ?? 0, shellGroup: 10, members, ancestors: this.ancestors.map(facts), unread: 0 },
      {
        state: "waiting_for_input",
        why: "",
        decidedFrom: "kernel",
        doing: this.doing,
        settled: true,
        relay: null,
        foreground: null,
      },
    );
  }

  run(...started: ProcessIdentity[]): void {
    for (const each of started) this.processes.set(each.pid, each);
    this.foreground = started.map(({ pid }) => pid);
    this.print(600);
  }

  /** The program prints for this long. */
  print(ms: number): void {
    for (let at = 0; at < ms; at += 200) {
      this.watch.noteOutput();
      this.clock.pass(200);
    }
  }

  type(text: string): void {
    this.watch.noteInput(new TextEncoder().encode(text));
  }

  hook(agent: string, event: string, payload: object = {}, pid = 30): unknown {
    const read = readHook(agent, event, payload);
    this.processes.set(pid, this.processes.get(pid) ?? process(pid, 20, "sh", "-c", "wsh hook"));
    return this.watch.report({ agent, event, ...read, pid });
  }

  get state(): AgentState | undefined {
    return this.watch.info?.state;
  }
}

const claude = process(20, 10, "claude");

describe("hooks", () => {
  test("a turn of Claude Code: asks, is answered, continues, finishes, is viewed", () => {
    const pane = new FakePane();
    pane.run(claude);
    expect(pane.hook("claude", "SessionStart", { source: "startup" })).toEqual({ accepted: true });
    expect(pane.watch.info).toMatchObject({ name: "claude", pid: 20, state: "idle", source: "hook" });
    pane.hook("claude", "UserPromptSubmit");
    pane.clock.pass(60_000);
    // However quiet: a long tool.
    expect(pane.state).toBe("working");
    pane.hook("claude", "Notification", {
      notification_type: "permission_prompt",
      message: "Claude needs\x07 your\npermission",
    });
    expect(pane.watch.info).toMatchObject({ state: "needs_input", message: "Claude needs your permission" });
    // Output alone answers nothing, and neither does one key that moves the choice.
    pane.print(5_000);
    pane.type("\x1b[B");
    pane.print(400);
    pane.clock.pass(20_000);
    expect(pane.state).toBe("needs_input");
    pane.type("\r");
    pane.print(4_000);
    expect(pane.watch.info).toMatchObject({ state: "working", source: "program" });
    pane.clock.pass(30_000);
    expect(pane.state).toBe("working");
    pane.hook("claude", "Stop");
    expect(pane.state).toBe("done");
    pane.clock.pass(60_000);
    expect(pane.state).toBe("done");
    pane.watch.noteAnnouncement({ kind: "notification", by: "OSC 9", text: "waiting for your input" });
    pane.clock.pass(1_000);
    expect(pane.state).toBe("done");
    pane.type("t");
    expect(pane.state).toBe("idle");
    expect(pane.told.map((agent) => agent?.state)).toEqual([
      ...["working", "idle", "working", "needs_input", "working", "done", "done"].map((state) => state as AgentState),
    ]);
  });

  test("a rejected permission or an interrupt, which no hook reports, does not leave it working", () => {
    const pane = new FakePane();
    pane.run(claude);
    pane.hook("claude", "UserPromptSubmit");
    pane.print(3_000);
    pane.type("\x1b");
    pane.print(400);
    pane.clock.pass(4_000);
    expect(pane.state).toBe("working");
    pane.clock.pass(3_000);
    expect(pane.watch.info).toMatchObject({ state: "needs_input", source: "program" });
  });

  test("reports of mouse and focus are not an answer", () => {
    const pane = new FakePane();
    pane.run(claude);
    pane.hook("claude", "Stop");
    for (const report of ["\x1b[I", "\x1b[O", "\x1b[<35;10;5M"]) pane.type(report);
    expect(pane.state).toBe("done");
  });

  test("an unknown event has no effect", () => {
    const pane = new FakePane();
    pane.run(claude);
    pane.hook("claude", "Stop");
    expect(pane.hook("claude", "SomethingNew", { message: "x" })).toEqual({ accepted: true });
    expect(pane.state).toBe("done");
    expect(readHook("claude", "constructor", {})).toEqual({ state: null });
    expect(readHook("gemini", "Notification", { notification_type: 7 })).toEqual({ state: "needs_input" });
  });
});

describe("the sender of a report", () => {
  test("an agent that another runs through a shell neither reports nor takes the name", () => {
    const pane = new FakePane();
    pane.run(claude, process(21, 20, "bash", "-c", "codex exec"), process(22, 21, "codex", "exec"));
    pane.hook("claude", "UserPromptSubmit");
    pane.processes.set(31, process(31, 22, "sh", "-c", "wsh hook"));
    expect(pane.hook("codex", "Stop", {}, 31)).toEqual({ accepted: false, reason: "nested" });
    expect(pane.watch.info).toMatchObject({ name: "claude", pid: 20, state: "working" });
  });

  test("a wrapper and its program are one agent", () => {
    const pane = new FakePane();
    pane.run(process(20, 10, "node", "/usr/bin/codex"), process(21, 20, "/opt/codex/bin/codex"));
    pane.processes.set(31, process(31, 21, "sh", "-c", "wsh hook"));
    expect(pane.hook("codex", "Stop", {}, 31)).toEqual({ accepted: true });
    expect(pane.watch.info).toMatchObject({ name: "codex", pid: 20, state: "done" });
  });

  test("a process that only inherited WSH_PANE cannot report for the pane", () => {
    const pane = new FakePane();
    pane.run(claude);
    pane.processes.set(40, process(40, 1, "claude"));
    pane.processes.set(41, process(41, 40, "sh"));
    expect(pane.hook("claude", "Stop", {}, 41)).toEqual({ accepted: false, reason: "not_in_pane" });
    expect(pane.state).toBe("working");
  });

  test("an unknown agent is recognised once its hooks report", () => {
    const pane = new FakePane();
    pane.run(process(20, 10, "brandnew"));
    expect(pane.watch.info).toBeNull();
    pane.processes.set(30, process(30, 20, "sh"));
    expect(pane.watch.report({ agent: "brandnew", event: "x", state: "needs_input", pid: 30 })).toEqual({
      accepted: true,
    });
    expect(pane.watch.info).toMatchObject({ name: "brandnew", state: "needs_input" });
  });

  test("stopped and continued it is unchanged; ended it is forgotten, and a successor starts fresh", () => {
    const pane = new FakePane();
    pane.run(claude);
    pane.hook("claude", "Stop");
    pane.foreground = [10];
    pane.print(600);
    expect(pane.watch.info).toBeNull();
    pane.foreground = [20];
    pane.print(600);
    expect(pane.state).toBe("done");
    // Behind an editor that it started, it is still the agent.
    pane.processes.set(25, process(25, 20, "vim"));
    pane.foreground = [25];
    pane.ancestors = [20];
    pane.print(600);
    expect(pane.state).toBe("done");
    pane.processes.delete(20);
    pane.processes.delete(25);
    pane.ancestors = [];
    pane.foreground = [10];
    pane.print(600);
    expect(pane.watch.info).toBeNull();
    pane.run({ ...claude, key: "20:2" });
    expect(pane.state).toBe("working");
    expect(pane.told.filter((agent) => agent === null).length).toBe(2);
  });
});

describe("without hooks", () => {
  test("it works while it prints, and at rest needs input, never idle or done", () => {
    const pane = new FakePane();
    pane.run(claude);
    pane.print(4_000);
    expect(pane.watch.info).toMatchObject({ state: "working", source: "program" });
    pane.clock.pass(4_000);
    expect(pane.watch.info).toMatchObject({ state: "needs_input", source: "program" });
    // An echo is not work.
    pane.type("h");
    pane.print(200);
    expect(pane.state).toBe("needs_input");
    pane.type("\r");
    pane.print(3_000);
    expect(pane.state).toBe("working");
  });

  test("at rest there is no timer and no check", () => {
    const pane = new FakePane();
    pane.run(claude);
    pane.print(4_000);
    for (let n = 0; n < 20; n++) pane.clock.pass(1_000);
    const { looks } = pane;
    expect(pane.clock.timers()).toBe(0);
    for (let n = 0; n < 60; n++) pane.clock.pass(1_000);
    expect(pane.looks).toBe(looks);
  });

  test("busy without output it works, and is checked ever more rarely", () => {
    const pane = new FakePane();
    pane.run(claude);
    pane.doing = "working";
    pane.look();
    for (let n = 0; n < 120; n++) pane.clock.pass(1_000);
    expect(pane.state).toBe("working");
    expect(pane.looks).toBeLessThan(25);
    pane.doing = "ready";
    for (let n = 0; n < 40; n++) pane.clock.pass(1_000);
    expect(pane.state).toBe("needs_input");
  });

  test("a notification asks, progress means work, and its end is done", () => {
    const pane = new FakePane();
    pane.run(claude);
    const announce = (data: string): void => {
      const attention = parseOsc9(data);
      if (attention !== null) pane.watch.noteAnnouncement(attention);
      pane.clock.pass(0);
    };
    // Cleared at the start: no effect.
    announce("4;0");
    expect(pane.watch.info?.source).toBe("program");
    announce("4;3");
    pane.clock.pass(60_000);
    expect(pane.watch.info).toMatchObject({ state: "working", source: "progress" });
    announce("Claude needs your permission");
    expect(pane.watch.info).toMatchObject({
      state: "needs_input",
      source: "notification",
      message: "Claude needs your permission",
    });
    pane.clock.pass(1_000);
    pane.type("1");
    pane.print(4_000);
    expect(pane.state).toBe("working");
    announce("4;0;");
    expect(pane.watch.info).toMatchObject({ state: "done", source: "progress" });
  });

  test("its announcements before the first check count", () => {
    const pane = new FakePane();
    pane.processes.set(20, claude);
    pane.foreground = [20];
    pane.watch.noteAnnouncement({ kind: "notification", by: "OSC 777", text: "trust this folder?" });
    pane.clock.pass(0);
    expect(pane.watch.info).toMatchObject({ name: "claude", state: "needs_input", source: "notification" });
  });
});

test("notifications and progress are parsed in all their forms", () => {
  expect(parseOsc9("hello; world")).toEqual({ kind: "notification", by: "OSC 9", text: "hello; world" });
  expect(parseOsc9("4;1;50")).toEqual({ kind: "progress", state: "active" });
  expect(parseOsc9("4;0")).toEqual({ kind: "progress", state: "cleared" });
  expect(parseOsc9("4")).toEqual({ kind: "progress", state: "cleared" });
  expect(parseOsc9("4;2;50")).toEqual({ kind: "progress", state: "stopped" });
  for (const other of ["9;/tmp", "1;500", "4;x", "", "12"]) expect(parseOsc9(other)).toBeNull();
  expect(parseOsc777("notify;Codex;approve; please")).toMatchObject({ text: "Codex: approve; please" });
  expect(parseOsc777("precmd")).toBeNull();
  const kitty = new KittyNotifications();
  expect(kitty.parse("i=1:d=0;Hello ")).toBeNull();
  expect(kitty.parse("i=1:p=body;wor")).toMatchObject({ text: "Hello : wor" });
  expect(kitty.parse(`i=2:e=1;${btoa("done")}`)).toMatchObject({ by: "OSC 99", text: "done" });
  expect(kitty.parse("i=2:p=close;")).toBeNull();
  expect(kitty.parse("i=a:p=?;")).toBeNull();
  expect(kitty.parse(";plain")).toMatchObject({ text: "plain" });
});

describe("the conversation of a hook's report", () => {
  const id = "5f0a1b2c-0000-4000-8000-000000000001";
  const other = "5f0a1b2c-0000-4000-8000-000000000002";
  const transcript = "/home/me/t.jsonl";
  const cases: readonly (readonly [string, string, object, object])[] = [
    ["claude", "SessionStart", { session_id: id, transcript_path: transcript }, { conversation: { id, transcript } }],
    ["claude", "UserPromptSubmit", { session_id: id, prompt: "do" }, { moment: "prompted", prompt: "do" }],
    ["codex", "Stop", { session_id: id, transcript_path: null, last_assistant_message: "did" }, { reply: "did" }],
    ["gemini", "AfterAgent", { session_id: id, prompt_response: "did" }, { conversation: { id }, reply: "did" }],
    ["copilot", "agentStop", { sessionId: id, transcriptPath: transcript }, { conversation: { id, transcript } }],
    ["cursor-agent", "stop", { conversation_id: id, transcript_path: null }, { conversation: { id }, moment: "ended" }],
    ["opencode", "busy", { session_id: id, conversation_title: "a\nb" }, { conversation: { id, title: "a b" } }],
    ["amp", "busy", { session_id: `T-${id}` }, { conversation: { id: `T-${id}` }, moment: "prompted" }],
    ["claude", "Stop", { session_id: id, transcript_path: "t\n" }, { conversation: { id } }],
  ];
  for (const [agent, event, payload, read] of cases) {
    test(`${agent} ${event}`, () => expect(readHook(agent, event, payload)).toMatchObject(read));
  }
  test("code, options and a subagent's report are not conversations", () => {
    for (const session_id of ["; rm -rf ~", "-x", "$(id)", "a b", "", "x".repeat(129), 7])
      expect(readHook("claude", "SessionStart", { session_id }).conversation).toBeUndefined();
    expect(readHook("codex", "Stop", { session_id: id, agent_id: "sub" })).toEqual({ state: "done" });
  });

  const talking = (): FakePane => {
    const pane = new FakePane();
    pane.run(process(20, 10, "claude"));
    pane.hook("claude", "SessionStart", { session_id: id, transcript_path: transcript });
    return pane;
  };
  test("/clear and /resume change it; late reports of the one before do not", () => {
    const pane = talking();
    pane.hook("claude", "UserPromptSubmit", { session_id: id, prompt: "one" });
    pane.hook("claude", "SessionStart", { session_id: other });
    pane.hook("claude", "Stop", { session_id: id });
    expect(pane.watch.info).toMatchObject({ state: "idle", conversation: { id: other } });
    expect(pane.watch.info?.conversation?.transcript).toBeUndefined();
    pane.hook("claude", "SessionStart", { session_id: id });
    expect(pane.watch.info?.conversation?.id).toBe(id);
  });
  test("an agent restarted in the pane has none until it reports it, or its arguments name it", () => {
    const pane = talking();
    pane.processes.delete(20);
    pane.run(process(21, 10, "claude"));
    expect(pane.watch.info).toMatchObject({ pid: 21 });
    expect(pane.watch.info?.conversation).toBeUndefined();
    pane.processes.delete(21);
    pane.run(process(22, 10, "claude", "--resume", other));
    expect(pane.watch.info?.conversation?.id).toBe(other);
  });
  test("another pane's hook changes nothing", () => {
    const pane = talking();
    pane.processes.set(99, process(99, 1, "claude"));
    expect(pane.hook("claude", "SessionStart", { session_id: other }, 99)).toMatchObject({ reason: "not_in_pane" });
    expect(pane.watch.info?.conversation?.id).toBe(id);
  });
});

test("transcripts: messages of each form, and nothing of a link, a pipe or another file", () => {
  const dir = mkdtempSync(join(tmpdir(), "wsh-t-"));
  const write = (name: string, ...lines: readonly object[]): string => {
    const file = join(dir, name);
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    return file;
  };
  const at = "2026-11-01T10:00:00.000Z";
  const files = [
    write(
      "claude.jsonl",
      { type: "user", isMeta: true, message: { role: "user", content: "caveat" } },
      { type: "user", timestamp: at, message: { role: "user", content: "fix it" } },
      { type: "assistant", message: { content: [{ type: "tool_use", name: "Bash" }] } },
      { type: "user", message: { content: [{ type: "tool_result", content: "secret" }] } },
      { type: "assistant", message: { content: [{ type: "text", text: "fixed" }] } },
    ),
    write(
      "codex.jsonl",
      { timestamp: at, type: "session_meta", payload: { id: "x" } },
      {
        type: "response_item",
        payload: { type: "message", role: "user", content: [{ text: "<environment_context>" }] },
      },
      { type: "response_item", payload: { type: "message", role: "user", content: [{ text: "fix it" }] } },
      { type: "event_msg", payload: { type: "item_completed", item: { type: "UserMessage" } } },
      { type: "response_item", payload: { type: "message", role: "assistant", content: [{ text: "fixed" }] } },
    ),
    write(
      "gemini.jsonl",
      { sessionId: "x", startTime: at },
      { $set: { messages: [{ id: "1", timestamp: at, type: "user", content: [{ text: "<session_context>…" }] }] } },
      { id: "2", timestamp: at, type: "user", content: "fix it" },
      { $set: { messages: [{ id: "2", type: "user", content: "fix it" }] } },
      { id: "3", type: "gemini", content: "fixed" },
    ),
    write("gemini.json", {
      messages: [
        { type: "user", timestamp: at, content: [{ text: "fix it" }] },
        { type: "info", content: "update" },
        { type: "gemini", content: "fixed" },
      ],
    }),
    write(
      "copilot.jsonl",
      { type: "user.message", timestamp: at, data: { content: "fix it" } },
      { type: "assistant.message", data: { content: "fixed" } },
    ),
  ];
  for (const file of files) {
    expect(readTranscript(file)?.messages.map(({ role, text }) => [role, text])).toEqual([
      ["user", "fix it"],
      ["assistant", "fixed"],
    ]);
    expect(beginningOf(file)).toEqual({ title: "fix it", started_at: Date.parse(at) });
    expect(lastReply(file)).toBe("fixed");
  }
  symlinkSync(files[0] ?? "", join(dir, "link.jsonl"));
  expect(readTranscript(join(dir, "link.jsonl"))).toBeNull();
  Bun.spawnSync(["mkfifo", join(dir, "pipe.jsonl")]);
  expect(readTranscript(join(dir, "pipe.jsonl"))).toBeNull();
  writeFileSync(join(dir, "key"), "secret");
  expect(readTranscript(join(dir, "key"))).toBeNull();
  writeFileSync(join(dir, "key.json"), JSON.stringify({ token: "secret" }));
  expect(readTranscript(join(dir, "key.json"))?.messages).toEqual([]);
  // Of a huge one, the end.
  writeFileSync(
    join(dir, "huge.jsonl"),
    `${"x".repeat(9_000_000)}\n${JSON.stringify({ role: "assistant", content: "end" })}\n`,
  );
  expect(readTranscript(join(dir, "huge.jsonl"))).toMatchObject({ isCut: true, messages: [{ text: "end" }] });
  rmSync(dir, { recursive: true });
});

test("missing hooks are noticed: a working agent that waits for a key, silent for minutes", () => {
  const pane = new FakePane();
  pane.run(process(20, 10, "claude"));
  pane.hook("claude", "UserPromptSubmit");
  pane.clock.pass(290_000);
  expect(pane.state).toBe("working");
  pane.print(1_000);
  pane.clock.pass(290_000);
  expect(pane.state).toBe("working");
  pane.clock.pass(15_000);
  expect(pane.watch.info).toMatchObject({ state: "needs_input", source: "program" });
  expect(pane.watch.info?.why).toContain("fell silent");
  expect(pane.told.at(-1)?.state).toBe("needs_input");
  pane.hook("claude", "Stop");
  expect(pane.state).toBe("done");
});

test("an agent that reports done is busy while a child of its works; then it is done", () => {
  const pane = new FakePane();
  pane.run(process(20, 10, "claude"));
  pane.busy = "npm test";
  pane.hook("claude", "Stop");
  expect(pane.watch.info).toMatchObject({ state: "working", source: "kernel", busy: "npm test" });
  pane.clock.pass(4_000);
  expect(pane.watch.info?.busy).toBe("npm test");
  pane.busy = null;
  pane.clock.pass(4_000);
  expect(pane.watch.info).toMatchObject({ state: "done", source: "hook" });
  expect(pane.watch.info).not.toHaveProperty("busy");
});

test("a child is busy while a descendant works; idle servers, and the hook itself, are not", async () => {
  const started = (...args: readonly string[]) => Bun.spawn([...args], { stdin: "pipe", stdout: "ignore" });
  await using parent = started("bash", "-c", "bash -c 'sleep 30; true' & wait");
  const sleeps = () => busyChild(parent.pid, 0);
  await until("it works", () => sleeps() === "sleep 30");
  await using server = started("bash", "-c", "cat | cat");
  await until("it rests", () => busyChild(server.pid, 0) === null);
});

test("a program that runs one command line is not an owner; interactive shells and scripts are", () => {
  const wrappers = [
    "timeout 60 wsh new",
    "/usr/bin/nohup wsh",
    "sh -c wsh",
    "bash --norc -lc wsh",
    "/usr/bin/env A=b wsh",
  ];
  const owners = ["bash", "-bash", "zsh -l", "bash ./deploy.sh -c", "fish", "node agent.js", "make"];
  for (const line of [...wrappers, ...owners])
    expect([line, isWrapper(line.split(" "))]).toEqual([line, wrappers.includes(line)]);
});
