/** Commands of a pane in the journal of the history, while the setting changes. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { openHistory } from "../../../src/history/database.ts";
import type { HistoryPlaces } from "../../../src/history/paths.ts";
import type { Retention } from "../../../src/history/retention.ts";
import { searchHistory } from "../../../src/history/search.ts";
import { CommandLog } from "../../../src/pane/commands/command-log.ts";
import type { ShellMark } from "../../../src/pane/ports.ts";
import { type HistoryOptions, journalCommands } from "../../../src/session-process/command-journal.ts";
import type { PaneSession } from "../../../src/session-process/pane-session.ts";
import { FakeText } from "../../support/fake-text.ts";
import { takeIn } from "../../support/take-in.ts";

const forever = { days: 36_500, bytes: 1e12 };
let temporary: string;
let places: HistoryPlaces;

beforeEach(() => {
  temporary = fs.mkdtempSync(join(os.tmpdir(), "wsh-journal-"));
  const journals = join(temporary, "history");
  places = { journals, database: join(journals, "history.db") };
});
afterEach(() => fs.rmSync(temporary, { recursive: true, force: true }));

interface ChangingSettings {
  history: "off" | "commands" | "output";
  history_days: number;
  history_bytes: number;
}

function journaled(settings: ChangingSettings, journalBegun: (retention: Retention) => void = () => {}) {
  const text = new FakeText();
  const log = new CommandLog({ text, clock: systemClock, cwd: () => "/home", shellHoldsTerminal: () => true });
  const mark = (kind: ShellMark["kind"], more: Partial<ShellMark> = {}): void =>
    log.handleMark({
      kind,
      verified: true,
      exitCode: null,
      commandLine: null,
      offset: text.offset,
      position: text.position(),
      ...more,
    });
  const pane = { id: "@1", commands: { log }, integration: () => ({ shell: "zsh" }), writer: { source: "person" } };
  const session = { id: "@s1", name: "dev", isPrivate: false, events: { on: () => () => {} }, pane };
  const logger = { warn: () => {} };
  const options = { places, settings, logger, startedByProgram: false, journalBegun };
  const journal = journalCommands(session as unknown as PaneSession, options as unknown as HistoryOptions);
  const begin = (line: string): void => {
    mark("A");
    text.print("$ ");
    mark("B");
    text.print(`${line}\n`);
    mark("C");
    mark("E", { commandLine: line });
  };
  const end = (exitCode: number): void => {
    mark("D", { exitCode });
    mark("A");
    mark("B");
  };
  return { journal, begin, end };
}

function found(): { command: string; exit_code: number | null }[] {
  takeIn(places, forever);
  const db = openHistory(places);
  try {
    return searchHistory(db, { limit: 100 }).map(({ command, exit_code }) => ({ command, exit_code }));
  } finally {
    db.close();
  }
}

test("a command that ends while the history is off is not recorded as killed", () => {
  const settings: ChangingSettings = { history: "commands", history_days: 90, history_bytes: 1e9 };
  const { journal, begin, end } = journaled(settings);
  begin("make one");
  end(3);
  begin("make two");
  settings.history = "off";
  end(0);
  begin("make three");
  settings.history = "commands";
  end(0);
  journal[Symbol.dispose]();
  expect(found()).toEqual([
    { command: "make three", exit_code: 0 },
    { command: "make one", exit_code: 3 },
  ]);
});

test("an import that a session starts deletes by the settings of that time, not by those of the session's start", () => {
  const settings: ChangingSettings = { history: "commands", history_days: 90, history_bytes: 1e9 };
  const retentions: Retention[] = [];
  const { journal, begin, end } = journaled(settings, (retention) => retentions.push(retention));
  settings.history_days = 3650;
  begin("make");
  end(0);
  journal[Symbol.dispose]();
  expect(retentions).toEqual([{ days: 3650, bytes: 1e9 }]);
});
