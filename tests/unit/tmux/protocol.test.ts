/** Frames of tmux's protocol, and output to a control mode client of panes that print faster than it reads. */
import { expect, test } from "bun:test";
import { messageTypes } from "../../../src/protocol/messages.ts";
import type { SessionInfo } from "../../../src/protocol/session.ts";
import { clientToEvict, MAX_CLIENTS } from "../../../src/session-process/tmux-socket.ts";
import type { Backend } from "../../../src/tmux/backend.ts";
import { commandTable } from "../../../src/tmux/commands/table.ts";
import { PaneOutputs } from "../../../src/tmux/control/output.ts";
import { expand, type FormatScope } from "../../../src/tmux/formats/expand.ts";
import { ProtocolClient } from "../../../src/tmux/protocol/client.ts";
import { encodeFrame, FrameDecoder, FrameError } from "../../../src/tmux/protocol/frames.ts";
import { packed, wordsOf } from "../../../src/tmux/protocol/messages.ts";
import { Run } from "../../../src/tmux/run.ts";
import { emptyState } from "../../../src/tmux/state.ts";
import type { Connection, ConnectionEvents } from "../../../src/wire/connection.ts";
import { until } from "../../support/until.ts";

test("frames arrive complete however they are cut; others end the connection", () => {
  const bytes = Buffer.concat([encodeFrame(200, packed([2], "ls\0-F\0")), encodeFrame(106)]);
  for (let at = 0; at <= bytes.length; at++) {
    const decoder = new FrameDecoder();
    const frames = [...decoder.push(bytes.subarray(0, at)), ...decoder.push(bytes.subarray(at))];
    expect(frames.map(({ type }) => type)).toEqual([200, 106]);
    expect(wordsOf(frames[0]?.data ?? new Uint8Array())).toEqual(["ls", "-F"]);
  }
  expect(wordsOf(packed([3], "ls\0-F\0"))).toBeNull();
  const other = Buffer.from(encodeFrame(200));
  other.writeUInt32LE(7, 8);
  expect(() => new FrameDecoder().push(other)).toThrow(new FrameError("another version", true));
  const short = Buffer.from(encodeFrame(200));
  short.writeUInt16LE(3, 4);
  expect(() => new FrameDecoder().push(short)).toThrow(FrameError);
});

test("the kernel identifies a client, where it can", () => {
  for (const [peerPid, caller] of [
    [4242, 4242],
    [null, 1],
  ]) {
    const callers: number[] = [];
    const client = new ProtocolClient(
      { write() {}, end() {}, became() {}, pending: 0, peerPid: peerPid ?? null },
      (side) => {
        callers.push(side.caller);
        return Object.create({ [Symbol.dispose]() {} });
      },
    );
    client.receive(Buffer.concat([encodeFrame(107, packed([1])), encodeFrame(106), encodeFrame(200, packed([3]))]));
    expect(callers).toEqual([caller ?? 0]);
  }
});

test("nobody fills the socket for others, and nobody is refused before it is full", () => {
  const all = (count: number, session: number, state: "new" | "silent" | "asked" = "asked", pid = session) =>
    Array.from({ length: count }, (_, i) => ({ pid, session, state, name: `${session}.${i}` }));
  const each = (count: number, session: number) =>
    all(count, session).map((client, i) => ({ ...client, pid: 1000 * session + i }));
  const half = MAX_CLIENTS / 2;
  for (const [clients, pid, session, expected] of [
    [all(MAX_CLIENTS - 1, 1), 1, 1, null],
    [all(MAX_CLIENTS, 1), 1, 1, undefined],
    [all(MAX_CLIENTS, 1), 2, 1, `1.${MAX_CLIENTS - 1}`],
    [all(MAX_CLIENTS, 1, "new"), 2, 1, `1.${MAX_CLIENTS - 1}`],
    [all(MAX_CLIENTS, 1, "silent"), 1, 1, "1.0"],
    [[...all(half, 2), ...all(half - 1, 1), ...all(1, 3, "silent")], 1, 1, "3.0"],
    [[...all(half, 2), ...all(half, 1)], 2, 2, undefined],
    [each(MAX_CLIENTS, 1), 5, 2, `1.${MAX_CLIENTS - 1}`],
    [each(MAX_CLIENTS, 1), 5, 1, undefined],
  ] as const) {
    const evicted = clientToEvict(clients, { pid, session });
    expect(evicted == null ? evicted : evicted.name).toBe(expected);
  }
});

