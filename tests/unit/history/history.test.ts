/** The history's journals and database: nothing lost, nothing duplicated, and everything found. */
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { openHistory } from "../../../src/history/database.ts";
import { takeImport } from "../../../src/history/import/import-commands.ts";
import { readZsh } from "../../../src/history/import/sources.ts";
import { Journal, journalsIn } from "../../../src/history/journal.ts";
import type { HistoryPlaces } from "../../../src/history/paths.ts";
import { History } from "../../../src/history/queries.ts";
import { type HistoryRecord, writeLine } from "../../../src/history/record.ts";
import { removeCommands } from "../../../src/history/retention.ts";
import { type HistorySearch, searchHistory } from "../../../src/history/search.ts";
import { takeIn } from "../../support/take-in.ts";
import { seededRandom } from "../../support/terminals/outer-screen.ts";

const full = process.env.WSH_TEST_FULL === "1";
const forever = { days: 36_500, bytes: 1e12 };
let places: HistoryPlaces;
let temporary: string;

beforeEach(() => {
  temporary = fs.mkdtempSync(join(os.tmpdir(), "wsh-history-"));
  const journals = join(temporary, "history");
  places = { journals, database: join(journals, "history.db") };
});
afterEach(() => fs.rmSync(temporary, { recursive: true, force: true }));

const noEvents = {
  begun: () => {},
  failed: (error: unknown) => {
    throw error;
  },
};
const command = (text: string, more: Partial<HistoryRecord> = {}): HistoryRecord => ({
  command: text,
  cwd: "/home/me/project",
  started_at: 1_700_000_000_000,
  duration_ms: 5,
  exit_code: 0,
  signal: null,
  session: "dev",
  session_id: "@s1",
  pane_id: "@1",
  shell: "bash",
  by: "person",
  output: null,
  ...more,
});

function wrote(...records: HistoryRecord[]): void {
  const journal = new Journal(places.journals, noEvents);
  for (const record of records) journal.append(record);
  journal.close();
}

function found(search: Partial<HistorySearch>): string[] {
  takeIn(places, forever);
  const db = openHistory(places);
  try {
    return searchHistory(db, { limit: 100, ...search }).map((each) => each.command);
  } finally {
    db.close();
  }
}

