/** A dialog takes keys only after a pause: continuous typing answers nothing. Input continued after its end reaches no program. */
import { expect, test } from "bun:test";
import type { Ask } from "../../../../src/protocol/asking.ts";
import { Questions } from "../../../../src/session/questions/questions.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { until } from "../../../support/until.ts";

function scene(kind: "confirm" | "text" = "confirm") {
  const clock = manualClock();
  let asks = 0;
  const questions = new Questions({
    clock,
    newId: () => (asks++ === 0 ? "q" : `q${asks}`),
    countPeople: () => 1,
    hasNotice: () => false,
    secrets: { prompt: async () => null, type: async () => false },
    programState: () => "running",
    takenOver: () => undefined,
    changed: () => undefined,
    waiting: () => undefined,
    happened: () => undefined,
  });
  const ask: Ask = { question: "Now?", kind, timeout_ms: 60_000, max_wait_ms: 30_000 } as Ask;
  const asked = questions.ask(ask, { id: null, label: "an agent" }, "@1", new AbortController().signal);
  const type = (text: string) => questions.type(1, new TextEncoder().encode(text), { rows: 24, cols: 80 });
  return { clock, questions, asked, type };
}

test("each key and paste restarts the guard, and one after it answers", async () => {
  const { clock, questions, asked, type } = scene();
  for (const typed of ["y", "\r", "y", "\x1b[200~y\x1b[201~", "\x1b[C", "y"]) {
    clock.pass(250);
    expect(type(typed)).toBe(true);
  }
  clock.pass(299);
  type("y");
  expect(questions.list()).toMatchObject([{ state: "open" }]);
  clock.pass(300);
  type("n");
  expect(await asked).toMatchObject({ answered_by: "terminal", answer: false });
  expect(clock.timers()).toBe(0);
});

test("what was meant for a dialog that ended by itself answers none that follows it, and an agent cancels only its own", async () => {
  const { clock, questions, asked, type } = scene("text");
  const robot = { id: null, label: "robot", agent: "robot" };
  const ask = { question: "Allow it?", kind: "confirm", timeout_ms: 60_000, max_wait_ms: 30_000 } as Ask;
  const second = questions.ask(ask, robot, "@1", new AbortController().signal);
  const states = () => questions.list().map(({ state }) => state);
  expect(() => questions.cancel("q", "robot")).toThrow("an agent cancels only its own questions");
  clock.pass(300);
  questions.cancel("q");
  await asked;
  clock.pass(599);
  expect(states()).toEqual(["queued"]);
  clock.pass(1);
  expect(states()).toEqual(["open"]);
  for (const typed of ["\x1b[A", "\r", "y", "\x1b[A", "\r"]) {
    clock.pass(400);
    type(typed);
  }
  clock.pass(999);
  type("y");
  expect(states()).toEqual(["open"]);
  clock.pass(1_000);
  type("n");
  expect(await second).toMatchObject({ answered_by: "terminal", answer: false });
});

test("neither the mouse nor a dismissal restarts it", async () => {
  const { clock, questions, asked, type } = scene();
  clock.pass(200);
  type("\x1b[<35;3;4M\x1b[<0;3;4M\x1b[I\x03");
  clock.pass(90);
  type("\x03");
  expect(questions.list()).toMatchObject([{ state: "open" }]);
  clock.pass(10);
  type("\x03");
  expect(await asked).toMatchObject({ state: "closed", decided_by: "dismissed" });
});

test("input continued when a dialog closes by itself is discarded until a pause, and only at that terminal", async () => {
  const { clock, questions, asked, type } = scene("text");
  clock.pass(300);
  type("rest of a sec");
  questions.cancel("q");
  expect(await asked).toMatchObject({ decided_by: "cancelled" });
  expect(questions.type(2, new TextEncoder().encode("ls"), { rows: 24, cols: 80 })).toBe(false);
  // Also the keys of a program that has all of them written as escape sequences.
  for (const typed of ["r", "e", "\x1b[116u", "\x1b[101;1u", "\r"]) {
    clock.pass(250);
    expect(type(typed)).toBe(true);
  }
  clock.pass(299);
  type("\x1b[<35;3;4M");
  clock.pass(1);
  expect(type("ls\r")).toBe(false);
});

test("input of the person who closed a dialog reaches the program, and so does that of one who had not typed at it for a while", async () => {
  const { clock, questions, asked, type } = scene("text");
  clock.pass(300);
  questions.type(2, new TextEncoder().encode("x"), { rows: 24, cols: 80 });
  clock.pass(600);
  type("yes\r");
  expect(await asked).toMatchObject({ answer: "xyes" });
  expect(type("ls")).toBe(false);
  expect(questions.type(2, new TextEncoder().encode("ls"), { rows: 24, cols: 80 })).toBe(false);
});

test("an agent and all agents have a share of the open questions, and others always find room", async () => {
  const { questions } = scene();
  const ask = (agent: string | null) =>
    questions.ask(
      { question: "Now?", kind: "confirm", timeout_ms: 60_000, max_wait_ms: 0 } as Ask,
      { id: null, label: agent ?? "wsh", agent },
      "@1",
      new AbortController().signal,
    );
  for (let n = 0; n < 4; n++) await ask("robot");
  expect(String(await ask("robot").catch(String))).toContain("4 questions of robot are already pending");
  for (let n = 0; n < 20; n++) await ask(`robot-${n % 5}`);
  expect(String(await ask("another").catch(String))).toContain("24 questions of agents are already pending");
  for (let n = 0; n < 7; n++) await ask(null);
  expect(String(await ask(null).catch(String))).toContain("32 questions are already pending");
});

test("a secret that is cancelled while it is being typed into a program that hangs does not hide the next question", async () => {
  const clock = manualClock();
  const typing = Promise.withResolvers<boolean>();
  const prompt = { group: 7, pid: 7, program: "sudo", commandLine: "sudo" };
  let asks = 0;
  const questions = new Questions({
    clock,
    newId: () => `q${++asks}`,
    countPeople: () => 1,
    hasNotice: () => false,
    secrets: { prompt: () => prompt, type: () => typing.promise },
    programState: () => "running",
    takenOver: () => undefined,
    changed: () => undefined,
    waiting: () => undefined,
    happened: () => undefined,
  });
  const ask = (kind: string) => {
    const given = { question: "Now?", kind, timeout_ms: 60_000, max_wait_ms: 30_000 } as Ask;
    return questions.ask(given, { id: null, label: "a program" }, "@1", new AbortController().signal);
  };
  const states = () => questions.list().map(({ state }) => state);
  const secret = ask("secret");
  await until("it is shown", () => states()[0] === "open");
  void ask("confirm");
  clock.pass(300);
  questions.type(1, new TextEncoder().encode("x\r"), { rows: 24, cols: 80 });
  questions.cancel("q1");
  expect(await secret).toMatchObject({ decided_by: "cancelled" });
  typing.resolve(false);
  await until("the next one is shown", () => {
    clock.pass(1_000);
    return states()[0] === "open";
  });
});