test("without a target, the attached session that was used last is meant", async () => {
  const infos = ["left", "used", "detached"].map((name, i) => {
    const pane = { id: `@${i + 1}`, index: 0, active: true, rows: 24, cols: 80, state: "prompt" };
    const window = { id: `@w${i + 1}`, index: 0, name, active: true, rows: 24, cols: 80, panes: [pane] };
    const idle = { left: 90_000, used: 2_000, detached: 0 }[name];
    return {
      id: `@s${i + 1}`,
      name,
      attached: i < 2 ? 1 : 0,
      last_activity_ms: idle,
      created_at: i,
      windows: [window],
    };
  });
  let said = "";
  const backend: Partial<Backend> = {
    ...{ env: {}, pane: null, control: null, account: { uid: 0, name: "" } },
    sessions: async () => ({ infos: infos as unknown as SessionInfo[], isComplete: true }),
    readState: emptyState,
    async print(text) {
      said += text;
    },
  };
  const run = new Run(backend as Backend, commandTable);
  await run.commands([["display-message", "-p", "#S #{session_activity}"]]);
  const [name, activity] = said.split(" ");
  expect(name).toBe("used");
  expect(Math.abs(Number(activity) - (Date.now() - 2_000) / 1000)).toBeLessThan(5);
});

test("output waits for a client that does not read, and its pane is paused if the client requested that", async () => {
  let [pending, isFree, said, isPaused] = [0, true, "", false];
  let events: ConnectionEvents = {};
  const outputs = new PaneOutputs({
    write(bytes) {
      said += Buffer.from(bytes).toString("latin1");
    },
    line(text) {
      said += `${text}\n`;
    },
    get pending() {
      return pending;
    },
    get isFree() {
      return isFree;
    },
    async open(_, __, given) {
      events = given;
      const connection = {
        close() {},
        pause() {
          isPaused = true;
        },
        resume() {
          isPaused = false;
        },
      };
      return connection as unknown as Connection;
    },
  });
  const prints = (text: string): void =>
    events.message?.({ type: messageTypes.output, payload: new TextEncoder().encode(text) });
  outputs.setPanes([{ target: "@7", id: "%7" }], () => true);
  await until("the stream", () => events.message !== undefined);
  prints("a\\b\r\né");
  expect(said).toBe(`%output %7 a\\134b\\015\\012${Buffer.from("é").toString("latin1")}\n`);
  // Nothing is inside an answer.
  said = "";
  isFree = false;
  prints("later");
  expect(said).toBe("");
  isFree = true;
  outputs.pump();
  expect(said).toBe("%output %7 later\n");
  // A client that does not read: the pane's stream is not read either.
  pending = 1_000_000;
  said = "";
  prints("x".repeat(300_000));
  expect([said, isPaused]).toEqual(["", true]);
  outputs.pauseAfterMs = 5;
  outputs.pump();
  await until("the pause", () => said === "%pause %7\n");
  expect(isPaused).toBe(false);
  prints("dropped");
  pending = 0;
  outputs.set("%7", "continue");
  prints("new");
  expect(said).toMatch(/^%pause %7\n%continue %7\n%extended-output %7 \d+ : new\n$/);
  outputs.close();
});

test("a command in a name or title is not run when that is expanded once more, one in an option is", () => {
  const ran: string[] = [];
  const scope: FormatScope = {
    find: (name) => (name === "@which" ? "@style" : name.startsWith("@") ? "#(option)" : "#(text) #{session_name}"),
    loop: () => null,
    isNamed: () => null,
    search: () => 0,
    shell: (command) => `${ran.push(command)}`,
  };
  for (const name of ["pane_title", "#{window_name}", "#{?1,#T,}", "?1,#{l:#{pane_title}},"])
    expect(expand(scope, `#{E:${name}}#{T:${name}}`)).not.toContain("1");
  expect(ran).toEqual([]);
  for (const name of ["@style", "#{@which}", "@my_style"]) expand(scope, `#{E:${name}}`);
  expect(ran).toEqual(["option", "option"]);
});

test("a format neither fills memory nor blocks: it has a limit, and patterns take linear time", () => {
  const nowhere: FormatScope = {
    find: () => "x",
    loop: () => null,
    isNamed: () => null,
    search: () => 0,
    shell: () => "",
  };
  const grown = `${"#{s/x/xxxxxxxxxx/:".repeat(9)}x${"}".repeat(9)}`;
  for (const format of ["#{p999999999:x}", "#{p9999999:#{p9999999:x}}", grown])
    expect(() => expand(nowhere, format)).toThrow("format too long");
  const slow = ["#{m/r:(a+)+b,A}", "#{m:*a*a*a*a*a*a*a*a*a*a*b,A}", "#{s/(a*)*b/x/:A}"];
  for (const format of slow) expect(expand(nowhere, format.replace("A", "a".repeat(200)))).not.toBe("1");
  expect(expand(nowhere, "#{s/(.)(y)?/<\\1\\2>/:x}")).toBe("<x>");
});