describe("finding commands", () => {
  beforeEach(() => {
    const at = (n: number) => 1_700_000_000_000 + n * 60_000;
    wrote(
      command("git commit -m 'first try'", { started_at: at(1) }),
      command("make test", { started_at: at(2), exit_code: 2, cwd: "/home/me/project/sub", duration_ms: 90_000 }),
      command("git push --force", { started_at: at(3), session: "other", by: "agent" }),
      command("vim 'Füße.txt'", { started_at: at(4), cwd: "/home/me/projects" }),
      command("sleep 100", { started_at: at(5), exit_code: null, signal: "SIGINT", cwd: null }),
    );
  });

  test("by words and their beginnings, in any order, the newest first", () => {
    expect(found({ words: "git" })).toEqual(["git push --force", "git commit -m 'first try'"]);
    expect(found({ words: "fir COMM" })).toEqual(["git commit -m 'first try'"]);
    expect(found({ words: "git test" })).toEqual([]);
    expect(found({ words: "--force" })).toEqual(["git push --force"]);
    expect(found({ words: "-m" })).toEqual(["git commit -m 'first try'"]);
    expect(found({ words: "fusse.t" })).toEqual([]);
    expect(found({ words: "füße.t" })).toEqual(["vim 'Füße.txt'"]);
  });

  test("words that are operators or quotes to the index are plain words", () => {
    for (const words of ['"', "AND", "git OR make", "command:x", "(", "*", "git*'", 'a" b', "NEAR(git push)", "^git"]) {
      expect(() => found({ words })).not.toThrow();
    }
    wrote(command("echo AND", { started_at: 1_800_000_000_000 }));
    expect(found({ words: "AND" })).toEqual(["echo AND"]);
  });

  test("by directory and below, session, end, actor, time, duration", () => {
    expect(found({ cwd: "/home/me/project" })).toEqual(["git push --force", "make test", "git commit -m 'first try'"]);
    expect(found({ session: "other" })).toEqual(["git push --force"]);
    expect(found({ failed: true })).toEqual(["sleep 100", "make test"]);
    expect(found({ exit_code: 2 })).toEqual(["make test"]);
    expect(found({ by: "agent" })).toEqual(["git push --force"]);
    expect(found({ by: "person", words: "git" })).toEqual(["git commit -m 'first try'"]);
    expect(found({ since: 1_700_000_000_000 + 4 * 60_000 })).toEqual(["sleep 100", "vim 'Füße.txt'"]);
    expect(found({ until: 1_700_000_000_000 + 2 * 60_000 })).toEqual(["git commit -m 'first try'"]);
    expect(found({ min_duration_ms: 60_000 })).toEqual(["make test"]);
    expect(found({ min_duration_ms: 90_000, words: "make" })).toEqual(["make test"]);
    expect(found({ min_duration_ms: 90_001 })).toEqual([]);
    expect(found({ min_duration_ms: 5 })).toHaveLength(5);
    expect(found({ exit_code: 0 })).toHaveLength(3);
    expect(found({ failed: true, cwd: "/home/me/project", words: "make" })).toEqual(["make test"]);
  });

  test("below a directory with a thousand others, by words and without, and by no neighbour's", () => {
    const at = (n: number) => 1_710_000_000_000 + n;
    wrote(
      ...Array.from({ length: 1_200 }, (_, n) =>
        command(`many ${n % 2}`, { started_at: at(n), cwd: `/many/\u{1f4c1}/${n}` }),
      ),
      command("many 1", { started_at: at(5_000), cwd: "/many0" }),
    );
    expect(found({ cwd: "/many/\u{1f4c1}", limit: 2_000 })).toHaveLength(1_200);
    expect(found({ cwd: "/many", words: "many 1", limit: 2_000 })).toHaveLength(600);
    expect(found({ cwd: "/many/\u{1f4c1}/7" })).toEqual(["many 1"]);
    expect(found({ cwd: "/man" })).toEqual([]);
  });

  test("beginnings of few words and of hundreds, in phrases, with marks and capitals: the same as reading every line", () => {
    const random = seededRandom(11);
    const any = (count: number): number => Math.floor(random() * count);
    const word = (): string =>
      ["ab", "abc", "b7", "Abd", "s1", "d1", "xfailed", "e2", "l60000", `n${any(300)}`][any(10)] ?? "";
    const mark = (): string => [" ", "/", ".", "--", "_"][any(5)] ?? "";
    const lines = Array.from({ length: 800 }, () => `${word()}${mark()}${word()}${mark()}${word()}`);
    wrote(...lines.map((line, n) => command(line, { started_at: 1_800_000_000_000 + n, exit_code: n % 3 })));
    takeIn(places, forever);
    const db = openHistory(places);
    const tokens = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
    const isIn = (line: string, query: string): boolean =>
      query.split(" ").every((part) => ` ${tokens(line).join(" ")}`.includes(` ${tokens(part).join(" ")}`));
    const queries = [
      "ab",
      "AB",
      "n",
      "n1",
      "n29",
      "s1",
      "d1",
      "xf",
      "ab/ab",
      "--n2",
      "ab.n",
      "b7_abc",
      "ab n1",
      "zz",
      "ab zz",
      "e2",
    ];
    for (const query of queries.filter((each) => each.length > 1)) {
      const expected = lines.filter((line) => isIn(line, query)).reverse();
      const all = searchHistory(db, { words: query, since: 1_800_000_000_000, limit: 1_000 });
      expect(all.map((each) => each.command)).toEqual(expected);
    }
    db.close();
  });

  test("by pages", () => {
    takeIn(places, forever);
    const db = openHistory(places);
    const first = searchHistory(db, { limit: 2 });
    expect(first.map((each) => each.command)).toEqual(["sleep 100", "vim 'Füße.txt'", "git push --force"]);
    const next = searchHistory(db, { limit: 2, before: first[1]?.id ?? 0 });
    expect(next[0]?.command).toBe("git push --force");
    db.close();
  });
});

