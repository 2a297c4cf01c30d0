/**
 * Histories of other programs as commands: bash, zsh and fish by their files, atuin by its database. Pure,
 * except for atuin's. If a file lacks a command's time, it is not guessed.
 */

import { Database } from "bun:sqlite";
import { LAST_MS } from "../ids.ts";
import { type HistoryRecord, MAX_COMMAND } from "../record.ts";

export const importSources = ["bash", "zsh", "fish", "atuin"] as const;
export type ImportSource = (typeof importSources)[number];

const SECOND_MS = 1_000;
const NS_PER_MS = 1_000_000;

function imported(command: string, started: number | null, more: Partial<HistoryRecord>): HistoryRecord {
  return {
    command: command.slice(0, MAX_COMMAND),
    cwd: null,
    // Ignores a time out of range.
    started_at: started !== null && started < LAST_MS ? started : null,
    duration_ms: null,
    exit_code: null,
    signal: null,
    session: null,
    session_id: null,
    pane_id: null,
    shell: null,
    by: "import",
    output: null,
    ...more,
  };
}

/** `.bash_history`: lines; with HISTTIMEFORMAT each command follows a line `#SECONDS`, and may have several lines. */
export function readBash(text: string): HistoryRecord[] {
  const found: HistoryRecord[] = [];
  let started: number | null = null;
  let lines: string[] = [];
  const end = (): void => {
    const command = lines.join("\n").trimEnd();
    if (command !== "") found.push(imported(command, started, { shell: "bash" }));
    lines = [];
  };
  for (const line of text.split("\n")) {
    const time = /^#(\d{9,11})$/.exec(line)?.[1];
    if (time !== undefined) {
      end();
      started = Number(time) * SECOND_MS;
    } else {
      if (started === null) end();
      lines.push(line);
    }
  }
  end();
  return found;
}

/** zsh writes this before a byte that it uses as a token; that byte follows with bit 5 changed. */
const META = 0x83;

/**
 * `.zsh_history`: `: SECONDS:DURATION;COMMAND` or the command alone. A newline within a command follows a backslash; a
 * command that itself ends with a backslash is followed by a blank.
 */
export function readZsh(bytes: Uint8Array): HistoryRecord[] {
  const plain: number[] = [];
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    if (byte === META) plain.push((bytes[++index] ?? 0) ^ 0x20);
    else plain.push(byte);
  }
  const found: HistoryRecord[] = [];
  let open: string | null = null;
  for (const line of Buffer.from(plain).toString("utf8").split("\n")) {
    const whole: string = open === null ? line : `${open}\n${line}`;
    if (line.endsWith("\\")) {
      open = whole.slice(0, -1);
      continue;
    }
    open = null;
    const text = whole.replace(/(\\ *) $/, "$1");
    const [, time, seconds, command = text] = /^: *(\d{1,12}):(\d{1,12});(.*)$/s.exec(text) ?? [];
    if (command.trim() === "") continue;
    const started = time === undefined ? null : Number(time) * SECOND_MS;
    const duration_ms = seconds === undefined ? null : Number(seconds) * SECOND_MS;
    found.push(imported(command, started, { shell: "zsh", duration_ms }));
  }
  return found;
}

/** `fish_history`: `- cmd: COMMAND`, `  when: SECONDS`; a newline is `\n`, a backslash is doubled. */
export function readFish(text: string): HistoryRecord[] {
  const found: HistoryRecord[] = [];
  for (const entry of text.split(/^- cmd: /m).slice(1)) {
    const [first = "", ...rest] = entry.split("\n");
    const when = rest.map((line) => /^ {2}when: (\d{1,12})$/.exec(line)?.[1]).find((time) => time !== undefined);
    const command = first.replace(/\\(n|\\)/g, (_, letter: string) => (letter === "n" ? "\n" : "\\"));
    if (command.trim() === "") continue;
    found.push(imported(command, when === undefined ? null : Number(when) * SECOND_MS, { shell: "fish" }));
  }
  return found;
}

/** atuin's `history.db`, which is only read. @throws SQLite's error */
export function readAtuin(path: string): HistoryRecord[] {
  const db = new Database(path, { readonly: true });
  try {
    db.run("PRAGMA busy_timeout = 5000");
    const columns = db.query<{ name: string }, []>("SELECT name FROM pragma_table_info('history')").all();
    const condition = columns.some(({ name }) => name === "deleted_at") ? "WHERE deleted_at IS NULL" : "";
    const rows = db.query<{ timestamp: number; duration: number; exit: number; command: string; cwd: string }, []>(
      `SELECT timestamp, duration, exit, command, cwd FROM history ${condition} ORDER BY timestamp`,
    );
    return rows.all().map(({ timestamp, duration, exit, command, cwd }) =>
      imported(command, Math.round(timestamp / NS_PER_MS), {
        cwd: cwd.startsWith("/") ? cwd : null,
        duration_ms: duration < 0 ? null : Math.round(duration / NS_PER_MS),
        exit_code: exit < 0 ? null : exit,
      }),
    );
  } finally {
    db.close();
  }
}
