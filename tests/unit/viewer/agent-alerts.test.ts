/** Alerts of agents: their receivers, their form, and once each. */
import { expect, test } from "bun:test";
import { AgentAlerts } from "../../../src/endpoint/agent-alerts.ts";
import type { AgentInfo } from "../../../src/protocol/agent.ts";
import type { Viewer } from "../../../src/session/viewers.ts";
import { TerminalFocus } from "../../../src/viewer/terminal/terminal-focus.ts";

const agent = (state: AgentInfo["state"], more: Partial<AgentInfo> = {}): AgentInfo => ({
  ...{ name: "claude", pid: 7, state, source: "hook", why: "", since: 1 },
  ...more,
});

function viewer(looksAt: readonly string[] = []) {
  const rung: string[] = [];
  const each: Pick<Viewer, "focus" | "alert"> = {
    focus: {
      isWatched: true,
      looksAt: (pane) => looksAt.includes(pane),
      lastSeenAt: () => 0,
      ringsFor: () => false,
      lastKey: null,
    },
    alert: (text) => void rung.push(text),
  };
  return { rung, viewer: each as Viewer };
}

test("each change is reported once, to terminals that do not view that pane; an unexplained rest is not", () => {
  const [here, elsewhere] = [viewer(["@1"]), viewer()];
  const viewers = () => [here.viewer, elsewhere.viewer];
  const alerts = new AgentAlerts({ alert: () => "notify", name: () => "dev", viewers });
  alerts.agentChanged("@1", agent("needs_input", { message: "may\x1b I?" }));
  alerts.agentChanged("@1", agent("needs_input", { message: "still" }));
  alerts.agentChanged("@1", agent("working"));
  alerts.agentChanged("@1", agent("needs_input", { source: "program", since: 2 }));
  alerts.agentChanged("@1", agent("done", { since: 3 }));
  alerts.agentChanged("@1", null);
  expect(elsewhere.rung).toEqual([
    "\x1b]9;wsh dev: claude needs input: may I?\x1b\\",
    "\x1b]9;wsh dev: claude is done\x1b\\",
  ]);
  expect(here.rung).toEqual([]);
  alerts.agentChanged("@2", agent("done", { since: 4 }));
  expect(here.rung).toHaveLength(1);
});

test("nothing is reported unless the setting says how", () => {
  const { rung, viewer: one } = viewer();
  for (const alert of ["off", "bell"] as const) {
    new AgentAlerts({ alert: () => alert, name: () => "dev", viewers: () => [one] }).agentChanged("@1", agent("done"));
  }
  expect(rung).toEqual(["\x07"]);
});

test("a person counts as viewing for half a minute after a key, and not after the terminal has lost the focus", () => {
  let now = 0;
  const presence = new TerminalFocus({ shows: (pane) => pane === "@1", rings: () => true }, () => now);
  expect(presence.looksAt("@1")).toBe(true);
  now = 30_000;
  expect(presence.looksAt("@1")).toBe(false);
  presence.keyTyped();
  expect(presence.looksAt("@1")).toBe(true);
  presence.focusChanged(false);
  expect(presence.looksAt("@1")).toBe(false);
  presence.focusChanged(true);
  expect(presence.looksAt("@1")).toBe(true);
});
