/** Keys of an AI agent's terminal stay the agent's on every way to the program. */
import { expect, test } from "bun:test";
import { defaultElementLimits } from "../../../src/protocol/drawing-limits.ts";
import { Session } from "../../../src/session/session.ts";
import { LocalPane } from "../../../src/session-process/panes/local-pane.ts";
import { SessionContent } from "../../../src/session-process/panes/session-content.ts";
import { mouseTargetsIn } from "../../../src/session-process/panes/window-input.ts";
import { InputRouter } from "../../../src/viewer/terminal/input-router.ts";
import { Pointer } from "../../../src/viewer/terminal/pointer.ts";
import { LivePane } from "../../support/live-pane.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const nothing = async (): Promise<void> => {};

async function made() {
  const live = await LivePane.start();
  const own = new Session(
    {
      ...{ id: 1, windowId: 1, name: "dev", tags: [], server: "here", rows: 24, cols: 80 },
      settings: { graceMs: 60_000, execGraceMs: 60_000, sizePolicy: "latest", elements: defaultElementLimits },
    },
    live.pane,
    { rename: async (name) => name, ended: nothing, live: nothing, leave: nothing },
  );
  const given: string[] = [];
  live.pane.typed = (typed, _flags, byAgent = false) => {
    given.push(`${new TextDecoder().decode(typed)} ${byAgent ? "agent" : "person"}`);
  };
  return { live, own, given };
}

test("in one of several panes, and through its copy mode", async () => {
  const { live, own, given } = await made();
  await using _live = live;
  const options = {
    mouse: { isAllowed: true },
    isTypingElsewhere: () => false,
    hasOthers: () => true,
    isInfoDisplayed: () => true,
  };
  const local = new LocalPane({ ownSession: own, session: own, ...options });
  local.type(bytes("a"), null, true);
  local.type(bytes("b"), null, false);
  expect(given.splice(0)).toEqual(["a agent", "b person"]);
  await local.openCopyMode({ keys: "vi" });
  local.type(bytes("qc"), null, true);
  expect(given.splice(0)).toEqual(["c agent"]);
  await local.openCopyMode({ keys: "vi" });
  local.type(bytes("qd"), null, false);
  expect(given.splice(0)).toEqual(["d person"]);
  local.close();
});

test("through the active window, and by reports of the focus", async () => {
  const { live, own, given } = await made();
  await using _live = live;
  const view = { input: { typed: live.pane.typed } };
  SessionContent.prototype.typed.call({ sharedView: () => view }, bytes("a"), null, true);
  SessionContent.prototype.typed.call({ sharedView: () => view }, bytes("b"), null, false);
  expect(given.splice(0)).toEqual(["a agent", "b person"]);
  for (const agent of ["claude", undefined]) {
    const by = { caller: { kind: "cli", id: "cli:1", agent, connected: true }, access: "admin" };
    const viewer = { id: 1, readOnly: false, isOver: false, size: { rows: 24, cols: 80 }, acting: by };
    const shown = { modes: { focus: true }, input: own.pane };
    const focus = { focusChanged: () => {}, keyTyped: () => {} };
    const parts = { focus, controls: {}, presentation: {} };
    const typing: InputRouter = Reflect.construct(InputRouter, [own, shown, viewer, parts]);
    typing.reportFocus(true);
    typing.isTypedByAgent = true;
    typing.reportFocus(false);
  }
  expect(given).toEqual(["\x1b[I agent", "\x1b[O agent", "\x1b[I person", "\x1b[O agent"]);
});

test("by the mouse, over one of several panes", async () => {
  const typed: string[] = [];
  const type = (report: Uint8Array, _: unknown, byAgent: boolean) =>
    typed.push(`${Buffer.from(report).toString().slice(1)} ${byAgent ? "agent" : "person"}`);
  const modes = { mouse: 1000, mouseEncoding: 1006 };
  const arrangement = { placedPanes: new Map([["@2", { modes, type }]]) };
  const targets = mouseTargetsIn({ arrangement, single: null } as unknown as Parameters<typeof mouseTargetsIn>[0]);
  const box = { row: 0, col: 0, rows: 24, cols: 80 };
  const port = { targets: { ...targets, active: "@1", isInPixels: false, paneAt: () => "@2", boxOf: () => box } };
  const pointer: Pointer = Reflect.construct(Pointer, [{ ...port, top: 0, isInaccessible: () => false }]);
  const own = { questions: { isShown: false, type: () => false }, viewers: { noteAct: () => false } };
  for (const agent of ["claude", undefined]) {
    const viewer = { id: 1, readOnly: false, isOver: false, acting: { caller: { agent } } };
    const controls = { pointer, queueInput: () => false, handleDialogInput: () => false };
    const presentation = { mode: "render", renderer: { offset: { top: 0, left: 0 } } };
    const parts = { focus: { keyTyped: () => {} }, controls, presentation };
    const typing: InputRouter = Reflect.construct(InputRouter, [own, {}, viewer, parts]);
    typing.handleInput(bytes("\x1b[<0;3;4M"));
  }
  expect(typed).toEqual(["[<0;3;4M agent", "[<0;3;4M person"]);
});
