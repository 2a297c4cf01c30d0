/** The journal of events: several writers, segments that fill and are removed, readers with cursors. */
import { afterAll, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { forgetCommands } from "../../../src/events/forget.ts";
import { HookFiles } from "../../../src/events/hook-files.ts";
import { EventJournal } from "../../../src/events/journal.ts";
import { EventReader } from "../../../src/events/reader.ts";
import {
  eventsDir,
  KEPT_SEGMENTS,
  lastEventOf,
  SEGMENT_BYTES,
  segmentPath,
  segmentsIn,
} from "../../../src/events/segments.ts";
import { resolveInstance } from "../../../src/instance/paths.ts";
import { Hooks } from "../../../src/server/hooks/hooks.ts";
import { until } from "../../support/until.ts";

const dirs: string[] = [];
function directory(): string {
  const made = fs.mkdtempSync(join(os.tmpdir(), "wsh-events-"));
  dirs.push(made);
  return join(made, "events");
}
afterAll(() => {
  for (const each of dirs) fs.rmSync(each, { recursive: true });
});

const fail = (error: unknown): void => {
  throw error;
};
const event = (at: number, padding = 0) => ({ event: "bell", at, text: "x".repeat(padding) });

function readAll(reader: EventReader, limit = 1_000): number[] {
  const found: number[] = [];
  for (;;) {
    const { events, more } = reader.read(limit);
    for (const each of events) found.push(each.event.at);
    if (events.length === 0 && !more) return found;
  }
}

test("writers that fill segments together lose and repeat nothing, wherever a reader resumes", () => {
  const dir = directory();
  const writers = [1, 2, 3].map(() => new EventJournal(dir, fail));
  const count = 300;
  let since = "start";
  const found: number[] = [];
  for (let at = 0; at < count; at++) {
    writers[at % 3]?.append(event(at, 30_000));
    if (at % 7 !== 0) continue;
    // Another process each time, with only the cursor.
    const reader = new EventReader(dir, since);
    found.push(...readAll(reader, 2));
    since = reader.cursor;
    expect(reader.missed).toBe(false);
  }
  found.push(...readAll(new EventReader(dir, since)));
  expect(found).toEqual(Array.from({ length: count }, (_, at) => at));
  expect(segmentsIn(dir).length).toBeGreaterThan(3);
});

test("a line that begins after the end of a segment is in the next one, once", () => {
  const dir = directory();
  const late = new EventJournal(dir, fail);
  late.append(event(1));
  // Others fill the segment between this writer's size check and its write.
  const path = segmentPath(dir, 1);
  const write = fs.writeSync;
  let isFilled = false;
  fs.writeSync = ((fd: number, bytes: Buffer) => {
    if (!isFilled) {
      isFilled = true;
      fs.appendFileSync(path, `${JSON.stringify(event(2, SEGMENT_BYTES))}\n`);
    }
    return write(fd, bytes);
  }) as typeof fs.writeSync;
  try {
    late.append(event(3));
  } finally {
    fs.writeSync = write;
  }
  expect(readAll(new EventReader(dir, "start")).filter((at) => at !== 2)).toEqual([1, 3]);
});

test("a line that a killed writer left unfinished hides no other, and an old cursor reports the gap", () => {
  const dir = directory();
  const writer = new EventJournal(dir, fail);
  writer.append(event(1));
  const cursor = new EventReader(dir, "now").cursor;
  fs.appendFileSync(segmentPath(dir, 1), '{"event":"bell","at":');
  writer.append(event(2));
  expect(readAll(new EventReader(dir, cursor))).toEqual([2]);
  for (let at = 3; segmentsIn(dir)[0] === 1; at++) writer.append(event(at, 60_000));
  expect(segmentsIn(dir)).toHaveLength(KEPT_SEGMENTS);
  const reader = new EventReader(dir, cursor);
  expect(readAll(reader)[0]).toBeGreaterThan(2);
  expect(reader.missed).toBe(true);
  expect(() => new EventReader(dir, "7")).toThrow("is not a cursor");
});

test("a line that a full disk cut at a segment's end holds up no reader: it is in the next segment", () => {
  const dir = directory();
  const writer = new EventJournal(dir, () => {});
  for (let n = 0; n < 4; n++) writer.append(event(1, SEGMENT_BYTES / 4 - 100));
  const path = segmentPath(dir, 1);
  const { size } = fs.statSync(path);
  const reader = new EventReader(dir, "start");
  expect(readAll(reader)).toEqual([1, 1, 1, 1]);
  // The disk is full where the segment ends, which is where a block of it ends.
  const write = fs.writeSync;
  fs.writeSync = ((fd: number, bytes: Buffer) => write(fd, bytes, 0, SEGMENT_BYTES - size)) as typeof fs.writeSync;
  try {
    writer.append(event(2, 400));
  } finally {
    fs.writeSync = write;
  }
  expect(fs.statSync(path).size).toBe(SEGMENT_BYTES);
  writer.append(event(3));
  expect(segmentsIn(dir)).toEqual([1, 2]);
  const past = Date.now() / 1000 - 60;
  fs.utimesSync(path, past, past);
  expect(readAll(reader)).toEqual([2, 3]);
});

test("deleted commands leave no text, and every cursor stays", () => {
  const dir = directory();
  const writer = new EventJournal(dir, fail);
  const command = { event: "command_started", at: 1, command: 'grüße "x" --password=s3cret', cwd: "/" };
  writer.append(command);
  const cursor = new EventReader(dir, "now").cursor;
  writer.append({ ...command, at: 2, command: "w" });
  writer.append(event(3));
  forgetCommands(dir);
  const { events } = new EventReader(dir, "start").read(9);
  expect(events.map(({ event: { at, command: text } }) => [at, text])).toEqual([
    [1, ""],
    [2, ""],
    [3, undefined],
  ]);
  expect(fs.readFileSync(segmentPath(dir, 1), "utf8")).not.toContain("s3cret");
  expect(readAll(new EventReader(dir, cursor))).toEqual([2, 3]);
});

test("a deleted command leaves no text in or behind a line that a full disk cut", () => {
  const dir = directory();
  const writer = new EventJournal(dir, fail);
  const command = { event: "command_started", at: 1, command: "--password=s3cret", cwd: "/" };
  writer.append(event(1));
  const path = segmentPath(dir, 1);
  const line = JSON.stringify(command);
  fs.appendFileSync(path, '{"event":"bell","at":');
  writer.append({ ...command, at: 2 });
  fs.appendFileSync(path, line.slice(0, line.indexOf("cret")));
  writer.append(event(3));
  fs.appendFileSync(path, line.slice(0, line.indexOf("--pass")));
  writer.append({ ...command, at: 4 });
  forgetCommands(dir);
  expect(fs.readFileSync(path, "utf8")).not.toContain("s3");
  expect(readAll(new EventReader(dir, "start"))).toEqual([1, 2, 3, 4]);
});

test("a journal that is deleted while it is open starts again", () => {
  const dir = directory();
  const writer = new EventJournal(dir, fail);
  writer.append(event(1));
  fs.rmSync(dir, { recursive: true });
  writer.append(event(2));
  expect(readAll(new EventReader(dir, "start"))).toEqual([2]);
});

/** Hooks over a separate journal; `wanted` is called for each event that is read. */
function hooksOver(
  wanted: () => readonly unknown[],
  operate: (line: string, session: string, agent?: string) => unknown,
) {
  const at = join(directory(), "..");
  const instance = resolveInstance({ env: { XDG_RUNTIME_DIR: at, XDG_STATE_HOME: at, HOME: at } });
  const files = new HookFiles(instance);
  files.beginHere();
  const warnings: string[] = [];
  const journal = new EventJournal(eventsDir(instance), fail);
  const append = (session: string, on: readonly unknown[] = []) =>
    journal.append({ event: "bell", at: Date.now(), session, session_id: "@s1", tags: [], on });
  const hooks = new Hooks({
    instance,
    events: eventsDir(instance),
    files,
    logger: { info: () => {}, warn: (text) => void warnings.push(text) },
    consumers: wanted as never,
    isOpen: () => true,
    notify: async () => {},
    operate: async (line, { session }, agent) => operate(line, session, agent),
    onIdle: () => {},
  });
  return { hooks, append, warnings, files };
}
const hook = (line: string) => ({ event: ["bell"], do: line, at_once: 4, a_minute: 60, timeout_seconds: 60 });

test("hooks see an event that arrives while those before it are processed", async () => {
  const ran: string[] = [];
  let isLater = false;
  const { hooks, append } = hooksOver(
    () => {
      // The journal grows after it was read, and before it is watched again.
      if (ran.length === 0 && !isLater) {
        isLater = true;
        append("later");
      }
      return [hook("x")];
    },
    (_, session) => void ran.push(session),
  );
  hooks.start();
  append("first");
  await until("both", () => ran.length === 2);
  expect(ran).toEqual(["first", "later"]);
  await hooks.stop();
});

test("hooks that hang, or are flooded, block no other, and leave few files; an agent's runs for it", async () => {
  const hanging = Array.from({ length: 6 }, (_, at) => hook(`hang ${at}`));
  const ran: string[] = [];
  const { promise: never, resolve: release } = Promise.withResolvers<void>();
  const { hooks, append, warnings, files } = hooksOver(
    () => hanging,
    (line, _, agent) => (line.startsWith("hang") ? never : void ran.push(`${line} ${agent ?? "person"}`)),
  );
  hooks.start();
  for (let at = 0; at < 600; at++) append("flood");
  append("other", [{ ...hook("own"), agent: "Rob" }]);
  await until("the other hook", () => ran.length > 0);
  expect(ran).toEqual(["own Rob"]);
  expect(files.list().due.length).toBeLessThanOrEqual(1_000);
  expect(warnings.filter((text) => text.includes("too many runs are waiting"))).toHaveLength(hanging.length);
  release();
  await hooks.stop();
});

test("hooks that cannot be written down are left out, and reported", async () => {
  const ran: string[] = [];
  const { hooks, append, warnings, files } = hooksOver(
    () => [hook("x")],
    (_, session) => void ran.push(session),
  );
  hooks.start();
  fs.rmSync(files.directory, { recursive: true });
  fs.writeFileSync(files.directory, "");
  append("lost");
  await until("the warning", () => warnings.length > 0);
  fs.rmSync(files.directory);
  append("later");
  await until("the next", () => ran.length > 0);
  expect(ran).toEqual(["later"]);
  await hooks.stop();
});

test("a session's last event is found beside a segment that is deleted meanwhile", () => {
  const dir = directory();
  fs.mkdirSync(dir);
  const last = { event: "bell", session: "dev", session_id: "@s1", tags: ["ci"] };
  fs.writeFileSync(segmentPath(dir, 1), `${JSON.stringify(last)}\n`);
  // Listed, but gone when it is read.
  fs.symlinkSync(join(dir, "gone"), segmentPath(dir, 2));
  fs.writeFileSync(segmentPath(dir, 3), `${JSON.stringify({ ...last, session_id: "@s2" })}\n`);
  expect(lastEventOf(dir, "@s1", KEPT_SEGMENTS)).toMatchObject({ session: "dev", tags: ["ci"] });
});