describe("importing journals", () => {
  test("commands of one millisecond, an empty one, a huge one", () => {
    const huge = `echo ${"x".repeat(100_000)}`;
    wrote(...Array.from({ length: 50 }, (_, n) => command(`same ${n}`)), command(huge, { started_at: 1 }), command(""));
    expect(found({}).length).toBe(52);
    expect(found({ until: 1_000 })).toEqual([huge]);
  });

  test("a journal that is still written to stays, and its new lines are imported later", () => {
    const journal = new Journal(places.journals, noEvents);
    journal.append(command("one"));
    expect(found({})).toEqual(["one"]);
    expect(journalsIn(places.journals).length).toBe(1);
    journal.append(command("two", { started_at: 1_800_000_000_000 }));
    expect(found({})).toEqual(["two", "one"]);
    journal.close();
    expect(found({})).toEqual(["two", "one"]);
    expect(journalsIn(places.journals)).toEqual([]);
  });

  test("nothing new waits for nobody: a search writes nothing then", () => {
    const journal = new Journal(places.journals, noEvents);
    journal.append(command("one"));
    expect(found({})).toEqual(["one"]);
    const other = openHistory(places);
    other.run("BEGIN IMMEDIATE");
    expect(found({})).toEqual(["one"]);
    other.run("ROLLBACK");
    other.close();
    journal.close();
  });

  test("a truncated line, and nonsense, cost nothing else", () => {
    wrote(command("one"), command("two"));
    const [path = ""] = journalsIn(places.journals);
    const text = fs.readFileSync(path, "utf8");
    const lines = text.split("\n");
    fs.writeFileSync(
      path,
      `${text.slice(0, 40)}\n${lines[0]}\n\0\xff garbage\n{"seq":"x"}\n${lines[1]}\n${lines[1]}\n${text.slice(0, 30)}`,
    );
    expect(found({}).sort()).toEqual(["one", "two"]);
  });

  test("a full disk keeps commands until it has room", () => {
    let failures = 0;
    const journal = new Journal(places.journals, { begun: () => {}, failed: () => failures++ });
    fs.writeFileSync(places.journals, "in the way");
    journal.append(command("one"));
    journal.append(command("two"));
    expect(failures).toBe(1);
    fs.rmSync(places.journals);
    journal.append(command("three"));
    journal.close();
    expect(found({}).sort()).toEqual(["one", "three", "two"]);
  });

  test("processes killed during an import, two and more at once: nothing lost, nothing duplicated", async () => {
    const rounds = full ? 20 : 2;
    const random = seededRandom(Number(process.env.WSH_TEST_SEED ?? 7));
    const each = 4_000;
    for (let round = 0; round < rounds; round++) {
      for (let n = 0; n < 4; n++) {
        // As a session writes them: the start of each, and its end. The last of each journal has no end.
        const journal = new Journal(places.journals, noEvents);
        for (let k = 0; k < each; k++) {
          const record = command(`r${round} j${n} k${k}`, { started_at: 1.7e12 + k });
          const begun = journal.begin(record);
          if (k < each - 1) journal.append(record, begun);
        }
        journal.close();
      }
      const child = (): Bun.Subprocess =>
        Bun.spawn(
          [process.execPath, join(import.meta.dir, "../../support/import-journals-child.ts"), places.journals],
          {
            stdout: "ignore",
            stderr: "ignore",
          },
        );
      for (let n = 0; n < 4; n++) {
        const children = [child(), child()];
        await Bun.sleep(random() * 300);
        for (const each of children) each.kill("SIGKILL");
        await Promise.all(children.map(({ exited }) => exited));
      }
      takeIn(places, forever);
      const db = openHistory(places);
      const all = db
        .query<{ all: number; distinct_: number }, []>(
          "SELECT count(*) AS 'all', count(DISTINCT command) AS distinct_ FROM commands",
        )
        .get();
      expect(all).toEqual({ all: (round + 1) * 4 * each, distinct_: (round + 1) * 4 * each });
      expect(searchHistory(db, { words: `r${round} j3 k${each - 1}`, limit: 10 }).length).toBe(1);
      db.close();
      expect(journalsIn(places.journals)).toEqual([]);
    }
  }, 120_000);

  test.each([
    [99, "newer wsh"],
    [3, "unreleased wsh"],
  ])("a database of version %d is left alone, and so are the journals", (version, message) => {
    wrote(command("one"));
    takeIn(places, forever);
    const db = new Database(places.database);
    db.run(`PRAGMA user_version = ${version}`);
    db.close();
    wrote(command("two"));
    expect(() => takeIn(places, forever)).toThrow(message);
    expect(journalsIn(places.journals).length).toBe(1);
  });

  test("a database behind a link, or accessible to others, is refused, and the journals stay", () => {
    wrote(command("one"));
    takeIn(places, forever);
    fs.chmodSync(places.database, 0o644);
    wrote(command("two"));
    expect(() => takeIn(places, forever)).toThrow("accessible to others");
    fs.chmodSync(places.database, 0o600);
    fs.renameSync(places.database, `${temporary}/elsewhere`);
    fs.symlinkSync(`${temporary}/elsewhere`, places.database);
    expect(() => takeIn(places, forever)).toThrow("symbolic link");
    expect(journalsIn(places.journals).length).toBe(1);
  });

  test("clocks that go back: everything is found, in the order of the recorded times", () => {
    const ahead = Date.now() + 40 * 24 * 3600_000;
    wrote(command("from the future", { started_at: ahead }));
    takeIn(places, { days: 90, bytes: 1e12 });
    wrote(command("after the clock was set", { started_at: Date.now() }), command("of 1970", { started_at: 0 }));
    wrote(command("before all clocks", { started_at: -5 }));
    expect(found({})).toEqual(["from the future", "after the clock was set", "of 1970", "before all clocks"]);
    expect(found({ since: Date.now() - 60_000 })).toEqual(["from the future", "after the clock was set"]);
  });

  test("a database that is far too large shrinks at once", () => {
    wrote(...Array.from({ length: 3_000 }, (_, n) => command(`fill ${n} ${crypto.randomUUID()}`, { started_at: n })));
    const begun = process.cpuUsage();
    takeIn(places, { days: 36_500, bytes: 100_000 });
    // One round for each sixteenth takes minutes.
    expect(process.cpuUsage(begun).user / 1e6).toBeLessThan(10);
    const left = found({ limit: 5_000 });
    expect(left.length).toBeLessThan(1_500);
    expect(left[0] ?? "fill 2999").toStartWith("fill 2999");
  });

  test("a damaged database is reported, and the journals stay", () => {
    wrote(command("one"));
    takeIn(places, forever);
    fs.writeFileSync(places.database, "not a database at all, but long enough to be taken for one".repeat(100));
    wrote(command("two"));
    expect(() => takeIn(places, forever)).toThrow("cannot be used");
    expect(journalsIn(places.journals).length).toBe(1);
  });
});

