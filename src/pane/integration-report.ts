/** Whether the shell of a pane reports where commands begin and end, and if not, why. */
import type { Status } from "../protocol/commands.ts";
import { shellKind } from "../shell/plan.ts";
import type { Commands } from "./commands/commands.ts";
import type { PaneShell } from "./types.ts";

export function integrationReport({ kind, integration }: PaneShell, commands: Commands): Status["shell_integration"] {
  const shell = kind === "other" ? null : kind;
  if (!integration.active) return { active: false, shell, reason: integration.reason };
  const { log, replacedBy, inactiveReason, child } = commands;
  if (child !== null) return { active: true, shell: child.kind };
  if (inactiveReason !== null) return { active: false, shell, reason: inactiveReason };
  if (replacedBy !== null) {
    const name = shellKind(replacedBy);
    const present = name === "other" ? null : name;
    return { active: log.isActive, shell: present, reason: `the shell has become '${replacedBy}'` };
  }
  if (log.isActive || log.hasVerifiedMarks) return { active: true, shell };
  return { active: false, shell, reason: "the shell has not shown its prompt yet" };
}
