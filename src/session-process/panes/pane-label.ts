/** The text in the line above a pane. Pure. */
import type { PaneLabel } from "../../compositor/border-titles.ts";
import type { AgentInfo } from "../../protocol/agent.ts";
import { automaticName, type PaneInfo } from "../../protocol/session.ts";

/** The state as text; states that are visible in the pane itself, a prompt or a running program, are omitted. */
function stateText({ state, exit_code, signal }: Pick<PaneInfo, "state" | "exit_code" | "signal">): string {
  if (state === "exited") return `exited: ${signal ?? exit_code ?? "?"}`;
  if (state === "password") return "asks for a password";
  if (state === "waiting_for_input") return "waits for input";
  if (state === "unresponsive") return "does not answer";
  return state === "crashed" ? "crashed" : "";
}

function agentText({ name, state }: AgentInfo): string {
  return `${name} ${state === "needs_input" ? "needs you" : state}`;
}

/** The writer precedes the state, so that a person sees the origin of text that nobody typed at the keyboard. */
export function paneLabel(pane: Omit<PaneInfo, "index" | "active">): PaneLabel {
  const { agent, typed_by: typingCaller, title } = pane;
  const typingText = typingCaller === undefined ? "" : `${typingCaller} types`;
  const stateDescription = agent === undefined || pane.state === "exited" ? stateText(pane) : agentText(agent);
  return {
    title: title === "" ? automaticName(pane) : title,
    description: [typingText, stateDescription].filter((each) => each !== ""),
  };
}
