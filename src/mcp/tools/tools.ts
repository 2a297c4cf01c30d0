/** The tools that MCP serves, in the order in which a model reads them. */

import type { Access } from "../../protocol/caller.ts";
import { accessCovers } from "../../protocol/caller.ts";
import { agent } from "./agents.ts";
import { askUser } from "./asking.ts";
import { checkpoint } from "./checkpoints.ts";
import { exec, getOutput, getStatus, wait } from "./commands.ts";
import { inputMode, overlay, panel, removeOverlay, removePanel, screenMode } from "./drawing.ts";
import { history } from "./history.ts";
import { closePane, createPane, layout, manageWindow } from "./panes.ts";
import { script } from "./script.ts";
import { addServer, listServers, removeServer, serverStatus } from "./servers.ts";
import { createSession, createSessionAnywhere, listSessions, manageSession } from "./sessions.ts";
import { awaitQuiesce, getScreen, getScrollback, runCommand, sendInput } from "./terminal.ts";
import type { Tool } from "./tool.ts";
import type { ToolSet } from "./tool-sets.ts";

export const tools: readonly Tool[] = [
  exec,
  script,
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
  agent,
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

/** Tools for other machines: omitted without other machines, to save the model tokens. */
export const machineTools: readonly Tool[] = [
  createSessionAnywhere,
  listServers,
  serverStatus,
  addServer,
  removeServer,
];

/** Whether a tool's calls change nothing, so that they can be repeated. */
export function isReadingTool(name: unknown): boolean {
  return tools.some((tool) => tool.name === name && tool.access === "observe");
}

/** The tools served to a caller: the requested set, without those that the caller may not use. */
export function servedTools(set: ToolSet, access: Access, hasMachines = false): readonly Tool[] {
  const others = tools.filter((tool) => tool !== createSession);
  const known = set === "machines" || (set === "all" && hasMachines) ? [...others, ...machineTools] : tools;
  return known.filter((tool) => (set !== "core" || tool.core) && accessCovers(access, tool.access));
}
