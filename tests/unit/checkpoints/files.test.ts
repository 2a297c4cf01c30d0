/** Checkpoints on disk: damage loses only the damaged part, and nothing is read that is not ours. */
import { afterEach, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { MAX_BLOCK_BYTES, packBlock, readBlocks } from "../../../src/checkpoints/files/blocks.ts";
import { restoredEnvironment, storableEnvironment } from "../../../src/checkpoints/files/environment.ts";
import { readHistory, readPane, type StoredLines } from "../../../src/checkpoints/files/part-reader.ts";
import { type HistoryFile, PartWriter, type PartWriterOptions } from "../../../src/checkpoints/files/part-writer.ts";
import type { PaneRecord } from "../../../src/checkpoints/files/record.ts";
import { findRepositoryInTime } from "../../../src/checkpoints/named/repository.ts";
import { WshError } from "../../../src/protocol/errors.ts";

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) fs.rmSync(directory, { recursive: true, force: true });
});

function folder(): string {
  const directory = fs.mkdtempSync(join(os.tmpdir(), "wsh-checkpoint-"));
  directories.push(directory);
  return join(directory, "s3");
}

function recordOf(change: Partial<PaneRecord> = {}): PaneRecord {
  return {
    version: 1,
    saved_at: 1_000,
    boot: "b",
    machine: "m",
    ended_by: null,
    pane: 7,
    session: { id: 3, window: 5, name: "dev", tags: ["t"], created_at: 1, rows: 24, cols: 80 },
    is_member: false,
    rows: 24,
    cols: 80,
    title: "",
    cwd: "/",
    program: { command: null, shell: null, display: "/bin/bash" },
    env: {},
    nofile: null,
    foreground: null,
    exit: null,
    history: null,
    screen_line: 0,
    ...change,
  };
}

/** A pane with a known number of lines. */
class Pane {
  first = 0;
  end = 0;
  text = (line: number): string => `line ${line}`;
  readonly writer: PartWriter;
  constructor(
    readonly directory: string,
    existingHistory: HistoryFile | null = null,
    options: PartWriterOptions = {},
  ) {
    this.writer = new PartWriter(directory, "p7", { existingHistory, ...options });
  }
  async write(screen: string, alone = false): Promise<void> {
    const { first, end } = this;
    const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => this.text(from + at));
    const blocks: Parameters<PartWriter["write"]>[1] = (history) => [
      { kind: "about", text: JSON.stringify(recordOf({ history, screen_line: end, title: screen })) },
      { kind: "screen", text: screen },
      { kind: "commands", text: "[]" },
    ];
    await this.writer.write({ first, end, lines }, blocks, alone);
  }
  read(): StoredLines & { title: string; screen: readonly string[] | null } {
    const stored = readPane(this.directory, 7);
    return { title: stored.record.title, screen: stored.screen, ...readHistory(this.directory, stored) };
  }
}

function files(directory: string, kind: string): string[] {
  const found = fs.readdirSync(directory).filter((name) => name.endsWith(kind));
  return found.map((name) => join(directory, name)).sort();
}

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (thrown) {
    return WshError.from(thrown).code;
  }
  return "none";
}

test("blocks are read as they were written", () => {
  const blocks = [
    { kind: "about", text: "{}" },
    { kind: "history", text: "0\näö\u{1f600}\n" },
    { kind: "commands", text: "" },
  ] as const;
  const packed = blocks.map((block) => packBlock(block));
  const found = blocks.map((block, at) => ({ ...block, bytes: packed[at]?.length ?? 0 }));
  expect(readBlocks(Buffer.concat(packed))).toEqual({ blocks: found, damaged: 0 });
  expect(() => packBlock({ kind: "screen", text: "x".repeat(MAX_BLOCK_BYTES + 1) })).toThrow(RangeError);
});

