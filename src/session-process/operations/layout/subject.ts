/** The subjects of handlers of windows and panes, and their common parts. */

import { storableVariables } from "../../../checkpoints/files/environment.ts";
import type { HandlerContext } from "../../../endpoint/operations/context.ts";
import { findRunningPrograms } from "../../../endpoint/operations/running.ts";
import { directoryOf } from "../../../platform/directory.ts";
import { defined } from "../../../protocol/defined.ts";
import { WshError } from "../../../protocol/errors.ts";
import type { Arrangement as Answer, PaneProgram } from "../../../protocol/layout.ts";
import { formatTarget, parseTarget, type Target, windowId } from "../../../protocol/names.ts";
import { requireCombinable } from "../../../protocol/option-rules.ts";
import type { Owner } from "../../../protocol/owner.ts";
import type { RunningProgram } from "../../../protocol/session.ts";
import type { Amount, Size } from "../../../protocol/size.ts";
import { paneBeside, windowBeside } from "../../../session/windows/changes.ts";
import {
  noWindow,
  type PaneEntry,
  paneEntry,
  panesIn,
  type Subject,
  type Windows,
  windowWith,
} from "../../../session/windows/state.ts";
import type { WindowView } from "../../panes/window-view.ts";
import type { SessionParts } from "../../parts.ts";

export interface LayoutCall {
  readonly parts: SessionParts;
  /** The window and pane that the target names. */
  readonly subject: Subject;
  /** Whether the command line or a key requested it. */
  readonly byPerson: boolean;
  /** The owner of new windows and panes. */
  readonly owner: Owner;
  /** Whether somebody reads the answer: nobody reads that to a key. */
  readonly isAnswered: boolean;
}

/** A view runs no program of its own. */
const viewRules = [{ option: "view", excludes: ["command", "shell", "stdin"] }];

/** Placeholder for a new pane in a layout that is computed in advance. */
export const PROVISIONAL = "@0";

/** The answer to a change of this pane. @param isRead whether somebody reads it: its facts are read from the system */
export function answer({ session, arrangement, content }: SessionParts, pane: string, isRead = true): Answer {
  const { state } = arrangement;
  const window = state.panes[pane] === undefined ? state.windows[0] : windowWith(state, pane);
  return {
    session: session.name,
    session_id: session.id,
    window: windowId(window?.id ?? 0),
    pane,
    windows: isRead ? content.windows() : [],
  };
}

/** Runs a change that starts nothing, and returns its result. */
export function change(
  { parts, subject, isAnswered }: LayoutCall,
  make: (state: Windows, area: Size) => Windows,
  about: string = subject.pane,
): Promise<Answer> {
  const { arrangement } = parts;
  return arrangement.change(() => {
    const window = arrangement.state.windows.find(({ id }) => id === subject.window.id);
    arrangement.commit(make(arrangement.state, arrangement.sizeOf(window ?? subject.window)));
    return answer(parts, about, isAnswered);
  });
}

/** The programs in a window, or in one pane of it. */
export function runningIn({ content }: SessionParts, window: number, pane?: string): RunningProgram[] {
  const panes = content.windows().find(({ id }) => id === windowId(window))?.panes ?? [];
  return findRunningPrograms(panes.filter(({ id }) => pane === undefined || id === pane));
}

/** Whether a target names something outside of the session. */
export function isElsewhere({ session, sessionNumber, arrangement: { state } }: SessionParts, target: Target): boolean {
  switch (target.kind) {
    case "session":
      return target.name !== session.name;
    case "session_id":
      return target.id !== sessionNumber;
    case "window_id":
      return state.windows.every(({ id }) => id !== target.id);
    case "pane":
      return state.panes[formatTarget(target)] === undefined;
  }
}

/** Another pane of the session: a target, or a direction from this one. @throws WshError pane_not_found */
export function otherPane({ parts, subject }: Pick<LayoutCall, "parts" | "subject">, text: string): string {
  const { arrangement } = parts;
  const { state } = arrangement;
  switch (text) {
    case "left":
    case "right":
    case "up":
    case "down":
    case "next":
    case "previous":
    case "last":
      return paneBeside(state, subject.pane, text, arrangement.sizeOf(subject.window));
    default:
      if (!isElsewhere(parts, parseTarget(text))) return parts.findSubject(text).pane;
      throw new WshError("pane_not_found", `session '${parts.session.name}' has no pane '${text}'`);
  }
}

