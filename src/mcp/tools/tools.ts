/** The tools that MCP serves, in the order in which a model reads them. */

import type { Access } from "../../protocol/caller.ts";
import { accessCovers } from "../../protocol/caller.ts";
import { askUser } from "./asking.ts";
import { checkpoint } from "./checkpoints.ts";
import { exec, getOutput, getStatus, wait } from "./commands.ts";
import { inputMode, overlay, panel, removeOverlay, removePanel, screenMode } from "./drawing.ts";
import { history } from "./history.ts";
import { closePane, createPane, layout, manageWindow } from "./panes.ts";
import { createSession, listSessions, manageSession } from "./sessions.ts";
import { awaitQuiesce, getScreen, getScrollback, runCommand, sendInput } from "./terminal.ts";
import type { Tool } from "./tool.ts";

export type ToolSet = "core" | "all";

export const tools: readonly Tool[] = [
  exec,
  runCommand,
  wait,
  getOutput,
  getStatus,
  getScreen,
  sendInput,
  createSession,
  listSessions,
  manageSession,
  createPane,
  closePane,
  layout,
  manageWindow,
  askUser,
  getScrollback,
  awaitQuiesce,
  history,
  checkpoint,
  overlay,
  removeOverlay,
  panel,
  removePanel,
  inputMode,
  screenMode,
];

/** The tools served to a caller: the requested set, without those that the caller may not use. */
export function servedTools(set: ToolSet, access: Access): readonly Tool[] {
  return tools.filter((tool) => (set === "all" || tool.core) && accessCovers(access, tool.access));
}
