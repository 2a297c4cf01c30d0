/** The owner of the keyboard over time: leases, lost connections, the ring of captured keys. */
import { describe, expect, test } from "bun:test";
import { Keyboard, type KeyboardOwner } from "../../../src/session/keyboard.ts";
import { ViewerKeys } from "../../../src/session/viewer-keys.ts";
import { listenedSignal } from "../../support/listened-signal.ts";
import { manualClock } from "../../support/manual-clock.ts";

const utf8 = new TextEncoder();

/** A keyboard, its clock, and its reports. */
function keyboardOf() {
  const clock = manualClock();
  const modes: string[] = [];
  const keyboard = new Keyboard({
    clock,
    hasSubscribers: () => false,
    typed: () => {},
    modeChanged: (mode) => void modes.push(mode),
    focused: () => null,
  });
  return {
    keyboard,
    modes,
    timers: clock.timers,
    pass: clock.pass,
  };
}

const agent: KeyboardOwner = { id: "mcp:1", label: "Agent", connected: true };
const script: KeyboardOwner = { id: "http:owner", label: "an HTTP client", connected: false };

describe("a capture", () => {
  test("over a connection lasts as long as that, one without it as long as its lease", () => {
    const { keyboard, modes, pass, timers } = keyboardOf();
    keyboard.capture(agent, 1_000);
    pass(1_000_000);
    expect(keyboard.mode).toBe("capture");
    expect(keyboard.leaseLeft()).toBeNull();
    keyboard.releaseCaller("mcp:1");
    expect(keyboard.mode).toBe("passthrough");

    keyboard.capture(script, 1_000);
    pass(900);
    expect(keyboard.leaseLeft()).toBe(100);
    keyboard.capture(script, 1_000);
    pass(900);
    expect(keyboard.mode).toBe("capture");
    pass(100);
    expect(keyboard.mode).toBe("passthrough");
    expect(modes).toEqual(["capture", "passthrough", "capture", "passthrough"]);
    expect(timers()).toBe(0);
  });

  test("is refused while another caller has it, and another caller's end does not affect it", () => {
    const { keyboard } = keyboardOf();
    keyboard.capture(agent, 1_000);
    expect(() => keyboard.capture(script, 1_000)).toThrow("'Agent' has captured the keyboard");
    keyboard.releaseCaller("mcp:2");
    expect(keyboard.owner).toEqual(agent);
  });

  test("outlives the connection to the server by five seconds, for the same agent under a new id", () => {
    const { keyboard, pass } = keyboardOf();
    keyboard.capture(agent, 1_000);
    keyboard.handleConnectionLoss(new Set(["mcp:9"]));
    pass(10_000);
    expect(keyboard.mode).toBe("capture");
    keyboard.handleConnectionLoss(new Set(["mcp:1"]));
    pass(4_999);
    expect(() => keyboard.capture(script, 1_000)).toThrow("'Agent' has captured the keyboard");
    keyboard.capture({ ...agent, id: "mcp:2" }, 1_000);
    pass(10_000);
    expect(keyboard.owner?.id).toBe("mcp:2");
    keyboard.handleConnectionLoss(new Set(["mcp:2"]));
    pass(5_000);
    expect(keyboard.mode).toBe("passthrough");
  });
});

describe("captured keys", () => {
  test("are read by position; of more than 256 the oldest are missed and counted", async () => {
    const { keyboard } = keyboardOf();
    keyboard.capture(agent, 1_000);
    for (let i = 0; i < 300; i++) keyboard.type(1, utf8.encode(String.fromCharCode(97 + (i % 26))), false);
    expect(keyboard.readAfter(298).keys.map(({ parsed }) => parsed?.key)).toEqual(["m", "n"]);
    expect(keyboard.readAfter(0)).toMatchObject({ seq: 300, missed: 44 });
    expect(keyboard.readAfter(0).keys).toHaveLength(256);
    expect(keyboard.readAfter(undefined)).toEqual({ keys: [], seq: 300, missed: 0 });
  });

  test("wake their waiters; so do release and the end of waiting", async () => {
    const { keyboard, pass, timers } = keyboardOf();
    const reader = { id: "mcp:1", signal: new AbortController().signal };
    keyboard.capture(agent, 1_000);
    const key = keyboard.readNext(0, 5_000, reader);
    expect(keyboard.type(1, utf8.encode("\x1b[A"), false)).toBe(false);
    expect((await key).keys).toMatchObject([{ seq: 1, parsed: { key: "ArrowUp", modifiers: [] } }]);
    const late = keyboard.readNext(1, 5_000, reader);
    pass(5_000);
    expect((await late).keys).toEqual([]);
    const released = keyboard.readNext(1, 5_000, reader);
    keyboard.release();
    expect((await released).keys).toEqual([]);
    const cancelled = new AbortController();
    const gone = keyboard.readNext(1, 5_000, { id: "mcp:1", signal: cancelled.signal });
    cancelled.abort();
    expect((await gone).keys).toEqual([]);
    expect(timers()).toBe(0);
  });

  test("a lone Escape is a key after a moment, a sequence in two pieces is one", () => {
    const { keyboard, pass } = keyboardOf();
    keyboard.capture(agent, 1_000);
    keyboard.type(1, utf8.encode("\x1b"), false);
    expect(keyboard.readAfter(0).keys).toEqual([]);
    pass(25);
    keyboard.type(1, utf8.encode("\x1b[1;"), false);
    keyboard.type(1, utf8.encode("5C"), false);
    expect(keyboard.readAfter(0).keys.map(({ parsed }) => parsed)).toEqual([
      { key: "Escape", modifiers: [] },
      { key: "ArrowRight", modifiers: ["ctrl"] },
    ]);
  });
});

test("finished reads leave nothing behind at the caller's signal, which may live long", async () => {
  const { keyboard, pass, timers } = keyboardOf();
  const { signal, listeners } = listenedSignal();
  keyboard.capture(agent, 1_000);
  const byKey = keyboard.readNext(undefined, 100, { id: agent.id, signal });
  expect(listeners()).toBe(1);
  keyboard.type(1, utf8.encode("a"), false);
  expect((await byKey).keys).toHaveLength(1);
  const byTime = keyboard.readNext(undefined, 100, { id: agent.id, signal });
  pass(100);
  expect((await byTime).keys).toHaveLength(0);
  expect({ listeners: listeners(), timers: timers() }).toEqual({ listeners: 0, timers: 0 });
});

test("complete keys wait for nothing; others' lone Escape does", () => {
  const { clock, got, keys } = { clock: manualClock(), got: [] as string[], keys: [0, 25] };
  const [whole, split] = keys.map(
    (ms) => new ViewerKeys(clock, (events) => got.push(...events.map(({ parsed }) => `${ms} ${parsed?.key}`)), ms),
  );
  for (const reader of [whole, split]) reader?.push(1, utf8.encode("\x1b"));
  expect(got).toEqual(["0 Escape"]);
  clock.pass(25);
  expect(got).toEqual(["0 Escape", "25 Escape"]);
  whole?.push(1, utf8.encode("\x1b[A"));
  expect(got.at(-1)).toBe("0 ArrowUp");
});