test("every byte of a file cut or changed costs its block, and no other", () => {
  const texts = ["first", "second", "third"];
  const packed = texts.map((text) => packBlock({ kind: "screen", text }));
  const whole = Buffer.concat(packed);
  const starts = packed.map((_, at) => packed.slice(0, at).reduce((sum, { length }) => sum + length, 0));
  const blockAt = (byte: number): number => starts.findLastIndex((start) => start <= byte);
  for (let byte = 0; byte < whole.length; byte++) {
    const cut = readBlocks(whole.subarray(0, byte));
    expect(cut.blocks.map(({ text }) => text)).toEqual(texts.slice(0, blockAt(byte)));
    for (const flip of [0x01, 0x80, 0xff]) {
      const changed = Buffer.from(whole);
      changed[byte] = (changed[byte] ?? 0) ^ flip;
      const { blocks, damaged } = readBlocks(changed);
      expect(blocks.map(({ text }) => text)).toEqual(texts.filter((_, at) => at !== blockAt(byte)));
      expect(damaged).toBe(1);
    }
    const missing = readBlocks(Buffer.concat([whole.subarray(0, byte), whole.subarray(byte + 1)]));
    expect(missing.blocks.map(({ text }) => text)).toEqual(texts.filter((_, at) => at !== blockAt(byte)));
  }
});

test("a block whose text would be too large is not unpacked", () => {
  const bomb = Buffer.from(packBlock({ kind: "screen", text: "x".repeat(MAX_BLOCK_BYTES) }));
  expect(readBlocks(bomb).blocks).toHaveLength(1);
  bomb.writeUInt32LE(MAX_BLOCK_BYTES + 1, 12);
  expect(readBlocks(bomb)).toEqual({ blocks: [], damaged: 1 });
});

test("lines are appended, and three generations are kept", async () => {
  const pane = new Pane(folder());
  for (let round = 1; round <= 5; round++) {
    pane.end = round * 100;
    await pane.write(`screen ${round}`);
  }
  expect(files(pane.directory, ".state")).toHaveLength(3);
  expect(files(pane.directory, ".history")).toHaveLength(1);
  expect(pane.read()).toMatchObject({
    title: "screen 5",
    screen: ["screen 5"],
    first: 0,
    lines: Array.from({ length: 500 }, (_, line) => `line ${line}`),
  });
});

test("a restored pane continues the file of its lines, if the file is complete", async () => {
  const before = new Pane(folder());
  for (before.end = 10; before.end < 40; before.end += 10) await before.write("before");
  before.writer.close();
  const { file } = before.read();
  expect(file).toMatchObject({ generation: 1, blocks: [{ from: 0 }, { from: 10 }, { from: 20, end: 30 }] });
  const after = new Pane(before.directory, file);
  // It prints only new lines.
  after.text = (line) => (line < 30 ? "written again" : `line ${line}`);
  after.end = 45;
  await after.write("after");
  after.writer.close();
  expect(files(after.directory, ".history")).toHaveLength(1);
  expect(after.read().lines).toEqual(Array.from({ length: 45 }, (_, line) => `line ${line}`));
  const [path = ""] = files(after.directory, ".history");
  const bytes = fs.readFileSync(path);
  bytes[30] = (bytes[30] ?? 0) ^ 1;
  fs.writeFileSync(path, bytes);
  expect(after.read().file).toBeNull();
  // A file that has changed since it was read is not continued either.
  const third = new Pane(after.directory, { ...(file ?? { generation: 1, blocks: [] }), bytes: bytes.length + 1 });
  third.end = 45;
  await third.write("third");
  expect(third.read().lines).toEqual(Array.from({ length: 45 }, (_, line) => `line ${line}`));
});

test("lines that returned to the screen and changed there have precedence", async () => {
  const pane = new Pane(folder());
  pane.end = 50;
  await pane.write("a");
  // A higher terminal takes ten lines back, a program changes them, and they leave again.
  pane.end = 40;
  await pane.write("b");
  pane.text = (line) => (line < 40 ? `line ${line}` : `new ${line}`);
  pane.end = 60;
  await pane.write("c");
  const { lines } = pane.read();
  expect(lines.slice(38, 42)).toEqual(["line 38", "line 39", "new 40", "new 41"]);
  expect(lines).toHaveLength(60);
});

test("lines that left the retained history do not grow the file without end", async () => {
  const pane = new Pane(folder());
  pane.text = (line) => `${line} ${crypto.randomUUID().repeat(8)}`;
  let largest = 0;
  for (let round = 1; round <= 60; round++) {
    pane.end = round * 100;
    pane.first = Math.max(0, pane.end - 200);
    await pane.write("x");
    const sizes = files(pane.directory, ".history").map((path) => fs.statSync(path).size);
    largest = Math.max(largest, ...sizes);
  }
  // 200 lines of about 300 bytes are in use.
  expect(largest).toBeLessThan(400 * 1024);
  expect(pane.read().lines).toHaveLength(200);
});

