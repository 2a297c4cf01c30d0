/** A session's state in a few words for the list. Pure. */
import { activePane } from "../../protocol/active-pane.ts";
import { type AgentInfo, evidenceOf } from "../../protocol/agent.ts";
import type { SessionInfo } from "../../protocol/session.ts";

/** Kinds for which the style has colours. */
type Tone = "calm" | "busy" | "needs" | "done" | "bad";

const stateTexts: Readonly<Record<SessionInfo["state"], readonly [words: string, tone: Tone]>> = {
  prompt: ["at its prompt", "calm"],
  running: ["running", "busy"],
  waiting_for_input: ["waits for input", "needs"],
  password: ["asks for a password", "needs"],
  fullscreen: ["full screen", "calm"],
  exited: ["ended", "calm"],
  unresponsive: ["does not answer", "bad"],
  crashed: ["crashed; can be restored", "bad"],
};

const agentStateTexts: Readonly<Record<AgentInfo["state"], readonly [words: string, tone: Tone]>> = {
  needs_input: ["needs you", "needs"],
  done: ["is done", "done"],
  idle: ["rests", "calm"],
  working: ["works", "busy"],
};

/** The state of its agent, or of its active pane. */
export function describeState(session: Pick<SessionInfo, "state" | "agent" | "windows" | "running">): {
  readonly words: string;
  readonly tone: Tone;
} {
  const { agent } = session;
  if (agent !== undefined) {
    const [words, tone] = agentStateTexts[agent.state];
    const agentText = agent.busy === undefined ? words : `is busy: ${agent.busy}`;
    return { words: `${agent.name} ${agentText} (${evidenceOf(agent)})`, tone };
  }
  const [words, tone] = stateTexts[(session.running ? activePane(session)?.state : undefined) ?? session.state];
  return { words, tone };
}

/** A path with the home directory as ~, shortened in the middle. */
export function shortPath(path: string | null): string {
  if (path === null) return "";
  const homeRelative = path.replace(/^\/(?:home|Users)\/[^/]+|^\/root(?=\/|$)/, "~");
  const parts = homeRelative.split("/");
  return parts.length <= 4 ? homeRelative : `${parts[0]}/…/${parts.slice(-2).join("/")}`;
}
