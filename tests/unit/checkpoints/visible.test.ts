/** Which stored sessions an AI agent may read: the one that is shown counts, not another one that has its name now. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { requireVisible } from "../../../src/checkpoints/agent-rights.ts";
import { PartWriter } from "../../../src/checkpoints/files/part-writer.ts";
import type { PaneRecord } from "../../../src/checkpoints/files/record.ts";
import { showCheckpoint } from "../../../src/checkpoints/named/operations.ts";
import { checkpointsDir, type Instance } from "../../../src/instance/paths.ts";
import { thisMachine } from "../../../src/instance/place-digest.ts";
import { WshError } from "../../../src/protocol/errors.ts";
import { sessionId } from "../../../src/protocol/names.ts";
import { session, testInstance } from "../../support/registry.ts";

/** Stores a session of one pane in a folder of checkpoints: `s1`, or `s1.LABEL`. */
async function store(instance: Instance, folder: string, number: number, name: string): Promise<void> {
  const directory = join(checkpointsDir(instance), folder);
  fs.mkdirSync(dirname(directory), { recursive: true, mode: 0o700 });
  const record: PaneRecord = {
    version: 1,
    saved_at: number,
    boot: "b",
    machine: thisMachine(),
    ended_by: null,
    pane: number,
    session: { id: number, window: number, name, tags: [], created_at: 1, rows: 24, cols: 80 },
    is_member: false,
    rows: 24,
    cols: 80,
    title: "",
    cwd: "/",
    program: { command: null, shell: null, display: "sh" },
    env: {},
    nofile: null,
    foreground: null,
    exit: null,
    history: null,
    screen_line: 0,
  };
  const writer = new PartWriter(directory, `p${number}`, { existingHistory: null });
  await writer.write({ first: 0, end: 0, lines: () => [] }, () => [
    { kind: "about", text: JSON.stringify(record) },
    { kind: "screen", text: `screen of ${number}` },
    { kind: "commands", text: "[]" },
  ]);
  writer.close();
}

function codeOf(run: () => unknown): string {
  try {
    run();
    return "ok";
  } catch (thrown) {
    return WshError.from(thrown).code;
  }
}

test("a checkpoint of a private session stays hidden when another session has the name", async () => {
  using place = testInstance();
  const { instance } = place;
  using current = await session(instance, "work");
  const hidden = 90;
  expect(current.session).not.toBe(hidden);
  await store(instance, `s${hidden}.secret`, hidden, "work");
  await store(instance, `s${current.session}.open`, current.session, "work");
  await store(instance, `s${hidden}`, hidden, "gone");
  const concealment = { hidden: new Set([sessionId(hidden)]), ownSessions: new Set<string>() };
  const visible = (
    labels: readonly (string | undefined)[],
    name = "work",
    limits: typeof concealment | null = concealment,
  ) => codeOf(() => requireVisible(instance, name, labels, limits));
  // What would be shown.
  expect(showCheckpoint(instance, { session: "work", label: "secret" }).id).toBe(sessionId(hidden));
  expect(visible(["secret"])).toBe("access_denied");
  expect(visible(["open", "secret"])).toBe("access_denied");
  expect(visible([undefined], "gone")).toBe("access_denied");
  expect(visible(["open"])).toBe("ok");
  expect(visible(["open", undefined])).toBe("ok");
  expect(visible(["secret"], "work", null)).toBe("ok");
});
