/**
 * A command history with a million records: importing journals, the cost of a command to its session, and searches
 * beside grep over the same command lines.
 */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { openHistory } from "../src/history/database.ts";
import { Journal } from "../src/history/journal.ts";
import { History } from "../src/history/queries.ts";
import type { HistoryRecord } from "../src/history/record.ts";
import { RowWriter } from "../src/history/rows.ts";
import { searchHistory } from "../src/history/search.ts";
import { figure } from "./figure.ts";
import type { Measure } from "./measure.ts";

const COMMANDS = 1_000_000;
const JOURNALS = 16;
/** Records in one transaction of an import. */
const BATCH = 30_000;
const ROUNDS = 40;
const forever = { days: 36_500, bytes: 1e12 };
const verbs = [
  "git commit -m 'mend the parser'",
  "make test",
  "cargo build --release",
  "ls -la",
  "vim src/main.ts",
  "kubectl get pods -n production",
  "docker compose up -d",
  "npm run build",
  "ssh build1 uptime",
  "grep -rn needle src",
];
/** Frequent and rare words, prefixes, several words, and words that never occur. */
const words = ["git", "kube get", "9999", "needle src", "build 4711", "raretoken", "nowhere", "doc comp", "mend pars"];

export const history: Measure = {
  name: "history",
  async run() {
    const directory = fs.mkdtempSync(join(os.tmpdir(), "wsh-bench-"));
    try {
      return measured(directory);
    } finally {
      fs.rmSync(directory, { recursive: true, force: true });
    }
  },
};

function measured(directory: string) {
  const places = { journals: directory, database: join(directory, "history.db") };
  const text = join(directory, "commands.txt");
  const lines: string[] = [];
  const spent: number[] = [];
  for (let journal = 0; journal < JOURNALS; journal++) {
    const writer = new Journal(directory, {
      begun: () => {},
      failed: (error) => {
        throw error;
      },
    });
    for (let at = journal; at < COMMANDS; at += JOURNALS) {
      const record = commandAt(at);
      lines.push(record.command);
      const begun = performance.now();
      // As a session does: once as it begins, and once as it ends.
      writer.append(record, writer.begin(record));
      if (at % 100 === journal) spent.push(performance.now() - begun);
    }
    writer.close();
  }
  fs.writeFileSync(text, lines.join("\n"));
  const begun = performance.now();
  const busy = process.cpuUsage();
  new History(places, forever)[Symbol.dispose]();
  const rate = COMMANDS / ((performance.now() - begun) / 1000);
  const cost = processorMs(busy) / COMMANDS;
  const alone = rowsAlone(directory);
  const db = openHistory(places);
  const ours: number[] = [];
  const work: number[] = [];
  const greps: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const query of words) {
      const from = performance.now();
      const before = process.cpuUsage();
      searchHistory(db, { words: query, limit: 20 });
      ours.push(performance.now() - from);
      work.push(processorMs(before));
      if (round % 10 !== 0) continue;
      const started = performance.now();
      Bun.spawnSync(["sh", "-c", 'grep -F -- "$1" "$2" | tail -n 20', "sh", query.split(" ")[0] ?? "", text]);
      greps.push(performance.now() - started);
    }
  }
  db.close();
  const p99 = (all: number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length * 0.99)] ?? 0;
  return {
    title: "A history of 1,000,000 commands",
    columns: [
      "a search, p50, ms",
      "p99, ms",
      "p99, processor ms",
      "taken in, commands/s",
      "processor µs each",
      "a command in its session, ms",
    ],
    lines: [
      {
        who: "wsh",
        figures: [
          figure(ours),
          figure([p99(ours)]),
          figure([p99(work)]),
          figure([rate]),
          figure([cost * 1000]),
          figure(spent),
        ],
      },
      {
        who: "SQLite: the rows and words alone",
        figures: [null, null, null, figure([alone.rate]), figure([alone.cost * 1000]), null],
      },
      { who: "grep over the lines", figures: [figure(greps), figure([p99(greps)]), null, null, null, null] },
    ],
    goal: "p99 ≤ 50 ms; 100,000 commands/s; 0.2 ms a command",
    meaning:
      "Searches for the newest 20 in an open database, for frequent, rare and missing words and several at once; grep starts a process and looks for " +
      "the first word alone. The second line writes the same rows and words from memory: what taking in can cost least. Each command is written twice, as it begins and as it ends. Processor time tells what a busy " +
      "machine hides.",
  };
}

/** Writes the rows of an import without reading journals. */
function rowsAlone(directory: string): { readonly rate: number; readonly cost: number } {
  const journals = join(directory, "alone");
  const db = openHistory({ journals, database: join(journals, "history.db") });
  const begun = performance.now();
  const busy = process.cpuUsage();
  for (let from = 0; from < COMMANDS; from += BATCH) {
    db.transaction(() => {
      const writer = new RowWriter(db);
      for (let at = from; at < Math.min(COMMANDS, from + BATCH); at++) writer.write(commandAt(at), null);
      writer.finish();
    }).immediate();
  }
  const rate = COMMANDS / ((performance.now() - begun) / 1000);
  const cost = processorMs(busy) / COMMANDS;
  db.close();
  fs.rmSync(journals, { recursive: true });
  return { rate, cost };
}

function processorMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

function commandAt(at: number): HistoryRecord {
  return {
    command: `${verbs[at % verbs.length]} ${(at * 7919) % 100_003}${at % 50_000 === 7 ? " raretoken" : ""}`,
    cwd: `/home/me/project${at % 200}/src`,
    started_at: 1.7e12 + at * 1_000,
    duration_ms: at % 5_000,
    exit_code: at % 17 === 0 ? 1 : 0,
    signal: null,
    session: "dev",
    session_id: "@s3",
    pane_id: "@7",
    shell: "bash",
    by: "person",
    output: null,
  };
}
