/** A checkpoint's contents in a form to show and compare. */

import type { Instance } from "../../instance/paths.ts";
import type { OperationOutput } from "../../operations/table.ts";
import { paneId, sessionId, windowId } from "../../protocol/names.ts";
import { readFacts } from "../files/facts.ts";
import { folderBytes } from "../files/named.ts";
import { readHistory, readPane } from "../files/part-reader.ts";
import { stripStyles } from "../files/part-writer.ts";
import type { PaneRecord } from "../files/record.ts";
import type { CrashedSession } from "../files/sessions.ts";
import { readWindows } from "../files/tree.ts";
import type { NamedCheckpoint } from "./find.ts";
import { isRunning } from "./running.ts";

export type CheckpointView = OperationOutput<"checkpoint.show">;
export type CheckpointPane = CheckpointView["panes"][number];

/** A named checkpoint in a list. */
export function describeCheckpoint(
  instance: Instance,
  { folder, stored }: NamedCheckpoint,
): OperationOutput<"checkpoint.save"> {
  const [first] = stored.panes;
  const { note, git } = readFacts(folder.directory);
  return {
    session: stored.session.name,
    id: sessionId(folder.number),
    label: folder.label,
    saved_at: stored.saved_at,
    panes: stored.panes.length,
    bytes: folder.bytes,
    running: isRunning(instance, folder.number),
    note,
    cwd: first?.cwd ?? null,
    git: (first === undefined ? undefined : git[first.pane]) ?? null,
    command: first?.foreground?.line ?? first?.program.display ?? "",
    agents: [...new Set(stored.panes.flatMap(({ foreground }) => foreground?.agent ?? []))],
  };
}

/** @param label null: the continuously written checkpoint */
export function viewCheckpoint(stored: CrashedSession, label: string | null): CheckpointView {
  const { session, number, directory, saved_at, layout, panes, left_out } = stored;
  const { name, tags, rows, cols } = session;
  const windows =
    layout === null
      ? panes.slice(0, 1).map(({ pane }) => ({
          id: windowId(session.window),
          name: null,
          active: true,
          zoomed: false,
          panes: [paneId(pane)],
          layout: paneId(pane),
        }))
      : readWindows(layout).map((window) => ({
          id: windowId(window.id),
          name: window.name,
          active: window.active,
          zoomed: window.zoomed,
          panes: window.panes.map(paneId),
          layout: window.layout,
        }));
  const facts = readFacts(directory);
  return {
    note: facts.note,
    bytes: folderBytes(directory),
    session: name,
    id: sessionId(number),
    label,
    saved_at,
    tags: [...tags],
    rows,
    cols,
    windows,
    panes: panes.map((pane) => viewPane(stored, pane, facts.git[pane.pane] ?? null)),
    left_out: left_out.map(({ pane, why }) => ({ session: name, pane_id: paneId(pane), message: why })),
  };
}

function viewPane({ directory }: CrashedSession, record: PaneRecord, git: CheckpointPane["git"]): CheckpointPane {
  const { pane, title, cwd, rows, cols, program, foreground, history } = record;
  const stored = readPane(directory, pane);
  const screen = [...(stored.screen ?? []), ...(stored.alternate ?? [])].map(stripStyles);
  return {
    id: paneId(pane),
    title,
    cwd,
    rows,
    cols,
    program: program.display,
    running: foreground?.line ?? null,
    git,
    agent: foreground?.agent ?? null,
    screen,
    lines_above: history === null ? 0 : history.end - history.first,
  };
}

/** A pane's lines including those above the screen, without styles; if there are too many, the newest. */
export function readLines({ directory }: CrashedSession, pane: number, most: number): string[] {
  const stored = readPane(directory, pane);
  const above = readHistory(directory, stored).lines.slice(-most);
  return [...above.map((line) => line ?? ""), ...(stored.screen ?? []), ...(stored.alternate ?? [])]
    .slice(-most)
    .map(stripStyles);
}
