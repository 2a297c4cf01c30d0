/** The AI agent that has started a process, directly or through shells and scripts: by its ancestors' names. */
import { platform } from "../../platform/platform.ts";
import { agentTable } from "./known-agents.ts";

/** Maximum ancestors looked at. */
const MAX_DEPTH = 32;

/** @param pid the first ancestor @returns the nearest agent's name; null: none is known */
export function agentAbove(pid: number): string | null {
  const match = agentTable();
  const { processes } = platform();
  for (let at = pid, depth = 0; at > 1 && depth < MAX_DEPTH; depth++) {
    const stat = processes.stat(at);
    if (stat === null) return null;
    const found = match({ name: stat.name, args: processes.args(at) });
    if (found !== null) return found.name;
    at = stat.ppid;
  }
  return null;
}