test("a damaged generation leaves the one before it; damaged lines leave the others", async () => {
  const pane = new Pane(folder());
  pane.end = 100;
  await pane.write("one");
  pane.end = 200;
  await pane.write("two");
  const newest = files(pane.directory, "2.state")[0] ?? "";
  const bytes = fs.readFileSync(newest);
  fs.writeFileSync(newest, bytes.subarray(0, 40));
  expect(pane.read().title).toBe("one");
  fs.writeFileSync(newest, bytes);
  const history = files(pane.directory, ".history")[0] ?? "";
  const lines = fs.readFileSync(history);
  lines[30] = (lines[30] ?? 0) ^ 0xff;
  fs.writeFileSync(history, lines);
  const read = pane.read();
  expect(read.title).toBe("two");
  expect(read.lines.slice(0, 100).every((line) => line === null)).toBe(true);
  expect(read.lines[100]).toBe("line 100");
  for (const path of files(pane.directory, ".state")) fs.writeFileSync(path, "nothing of ours");
  expect(codeOf(() => pane.read())).toBe("checkpoint_damaged");
});

test("another version's is refused, and so is one that others could have written", async () => {
  const pane = new Pane(folder());
  await pane.write("one");
  const [path = ""] = files(pane.directory, ".state");
  const good = fs.readFileSync(path);
  fs.writeFileSync(path, packBlock({ kind: "about", text: JSON.stringify({ version: 2, later: true }) }));
  expect(codeOf(() => pane.read())).toBe("checkpoint_too_new");
  fs.writeFileSync(path, good);
  fs.chmodSync(path, 0o644);
  expect(codeOf(() => pane.read())).toBe("unsafe_path");
  fs.rmSync(path);
  fs.writeFileSync(`${path}.elsewhere`, good, { mode: 0o600 });
  fs.symlinkSync(`${path}.elsewhere`, path);
  expect(codeOf(() => pane.read())).toBe("unsafe_path");
  fs.rmSync(path);
  expect(codeOf(() => pane.read())).toBe("checkpoint_not_found");
  fs.chmodSync(pane.directory, 0o755);
  expect(codeOf(() => pane.read())).toBe("unsafe_path");
});

test("a writer's successor continues; two at once are not possible", async () => {
  const directory = folder();
  const first = new Pane(directory);
  first.end = 10;
  await first.write("one");
  const second = new Pane(directory);
  await expect(second.write("two")).rejects.toThrow("another process is writing the checkpoint");
  first.writer.close();
  second.end = 5;
  await second.write("three");
  expect(second.read()).toMatchObject({ title: "three", first: 0 });
  expect(second.read().lines).toHaveLength(5);
  expect(files(directory, ".state")).toHaveLength(2);
  second.writer.remove();
  expect(fs.existsSync(directory)).toBe(false);
});

test("no secret of an environment is kept, and variables of a login come from the restoring caller", () => {
  const env = {
    PATH: "/bin",
    PWD: "/",
    EDITOR: "vim",
    GITHUB_TOKEN: "t",
    AWS_SECRET_ACCESS_KEY: "s",
    api_key: "k",
    PGPASSWORD: "p",
    MYSQL_PWD: "p",
    GITHUB_PAT: "t",
    SENTRY_DSN: "https://key@host/1",
    SSH_AUTH_SOCK: "/old",
    DBUS_SESSION_BUS_ADDRESS: "/old",
    DATABASE_URL: "postgres://me:secret@db/x",
    LONG: "x".repeat(9_000),
  };
  const kept = storableEnvironment(env);
  expect(kept).toEqual({ PATH: "/bin", PWD: "/", EDITOR: "vim" });
  expect(restoredEnvironment(kept, { PATH: "/other", SSH_AUTH_SOCK: "/new", GITHUB_TOKEN: "mine" })).toEqual({
    PATH: "/bin",
    PWD: "/",
    EDITOR: "vim",
    SSH_AUTH_SOCK: "/new",
    GITHUB_TOKEN: "mine",
  });
});