describe("commands that have started", () => {
  const begins = (text: string): HistoryRecord => command(text, { duration_ms: null, exit_code: null });

  test("are imported after their end, or when their journal is complete: once", () => {
    const journal = new Journal(places.journals, noEvents);
    const outer = journal.begin(begins("outer"));
    expect(found({})).toEqual([]);
    const inner = journal.begin(begins("inner"));
    journal.append(command("inner", { exit_code: 3 }), inner);
    expect(found({})).toEqual(["inner"]);
    const gone = journal.begin(begins("not to be kept"));
    expect(found({})).toEqual(["inner"]);
    journal.forget(gone);
    journal.begin(begins("lost"));
    journal.append(command("outer"), outer);
    journal.close();
    for (let round = 0; round < 2; round++) expect(found({}).sort()).toEqual(["inner", "lost", "outer"]);
    expect(journalsIn(places.journals)).toEqual([]);
  });

  test("move on with the journal: a full one keeps none of them open", () => {
    const journal = new Journal(places.journals, noEvents);
    const long = journal.begin(begins("ends late"));
    journal.begin(begins("never ends"));
    const output = "x".repeat(60_000);
    for (let n = 0; n < 100; n++) {
      journal.append(command(`fill ${n}`, { output }));
      if (n % 10 === 0) expect(found({ words: "ends" })).toEqual([]);
    }
    expect(journalsIn(places.journals).length).toBe(1);
    journal.append(command("ends late", { exit_code: 1 }), long);
    expect(found({ words: "ends" })).toEqual(["ends late"]);
    journal.close();
    expect(found({ words: "ends" }).sort()).toEqual(["ends late", "never ends"]);
    expect(found({ words: "fill", limit: 200 })).toHaveLength(100);
  });

  test("text longer than any line does not hide the commands after it", () => {
    wrote(command("before"));
    const [path = ""] = journalsIn(places.journals);
    // Three reads of the longest line, and no line end in the first two.
    fs.appendFileSync(path, `${"x".repeat(2_500_000)}\n${writeLine({ seq: 2, record: command("after") })}`);
    expect(found({}).sort()).toEqual(["after", "before"]);
  });

  test("a line truncated at a command's start costs neither this nor that", () => {
    wrote(command("one"));
    const [path = ""] = journalsIn(places.journals);
    const begin = JSON.stringify({ begin: 2, seq: 2, ...begins("two") });
    fs.appendFileSync(
      path,
      `${begin.slice(0, 30)}\n${begin.slice(0, 31)}}\n${begin}\n{"begin":0}\n{"moved":9}\n{"named":7}\n`,
    );
    expect(found({}).sort()).toEqual(["one", "two"]);
  });

  test("a deletion leaves no directory behind", () => {
    wrote(command("one", { cwd: "/home/tulip-9371" }), command("two"));
    using history = new History(places, forever);
    expect(history.delete({ query: "one", all: false })).toEqual({ deleted: 1 });
    for (const name of fs.readdirSync(places.journals)) {
      expect(fs.readFileSync(join(places.journals, name)).includes("tulip")).toBe(false);
    }
    expect(found({ cwd: "/home/me" })).toEqual(["two"]);
  });

  test("a deletion leaves no name of a session behind", () => {
    wrote(command("one", { session: "tulip-9371", session_id: "@s7" }), command("two"));
    using history = new History(places, forever);
    expect(history.delete({ query: "one", all: false })).toEqual({ deleted: 1 });
    for (const name of fs.readdirSync(places.journals)) {
      expect(fs.readFileSync(join(places.journals, name)).includes("tulip")).toBe(false);
    }
  });
});