export function amount(cells: number | undefined, percent: number | undefined): Amount | undefined {
  if (cells !== undefined) return { cells };
  return percent === undefined ? undefined : { percent };
}

/** The purpose of a new pane. */
export interface PaneUse {
  /** Whether it disappears with its program. Nothing of it is stored then. */
  readonly isPopup?: boolean;
  /** The file that its program gets as standard output instead of the terminal. */
  readonly printPath?: string;
}

/**
 * Starts the contents of a new pane. The layout is checked in advance, with a provisional pane.
 * @returns its entry; `undo` ends it again if it cannot be put into the layout
 * @throws WshError of the program that could not be started: nothing of it remains
 */
export async function startPane(
  { parts, subject, byPerson, owner }: LayoutCall,
  requestedProgram: PaneProgram,
  window: number,
  size: Size,
  use: PaneUse = {},
): Promise<{ readonly entry: PaneEntry; undo(): void }> {
  const { arrangement } = parts;
  requireCombinable(viewRules, requestedProgram);
  const isRemote = requestedProgram.view?.includes("/") === true;
  const remoteProgram = isRemote
    ? (await import("../../panes/remote-view.ts")).remoteViewProgram(parts.instance, requestedProgram)
    : null;
  const program = remoteProgram ?? requestedProgram;
  const { title = null, keep_after_exit: keep = null } = program;
  if (program.view != null) return viewPane(parts, program.view, { title, keep }, size);
  const source = arrangement.placedPanes.get(subject.pane)?.paneInfo(true);
  const { command = null, cwd = null, shell = null, env = null, stdin } = program;
  const create = { command, cwd, shell, env, ...defined({ stdin }) };
  // The directory of the neighbouring pane: its program's current one, otherwise the reported one.
  const sourceCwd = (source?.pid == null ? null : directoryOf(source.pid)) ?? source?.cwd ?? "/";
  const local = await parts.startProgram({ create, cwd: sourceCwd, window, byPerson, owner, ...use }, size);
  arrangement.addLocal(local);
  const storableEnv = storableVariables(program.env);
  const entry = paneEntry(local.id, { title, keep, ...defined({ env: storableEnv }) });
  return { entry, undo: () => endPane(parts, local.id) };
}

/** Shows a pane of another session, or another session, here as well. */
async function viewPane(
  parts: SessionParts,
  view: string,
  { title, keep }: Pick<PaneEntry, "title" | "keep">,
  size: Size,
): Promise<{ readonly entry: PaneEntry; undo(): void }> {
  const { openView } = await import("../../panes/view-pane.ts");
  const { id, target } = await openView(parts, view, size);
  return { entry: paneEntry(id, { title, keep, view: target }), undo: () => endPane(parts, id) };
}

function endPane({ arrangement }: SessionParts, pane: string): void {
  const placedPane = arrangement.placedPanes.get(pane);
  arrangement.forget(pane);
  void placedPane?.endProgram();
}

/**
 * Handles a person's key at a terminal with its own focus: selecting and zooming affect only that.
 * @returns whether it was such a key
 */
export function ownFocusHandlers(
  { parts, subject }: LayoutCall,
  view: WindowView,
  op: string,
  input: unknown,
): boolean {
  const { ownFocus } = view;
  if (ownFocus === null) return false;
  const { arrangement } = parts;
  const { state } = arrangement;
  const { to, index } = input as { readonly to?: string; readonly index?: number };
  if (op === "pane.select") {
    view.focus(to === undefined ? subject.pane : otherPane({ parts, subject }, to));
    return true;
  }
  if (op === "pane.zoom") ownFocus.zoomed = !ownFocus.zoomed && panesIn(subject.window).length > 1;
  else if (op === "window.select") {
    const beside =
      to === "next" || to === "previous" || to === "last" ? windowBeside(state, ownFocus.window, to) : null;
    const isHere = to === undefined && index === undefined;
    const window = isHere
      ? subject.window
      : state.windows.find((each) => (index === undefined ? each.id === beside : each.index === index));
    if (window === undefined) throw noWindow(String(index ?? to));
    ownFocus.window = window.id;
    ownFocus.pane = window.active;
    ownFocus.zoomed = false;
  } else return false;
  arrangement.watch(view, ownFocus.window);
  return true;
}

export type { HandlerContext };