test("cleared text is in no file any more, and the next lines are", async () => {
  const pane = new Pane(folder());
  for (const screen of ["one", "two", "three"]) {
    pane.end += 100;
    await pane.write(screen);
  }
  pane.first = pane.end;
  await pane.write("cleared", true);
  expect(files(pane.directory, ".history")).toEqual([]);
  expect(files(pane.directory, ".state")).toHaveLength(1);
  expect(pane.read()).toMatchObject({ title: "cleared", lines: [] });
  pane.end += 10;
  await pane.write("after");
  expect(pane.read().lines).toEqual(Array.from({ length: 10 }, (_, at) => `line ${300 + at}`));
});

test("a writer removes nothing that another process is writing, or has written", async () => {
  const directory = folder();
  const living = new Pane(directory);
  await living.write("alive");
  const late = new Pane(directory);
  await expect(late.write("late")).rejects.toThrow("another process is writing");
  expect(late.writer.remove()).toBe(false);
  expect(living.read().title).toBe("alive");
  // Removed while it waits for the lock.
  const removed = new Pane(directory);
  const written = removed.write("removed").catch(() => {});
  removed.writer.remove();
  await written;
  expect(living.read().title).toBe("alive");
  living.writer.close();
  for (const allowedContents of ["nothing", "other parts"] as const) {
    const stranger = new Pane(directory, null, { allowedContents });
    await expect(stranger.write("new")).rejects.toThrow("earlier session");
    expect(stranger.writer.remove()).toBe(false);
  }
  expect(living.read().title).toBe("alive");
  expect(new Pane(directory).writer.remove()).toBe(true);
  expect(fs.existsSync(directory)).toBe(false);
});

test("a new session writes beside no part of an earlier one, a new pane does", async () => {
  const directory = folder();
  const earlier = new PartWriter(directory, "p6");
  await earlier.write(null, () => [{ kind: "about", text: "{}" }]);
  earlier.close();
  await expect(new Pane(directory, null, { allowedContents: "nothing" }).write("new")).rejects.toThrow(
    "earlier session",
  );
  expect(files(directory, ".state")).toEqual([join(directory, "p6.1.state")]);
  const pane = new Pane(directory, null, { allowedContents: "other parts" });
  await pane.write("split");
  expect(pane.read().title).toBe("split");
  expect(pane.writer.remove()).toBe(true);
  expect(files(directory, ".state")).toEqual([join(directory, "p6.1.state")]);
});

test("a repository is found upwards, in worktrees too, and odd files are not repositories", async () => {
  const top = join(folder(), "..");
  const inside = join(top, "a", "b");
  fs.mkdirSync(inside, { recursive: true });
  fs.mkdirSync(join(top, "meta"));
  const found = async (head: string | null, git?: string) => {
    fs.rmSync(join(top, ".git"), { recursive: true, force: true });
    if (git === undefined) fs.mkdirSync(join(top, ".git"));
    else fs.writeFileSync(join(top, ".git"), git);
    if (head !== null) fs.writeFileSync(join(top, git === undefined ? ".git" : "meta", "HEAD"), head);
    return findRepositoryInTime(inside);
  };
  expect(await found("ref: refs/heads/a/b\n")).toEqual({ root: top, branch: "a/b" });
  expect(await found("ref: refs/heads/b\n", "gitdir: meta\n")).toEqual({ root: top, branch: "b" });
  for (const head of [`${"1".repeat(40)}\n`, "ref: refs/heads/.invalid\n", "ref: refs/heads/\u001b[31m\n", ""]) {
    expect(await found(head)).toEqual({ root: top, branch: null });
  }
  expect(await found(null)).toBeNull();
  expect(await found(null, "gitdir: /dev/null\n")).toBeNull();
  // A pipe without a writer is not waited for.
  Bun.spawnSync(["mkfifo", join(top, "meta", "pipe")]);
  fs.rmSync(join(top, ".git"));
  fs.symlinkSync(join(top, "meta", "pipe"), join(top, ".git"));
  expect(await findRepositoryInTime(inside)).toBeNull();
  expect(await findRepositoryInTime(null)).toBeNull();
});