describe("retention", () => {
  test("old commands are evicted, and the oldest when there are too many bytes", () => {
    wrote(command("old", { started_at: Date.now() - 100 * 24 * 3600_000 }), command("new", { started_at: Date.now() }));
    takeIn(places, { days: 90, bytes: 1e12 });
    expect(found({})).toEqual(["new"]);
    wrote(
      ...Array.from({ length: 5_000 }, (_, n) =>
        command(`fill ${n} ${crypto.randomUUID()}`, { started_at: Date.now() + n }),
      ),
    );
    takeIn(places, { days: 90, bytes: 400_000 });
    const left = found({ limit: 10_000 });
    expect(left.length).toBeGreaterThan(100);
    expect(left.length).toBeLessThan(4_000);
    expect(left[0]).toStartWith("fill 4999");
  });

  test("a deleted command is nowhere in the files", () => {
    wrote(command("export PASSWORD=tulip-9371", { output: "tulip-9371" }), command("keep me"));
    takeIn(places, forever);
    const db = openHistory(places);
    removeCommands(
      db,
      searchHistory(db, { words: "tulip", limit: 9 }).map(({ id }) => id),
      journalsIn(places.journals),
    );
    db.close();
    for (const name of fs.readdirSync(places.journals)) {
      expect(fs.readFileSync(join(places.journals, name)).includes("tulip")).toBe(false);
    }
    expect(found({})).toEqual(["keep me"]);
  });

  test("a deleted command is nowhere in a journal that is still written to, and nothing else is lost", () => {
    const journal = new Journal(places.journals, noEvents);
    journal.append(command("echo before"));
    journal.append(command("export PASSWORD=tulip-9371"));
    takeIn(places, forever);
    journal.append(command("echo not taken in"));
    const db = openHistory(places);
    const ids = searchHistory(db, { words: "tulip", limit: 9 }).map(({ id }) => id);
    removeCommands(db, ids, journalsIn(places.journals));
    db.close();
    const [path = ""] = journalsIn(places.journals);
    expect(fs.readFileSync(path, "utf8")).not.toContain("tulip");
    journal.append(command("echo after"));
    expect(found({}).sort()).toEqual(["echo after", "echo before", "echo not taken in"]);
    journal.close();
    expect(found({})).toHaveLength(3);
    expect(journalsIn(places.journals)).toEqual([]);
  });

  test("a deletion keeps the commands that run: one that is killed is found afterwards", () => {
    const journal = new Journal(places.journals, noEvents);
    const begins = (text: string) => journal.begin(command(text, { duration_ms: null, exit_code: null }));
    journal.append(command("echo before"));
    begins("make deploy");
    const ending = begins("make test");
    journal.append(command("export PASSWORD=tulip-9371"));
    begins("make last");
    {
      using history = new History(places, forever);
      expect(history.delete({ query: "tulip", all: false })).toEqual({ deleted: 1 });
    }
    const [path = ""] = journalsIn(places.journals);
    expect(fs.readFileSync(path, "utf8")).not.toMatch(/tulip|before/);
    journal.append(command("make test"), ending);
    journal.close();
    expect(found({ words: "make" }).sort()).toEqual(["make deploy", "make last", "make test"]);
    expect(found({})).toHaveLength(4);
  });

  test("an id with filters deletes nothing: they may mean another command", () => {
    wrote(command("make"), command("git push", { started_at: 1_700_000_000_001 }));
    using history = new History(places, forever);
    const [push] = history.search({ query: "push", limit: 1, output: false }).commands;
    const id = push?.id ?? 0;
    expect(() => history.delete({ id, query: "make", all: false })).toThrow("excludes");
    expect(() => history.delete({ id, all: true })).toThrow("excludes");
    expect(found({})).toHaveLength(2);
    expect(history.delete({ id, all: false })).toEqual({ deleted: 1 });
    expect(found({})).toEqual(["make"]);
  });

  test("everything may be deleted at once, and later commands are kept", () => {
    wrote(command("export PASSWORD=tulip-9371", { output: "tulip-9371" }), command("make"));
    using history = new History(places, forever);
    expect(history.delete({ all: true })).toEqual({ deleted: 2 });
    for (const name of fs.readdirSync(places.journals)) {
      expect(fs.readFileSync(join(places.journals, name)).includes("tulip")).toBe(false);
    }
    wrote(command("make again"));
    expect(found({ words: "make" })).toEqual(["make again"]);
  });

  test("an entry with the name of a journal that is not one delays no other", () => {
    fs.mkdirSync(join(places.journals, "0-directory.jsonl"), { recursive: true, mode: 0o700 });
    expect(spawnSync("mkfifo", [join(places.journals, "0-pipe.jsonl")]).status).toBe(0);
    fs.symlinkSync("/etc/passwd", join(places.journals, "0-link.jsonl"));
    wrote(command("echo behind them"));
    expect(found({})).toEqual(["echo behind them"]);
  });

  test("twenty thousand commands of one second, and a clock in the year 30000", () => {
    const db = openHistory(places);
    const same = Array.from({ length: 20_000 }, (_, n) => command(`echo ${n}`, { by: "import" }));
    const begun = process.cpuUsage();
    expect(takeImport(db, "bash", same, 0)).toBe(same.length);
    // Quadratic, this takes minutes.
    expect(process.cpuUsage(begun).user / 1e6).toBeLessThan(10);
    const late = [1, 2].map((n) => command(`late ${n}`, { started_at: 1e15 }));
    db.close();
    wrote(...late);
    expect(found({ words: "late" })).toEqual(["late 2", "late 1"]);
  });

  test("zsh: a command with a newline behind a backslash, one that ends with a backslash, an invalid time", () => {
    const text = ": 1600000000:0;docker run \\\\\n  -it\n: 1600000001:0;echo a\\\\ \n: 999999999999:0;ls\n";
    expect(readZsh(Buffer.from(text)).map(({ command, started_at }) => [command, started_at])).toEqual([
      ["docker run \\\n  -it", 1_600_000_000_000],
      ["echo a\\\\", 1_600_000_001_000],
      ["ls", null],
    ]);
  });
});
