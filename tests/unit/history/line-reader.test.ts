/** Lines of journals in the usual form have a fast parser, with the same result as JSON.parse in every case. */
import { expect, test } from "bun:test";
import { LineReader } from "../../../src/history/line-reader.ts";
import { type HistoryRecord, readLine, writeLine } from "../../../src/history/record.ts";
import { seededRandom } from "../../support/terminals/outer-screen.ts";

const seed = Number(process.env.WSH_TEST_SEED ?? 5);
const random = seededRandom(seed);
const one = <T>(...of: T[]): T => of[Math.floor(random() * of.length)] as T;

function anyRecord(): HistoryRecord {
  return {
    command: one("make", "", 'say "hi"', "a\\b", "a\nb", "\u2028 ü 📁", '","cwd":"', "\x7f", "\x1b[31m", "nul\0"),
    cwd: one("/a", "/b/c", null, '/q"uote', "/ü"),
    started_at: one(0, 5, 1_700_000_000_000, null, -5, 1e15, 1.5),
    duration_ms: one(0, 12, null, 2.5),
    exit_code: one(0, 1, 137, null, -1),
    signal: one(null, null, null, "SIGINT"),
    session: one("dev", "dev", 'a"b', null),
    session_id: one("@s1", null),
    pane_id: "@1",
    shell: "bash",
    by: one("person", "person", "agent"),
    output: one(null, null, null, "printed\n"),
  };
}

function read(reader: LineReader, line: string): unknown {
  const record = reader.read(line);
  return record === null ? null : { seq: reader.seq, begun: reader.begun, record: { ...record } };
}

function plainly(line: string): unknown {
  const known = readLine(line);
  if (known === null) return null;
  const { command, cwd, started_at, duration_ms, exit_code, ...rest } = known.record;
  const { signal, session, session_id, pane_id, shell, by, output } = rest;
  const record = {
    command,
    cwd,
    started_at,
    duration_ms,
    exit_code,
    signal,
    session,
    session_id,
    pane_id,
    shell,
    by,
    output,
  };
  return { seq: known.seq, begun: known.begun ?? 0, record };
}

test("lines as sessions write them, and lines with a character more, less or other, are parsed like JSON.parse", () => {
  const reader = new LineReader();
  let different = 0;
  for (let round = 0; round < 20_000; round++) {
    const line = writeLine({ seq: one(1, 7, 123_456), begun: one(undefined, 6), record: anyRecord() }).trimEnd();
    const at = Math.floor(random() * line.length);
    const broken = one(
      line,
      line.slice(0, at) + line.slice(at + 1),
      line.slice(0, at) + one('"', "\\", "0", ",", "}", "\0", "é") + line.slice(at),
      line.slice(0, at),
    );
    const expected = plainly(broken);
    const actual = read(reader, broken);
    if (expected !== null && actual !== null) {
      // Other fields of a broken line belong to nothing.
      const fields = Object.keys((expected as { record: object }).record);
      const { seq, begun, record } = actual as { seq: number; begun: number; record: Record<string, unknown> };
      const same = { seq, begun, record: Object.fromEntries(fields.map((name) => [name, record[name]])) };
      if (Bun.deepEquals(same, expected)) continue;
    }
    if (expected === null && actual === null) continue;
    different++;
    expect({ seed, broken, actual }).toEqual({ seed, broken, actual: expected });
  }
  expect(different).toBe(0);
});
