/** Connects the agent watch to the pane's program and to the kernel's facts about processes. */
import type { Clock } from "../../base/clock.ts";
import type { Emitter } from "../../base/emitter.ts";
import { busyChild } from "../../platform/busy-child.ts";
import { agentTable } from "../../platform/known-agents.ts";
import { platform } from "../../platform/platform.ts";
import type { Commands } from "../commands/commands.ts";
import type { ProgramPort } from "../ports.ts";
import type { PaneEvents, PaneOptions } from "../types.ts";
import { AgentWatch } from "./agent-watch.ts";
import type { ProcessIdentity } from "./lineage.ts";

interface PaneAgentPort {
  readonly clock: Clock;
  readonly events: Emitter<PaneEvents>;
  readonly program: Pick<ProgramPort, "pid" | "foreground">;
  readonly commands: () => Commands;
}

export function watchAgent(
  { agents = [] }: Pick<PaneOptions, "agents">,
  { clock, events, program, commands }: PaneAgentPort,
): AgentWatch {
  const watch = new AgentWatch({
    clock,
    table: agentTable(agents),
    lineage: identityOf,
    pid: () => program.pid,
    foreground: () => program.foreground(),
    busyChild,
    checkForeground: () => void commands().state(),
    onChange: (agent) => {
      commands().noteAgentChange(agent);
      events.emit("agent", agent);
    },
  });
  events.on("attention", (attention) => watch.noteAnnouncement(attention));
  return watch;
}

function identityOf(pid: number): ProcessIdentity | null {
  const { processes } = platform();
  const stat = processes.stat(pid);
  if (stat === null || stat.state === "ended") return null;
  const { ppid, name, started } = stat;
  return { pid, ppid, name, args: processes.args(pid), key: `${pid}:${started}` };
}
