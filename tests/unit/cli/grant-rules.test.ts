/** The scope of a grant: every operation of the table, and every field that could reach beyond it. */
import { expect, test } from "bun:test";
import { type GrantState, grantRequest } from "../../../src/cli/grant/rules.ts";
import { operations } from "../../../src/operations/table.ts";
import { WshError } from "../../../src/protocol/errors.ts";
import { type GrantRight, grantRights } from "../../../src/protocol/grants.ts";

const home = { id: "@1", session: "@s1" };

function grantOf(...may: readonly GrantRight[]): GrantState {
  return {
    ...{
      name: "box",
      may: new Set(may),
      home,
      openQuestions: new Set(["mine"]),
      sandboxCommand: ["bwrap", "--x"],
      reporter: 77,
    },
    panes: new Map([["@5", { id: "@5", session: "@s1", program: 9 }]]),
  };
}
const whole = grantOf(...grantRights);

const pass = (grant: GrantState, op: string, input: object, target?: string) => grantRequest(grant, op, input, target);

function codeOf(op: string, input: object, target?: string, grant = whole): string {
  try {
    pass(grant, op, input, target);
    return "passed";
  } catch (thrown) {
    return thrown instanceof WshError ? thrown.code : "invalid";
  }
}

/** A second list: an operation without a class, or with another one, fails. */
const classes: Readonly<Record<GrantRight | "none", string>> = {
  ask: "ask ask.cancel",
  notify: "terminal.show",
  hook: "agent.report",
  "own-panes":
    "commands.get commands.list commands.output commands.result commands.stop exec idle.await input.send lines.get " +
    "lines.search output.get pane.close pane.list pane.split pane.update process.wait run screen.get scrollback.get " +
    "session.signal status.get wait window.list",
  none:
    "agent.prompt ask.answer ask.any ask.list ask.person buffer.delete buffer.get buffer.list buffer.paste buffer.rename " +
    "buffer.set checkpoint.delete checkpoint.diff checkpoint.forget checkpoint.list checkpoint.restore checkpoint.save " +
    "checkpoint.show commands.receipt element.batch events.read exec.fresh focus.get focus.set focus.unset " +
    "history.delete history.search idle.any image.paste input.capture input.keys input.mode input.release " +
    "layout.equalise layout.get layout.preset layout.rotate layout.set overlay.clear overlay.create overlay.delete " +
    "overlay.get overlay.list overlay.patch overlay.replace overlay.spans overlay.write pane.float pane.move " +
    "pane.resize pane.respawn pane.select pane.swap pane.zoom panel.clear panel.create panel.delete panel.get " +
    "panel.list panel.patch panel.replace panel.spans panel.write popup.open ports.list prompt.offer receipt.key " +
    "screen_mode.enter_alt screen_mode.exit_alt screen_mode.get server.info server.persist.get server.persist.set " +
    "server.stop servers.add servers.get servers.list servers.reload servers.remove session.clear session.clients " +
    "session.detach session.environment session.get session.kill session.reset session.resize session.restart " +
    "session.update sessions.create sessions.list wait.any window.close window.create window.floats window.move " +
    "window.select window.swap window.update",
};

test("each operation has a class; one without is refused with every right, at every target", () => {
  const found: Record<string, string[]> = { ask: [], notify: [], hook: [], "own-panes": [], none: [] };
  for (const { name, grant } of operations) found[grant ?? "none"]?.push(name);
  expect(Object.fromEntries(Object.entries(found).map(([right, names]) => [right, names.sort().join(" ")]))).toEqual(
    classes,
  );
  for (const { name, grant: right } of operations) {
    const others = grantRights.filter((each) => each !== right);
    for (const target of [undefined, "@1", "@5", "dev", "@s1", "here/@5"])
      expect([name, codeOf(name, {}, target, grantOf(...others))]).toEqual([name, "access_denied"]);
  }
  for (const op of [
    "peer.attach",
    "peer.raw",
    "peer.window",
    "peer.subscribe",
    "peer.end",
    "peer.leave",
    "constructor",
  ])
    expect(codeOf(op, {}, "@5")).toBe("access_denied");
});

test("its own panes are addressed by their ids alone; a session is never made", () => {
  for (const target of [undefined, "", "@1", "@05", "@5 ", "dev", "dev:0.1", "@s1", "@w1", "box/@5", "__proto__"])
    expect([target, codeOf("input.send", { data: "x" }, target)]).toEqual([target, "session_not_found"]);
  expect(codeOf("input.send", { data: "x" }, "@5")).toBe("passed");
  expect(codeOf("exec", { command: "id", create: true }, "@5")).toBe("invalid_request");
  expect(pass(whole, "screen.get", {}, "@5").pane).toEqual({ id: "@5", session: "@s1", program: 9 });
});

test("a pane is made inside the sandbox, whatever its arguments, and takes no focus", () => {
  const { input, pane } = pass(whole, "pane.split", {
    ...{ command: "echo '$HOME'; id", cwd: "/a b", title: "t", focus: true, float: true, whole: true, x: 1 },
    ...{ env: { LD_PRELOAD: "/x" }, shell: "/evil", stdin: "x", view: "@1", direction: "down" },
  });
  expect(pane).toBe(home);
  expect(Object.keys(input).sort()).toEqual([...["command", "cwd", "direction", "float", "focus", "shell", "title"]]);
  expect(input).toMatchObject({ focus: false, float: false, shell: "sh", cwd: "/", title: "box: t" });
  const { command } = input as { command: string };
  expect(command).toEndWith(` bwrap --x sh -c 'cd -- '\\''/a b'\\'' && echo '\\''$HOME'\\''; id'`);
  expect(command).toStartWith("env -u WSH_SOCKET ");
  const outside = { ...whole, sandboxCommand: null };
  expect(codeOf("pane.split", { command: "id" }, undefined, outside)).toBe("access_denied");
});

test("questions, messages and reports reach the person, and nothing else", () => {
  for (const kind of ["secret", "hand_over"]) expect(codeOf("ask", { question: "q", kind })).toBe("access_denied");
  expect(codeOf("ask", { question: "q", choices: ["a"] }, "@9")).toBe("passed");
  expect(codeOf("ask.cancel", { ask_id: "other" })).toBe("question_not_found");
  const wait = (...ids: readonly string[]) => ({ any_of: ids.map((ask_id) => ({ type: "answer", ask_id })) });
  expect(codeOf("wait", wait("mine"))).toBe("passed");
  expect(codeOf("wait", wait("mine", "other"))).toBe("question_not_found");
  expect(codeOf("wait", { any_of: [...wait("other").any_of, "prompt"] }, "@5")).toBe("question_not_found");
  expect(codeOf("wait", wait("mine"), "@5", grantOf("own-panes"))).toBe("access_denied");
  expect(codeOf("wait", { any_of: [] })).toBe("session_not_found");
  expect(codeOf("terminal.show", { view: "sessions" })).toBe("access_denied");
  expect(pass(whole, "terminal.show", { view: "go", target: "@1", message: "m" }, "@9").input).toEqual({
    message: "box: m",
  });
  const report = {
    agent: "claude",
    event: "Stop",
    state: "done",
    pid: 1,
    conversation: { id: "a1", transcript: "/k" },
  };
  expect(pass(whole, "agent.report", report).input).toEqual({
    ...{ agent: "claude", event: "Stop", state: "done", pid: 77 },
  });
});
