/**
 * The skills of skills/, embedded in the executable and served as prompts. A skill's file is Markdown with front matter
 * (name, description); the prompt is its text without the front matter. Invariants: every skill here has a folder, and
 * the prompt list shows the first sentence of its description.
 */
import agentOrchestration from "../../../skills/agent-orchestration/SKILL.md" with { type: "text" };
import coreOverHttp from "../../../skills/core/HTTP.md" with { type: "text" };
import core from "../../../skills/core/SKILL.md" with { type: "text" };
import driveProcess from "../../../skills/drive-process/SKILL.md" with { type: "text" };
import generativeUi from "../../../skills/generative-ui/SKILL.md" with { type: "text" };
import inputCapture from "../../../skills/input-capture/SKILL.md" with { type: "text" };
import monitor from "../../../skills/monitor/SKILL.md" with { type: "text" };
import multiSession from "../../../skills/multi-session/SKILL.md" with { type: "text" };
import script from "../../../skills/script/SKILL.md" with { type: "text" };
import tui from "../../../skills/tui/SKILL.md" with { type: "text" };
import visualFeedback from "../../../skills/visual-feedback/SKILL.md" with { type: "text" };

export interface Skill {
  /** Name of its folder; its prompt is `wsh:` and this name. */
  readonly name: string;
  /** Purpose in one sentence; the front matter adds when to use it. */
  readonly description: string;
  /** Markdown without the front matter. */
  readonly text: string;
}

/** @throws when the front matter lacks a field that each of our skills has */
export function parseSkill(file: string): Skill {
  const match = /^---\nname: ([a-z-]+)\ndescription: (.+)\n---\n\n([\s\S]+)$/.exec(file);
  const [, name, description, text] = match ?? [];
  if (name === undefined || description === undefined || text === undefined) {
    throw new Error(`a skill begins with front matter of name and description, not with ${file.slice(0, 60)}`);
  }
  return { name, description: description.replace(/\. Use .*$/, "").replace(/\.$/, ""), text };
}

/** In the order of the list. */
export const skills: readonly Skill[] = [
  core,
  driveProcess,
  tui,
  script,
  multiSession,
  agentOrchestration,
  monitor,
  visualFeedback,
  inputCapture,
  generativeUi,
].map(parseSkill);

/**
 * How to call the same operations over HTTP and from a shell. It is not a prompt, since a client that reads prompts has
 * the tools.
 */
export const coreForShells: Skill = parseSkill(coreOverHttp);
