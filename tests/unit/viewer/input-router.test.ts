/** What takes a person's keys at one terminal: a question, the terminal's own dialog or copy mode, or the program. */
import { expect, test } from "bun:test";
import type { Ask } from "../../../src/protocol/asking.ts";
import { Questions } from "../../../src/session/questions/questions.ts";
import { InputRouter } from "../../../src/viewer/terminal/input-router.ts";
import { manualClock } from "../../support/manual-clock.ts";

type Given = ConstructorParameters<typeof InputRouter>;

/** @param covers what covers the program at the terminal */
function scene(covers: "palette" | "copy mode" | null, readOnly = false, reportsFocus = true) {
  const clock = manualClock();
  const questions = new Questions({
    clock,
    newId: () => "q",
    countPeople: () => 1,
    hasNotice: () => false,
    secrets: { prompt: async () => null, type: async () => false },
    programState: () => "running",
    takenOver: () => undefined,
    changed: () => undefined,
    waiting: () => undefined,
    happened: () => undefined,
  });
  const received = { program: "", own: "" };
  let acts = 0;
  const take = (to: keyof typeof received, bytes: Uint8Array) => {
    received[to] += Buffer.from(bytes).toString();
  };
  const session = {
    questions,
    viewers: { noteAct: () => void acts++ },
    typed: (_: number, bytes: Uint8Array) => take("program", bytes),
  };
  const controls = {
    takesInput: covers !== null,
    isInCopyMode: covers === "copy mode",
    queueInput: () => false,
    handleDialogInput(bytes: Uint8Array) {
      if (covers === "palette") take("own", bytes);
      return covers === "palette";
    },
    handleCopyModeInput: (bytes: Uint8Array) => take("own", bytes),
  };
  let hasFocus = true;
  const focus = {
    keyTyped: () => {},
    focusChanged(on: boolean) {
      hasFocus = on;
    },
  };
  const viewer = { id: 1, readOnly, acting: { caller: {} }, size: { rows: 24, cols: 80 }, isOver: false };
  const parts = { controls, focus, presentation: { mode: "pass_through", keyTyped: () => {} } };
  const router = new InputRouter(
    session as unknown as Given[0],
    { modes: { focus: reportsFocus }, isOfOtherSession: () => false } as unknown as Given[1],
    viewer as unknown as Given[2],
    parts as unknown as Given[3],
  );
  const ask = (kind: "confirm" | "hand_over") => {
    const asked = { question: "Now?", kind, timeout_ms: 60_000, max_wait_ms: 30_000 } as Ask;
    return questions.ask(asked, { id: null, label: "an agent" }, "@1", new AbortController().signal);
  };
  const type = (text: string): void => router.handleInput(Buffer.from(text));
  return { clock, questions, received, ask, type, acts: () => acts, hasFocus: () => hasFocus };
}

const state = (questions: Questions) => questions.list().map((each) => each.state);

test.each(["palette", "copy mode"] as const)("no question opens while the person types: %s", async (covers) => {
  const { clock, questions, received, ask, type } = scene(covers);
  type("a");
  void ask("confirm");
  for (const key of "bcd") {
    clock.pass(500);
    expect(state(questions)).toEqual(["queued"]);
    type(key);
  }
  clock.pass(600);
  expect(state(questions)).toEqual(["open"]);
  type("y");
  expect(received).toEqual({ program: "", own: "abcd" });
});

test.each(["palette", "copy mode"] as const)(
  "keys meant for a question that has just ended by itself are no input: %s",
  async (covers) => {
    const { clock, questions, received, ask, type } = scene(covers);
    const asked = ask("confirm");
    type("x");
    questions.cancel("q");
    await asked;
    type("\r");
    clock.pass(1_000);
    type("a");
    expect(received).toEqual({ program: "", own: "a" });
  },
);

test.each(["palette", "copy mode", null] as const)(
  "a person who has taken over types into what the terminal shows: %p",
  (covers) => {
    const { clock, questions, received, ask, type } = scene(covers);
    void ask("hand_over");
    clock.pass(300);
    type("\r");
    expect(state(questions)).toEqual(["handed_over"]);
    type("ls");
    expect(received).toEqual(covers === null ? { program: "ls", own: "" } : { program: "", own: "ls" });
  },
);

test("a read-only terminal types in its own dialog alone, and not while a question is open", () => {
  const { clock, questions, received, ask, type } = scene("palette", true);
  type("a");
  void ask("confirm");
  clock.pass(600);
  type("y");
  expect(state(questions)).toEqual(["open"]);
  expect(received).toEqual({ program: "", own: "a" });
  const bare = scene(null, true);
  bare.type("a");
  expect(bare.received).toEqual({ program: "", own: "" });
});

test("a terminal that loses the focus is not in use by that, delays no question, and types only what was requested", () => {
  const { clock, questions, received, ask, type, acts, hasFocus } = scene(null);
  void ask("confirm");
  expect(state(questions)).toEqual(["open"]);
  questions.cancel("q");
  void ask("confirm");
  clock.pass(599);
  type("\x1b[O");
  expect([acts(), hasFocus(), received.program]).toEqual([0, false, "\x1b[O"]);
  clock.pass(1);
  expect(state(questions)).toEqual(["open"]);
  const unasked = scene(null, false, false);
  unasked.type("\x1b[I");
  expect([unasked.hasFocus(), unasked.received.program]).toEqual([true, ""]);
  const reading = scene(null, true);
  reading.type("\x1b[O");
  expect([reading.hasFocus(), reading.received.program]).toEqual([false, ""]);
});
