/**
 * Writes the commands of a session into the journal of its process (src/history), unless the session is private or the
 * history is off: then nothing is observed or opened.
 */

import { Journal, type JournaledCommand } from "../history/journal.ts";
import { type HistoryPlaces, retentionOf } from "../history/paths.ts";
import { type HistoryRecord, MAX_COMMAND, MAX_OUTPUT } from "../history/record.ts";
import type { Retention } from "../history/retention.ts";
import type { Logger } from "../log/log.ts";
import { type HistoryCommand, ShellHistory } from "../pane/commands/shell-history.ts";
import { cutOutput } from "../pane/text/cut-output.ts";
import type { Settings } from "../settings/table.ts";
import type { PaneSession } from "./pane-session.ts";

export interface HistoryOptions {
  readonly places: HistoryPlaces;
  readonly settings: Pick<Settings, "history" | "history_days" | "history_bytes">;
  readonly logger: Logger;
  /** Whether an API created the session: commands before the first input then count as a program's. */
  readonly startedByProgram: boolean;
  /** Called when a journal is begun: older ones may have to be imported. */
  readonly journalBegun: (retention: Retention) => void;
}

export function journalCommands(session: PaneSession, options: HistoryOptions): Disposable {
  const { settings, logger } = options;
  if (settings.history === "off") return { [Symbol.dispose]: () => {} };
  const { pane } = session;
  const journal = new Journal(options.places.journals, {
    begun: () => options.journalBegun(retentionOf(settings)),
    failed: (error) => logger.warn("commands are not yet in the history: the journal cannot be written", { error }),
  });
  /** Running commands that are in the journal, by id. */
  const journaledCommands = new Map<number, JournaledCommand>();
  const { shell } = pane.integration();
  const shellHistory = new ShellHistory(pane.commands.log, {
    isTypedByPerson: () => (pane.writer.source ?? (options.startedByProgram ? "api" : "person")) === "person",
    isPrivate: () => session.isPrivate,
    onBegin: (command) => {
      // The history may have been switched off since.
      if (settings.history === "off") return;
      journaledCommands.set(
        command.record.id,
        journal.begin({ ...historyRecord(session, command), shell, output: null }),
      );
    },
    onEnd: (command) => {
      const journaled = journaledCommands.get(command.record.id);
      journaledCommands.delete(command.record.id);
      if (settings.history === "off") {
        // Without its end it would count as killed.
        if (journaled !== undefined) journal.forget(journaled);
        return;
      }
      const output = settings.history === "output" ? outputToStore(session, command) : null;
      journal.append({ ...historyRecord(session, command), shell, output }, journaled);
    },
    onLeave: (id) => {
      const journaled = journaledCommands.get(id);
      if (journaledCommands.delete(id) && journaled !== undefined) journal.forget(journaled);
    },
  });
  const unsubscribe = session.events.on("renamed", ({ new_name }) =>
    journal.recordName(session.id, new_name, Date.now()),
  );
  return {
    [Symbol.dispose]: () => {
      unsubscribe();
      shellHistory[Symbol.dispose]();
      journal.close();
    },
  };
}

function historyRecord(
  session: PaneSession,
  { record, byProgram }: HistoryCommand,
): Omit<HistoryRecord, "shell" | "output"> {
  return {
    command: (record.command ?? "").slice(0, MAX_COMMAND),
    cwd: record.cwd,
    started_at: record.started_at,
    duration_ms: record.duration_ms,
    exit_code: record.exit_code,
    signal: record.signal,
    session: session.name,
    session_id: session.id,
    pane_id: session.pane.id,
    by: byProgram ? "agent" : "person",
  };
}

function outputToStore({ pane }: PaneSession, { record }: HistoryCommand): string | null {
  const lines = pane.commands.log.output(record.id);
  return lines === null ? null : cutOutput(lines, MAX_OUTPUT).text;
}
