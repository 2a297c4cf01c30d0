/** Keys by name reach the program as from a terminal, and keys of a terminal are named. */
import { describe, expect, test } from "bun:test";
import { decodeKeys, flushKeys, initialKeyState, isWaiting, type KeyState } from "../../../src/keys/decode.ts";
import { encodeKeys, type KeyModes } from "../../../src/keys/encode.ts";
import { parseKeyName } from "../../../src/keys/parse-name.ts";
import {
  handleKeyEvent,
  type PrefixAction,
  type PrefixContext,
  parsePrefix,
  type TableState,
} from "../../../src/keys/prefix.ts";
import { KeyTables } from "../../../src/keys/tables.ts";
import type { InputEvent, ParsedKey } from "../../../src/keys/types.ts";
import { WshError } from "../../../src/protocol/errors.ts";
import { seededRandom } from "../../support/terminals/outer-screen.ts";

const plain: KeyModes = { applicationCursor: false, applicationKeypad: false, modifyOtherKeys: 0, kittyFlags: 0 };

function encoded(names: readonly string[], modes: Partial<KeyModes> = {}): string {
  return Buffer.from(encodeKeys(names.map(parseKeyName), { ...plain, ...modes })).toString();
}

/** All events of a whole input, flushed at the end. */
function decoded(...reads: readonly (string | Uint8Array)[]): InputEvent[] {
  let state: KeyState = initialKeyState;
  const events: InputEvent[] = [];
  for (const read of reads) {
    const result = decodeKeys(state, typeof read === "string" ? Buffer.from(read) : read);
    events.push(...result.events);
    state = result.state;
  }
  for (let flushes = 0; isWaiting(state); flushes++) {
    expect(flushes).toBeLessThan(3);
    const flushed = flushKeys(state);
    events.push(...flushed.events);
    state = flushed.state;
  }
  return events;
}

function names(...reads: readonly string[]): string[] {
  return decoded(...reads).map(({ parsed, kind }) =>
    parsed === null ? kind : [...parsed.modifiers, parsed.key].join("+"),
  );
}

function errorOf(run: () => unknown): WshError {
  try {
    run();
  } catch (error) {
    if (error instanceof WshError) return error;
  }
  throw new Error("no WshError was thrown");
}

describe("sending keys by name", () => {
  test.each([
    ["Ctrl+C", "\x03"],
    ["ctrl+c", "\x03"],
    ["C-c", "\x03"],
    ["^C", "\x03"],
    ["Control+\\", "\x1c"],
    ["Ctrl+Space", "\0"],
    ["Ctrl+[", "\x1b"],
    ["Ctrl+?", "\x7f"],
    ["Alt+x", "\x1bx"],
    ["Alt+X", "\x1bX"],
    ["M-x", "\x1bx"],
    ["M-X", "\x1bX"],
    ["Meta+Enter", "\x1b\r"],
    ["Ctrl+Alt+d", "\x1b\x04"],
    ["Shift+Tab", "\x1b[Z"],
    ["BTab", "\x1b[Z"],
    ["Enter", "\r"],
    ["Return", "\r"],
    ["Tab", "\t"],
    ["Esc", "\x1b"],
    ["BSpace", "\x7f"],
    ["Ctrl+Backspace", "\b"],
    ["Space", " "],
    ["Up", "\x1b[A"],
    ["ArrowLeft", "\x1b[D"],
    ["S-Up", "\x1b[1;2A"],
    ["Ctrl+Alt+Shift+Up", "\x1b[1;8A"],
    ["C-Home", "\x1b[1;5H"],
    ["End", "\x1b[F"],
    ["PgUp", "\x1b[5~"],
    ["NPage", "\x1b[6~"],
    ["Shift+PageDown", "\x1b[6;2~"],
    ["Del", "\x1b[3~"],
    ["IC", "\x1b[2~"],
    ["F1", "\x1bOP"],
    ["Ctrl+F1", "\x1b[1;5P"],
    ["F5", "\x1b[15~"],
    ["f12", "\x1b[24~"],
    ["F13", "\x1b[1;2P"],
    ["F24", "\x1b[24;2~"],
    ["KPEnter", "\r"],
    ["KP5", "5"],
    ["a", "a"],
    ["A", "A"],
    ["Shift+a", "A"],
    ["+", "+"],
    ["-", "-"],
    ["Alt+-", "\x1b-"],
    ["Alt++", "\x1b+"],
    ["é", "é"],
    ["👩‍👩‍👧", "👩‍👩‍👧"],
  ])("%s", (name, bytes) => {
    expect(encoded([name])).toBe(bytes);
  });

  test("application cursor and keypad", () => {
    expect(encoded(["Up", "Home", "Ctrl+Up"], { applicationCursor: true })).toBe("\x1bOA\x1bOH\x1b[1;5A");
    expect(encoded(["KP5", "KPEnter", "KP+"], { applicationKeypad: true })).toBe("\x1bOu\x1bOM\x1bOk");
  });

  test("modifyOtherKeys", () => {
    const level1 = { modifyOtherKeys: 1 } as const;
    expect(encoded(["Ctrl+c", "Alt+x", "Backspace"], level1)).toBe("\x03\x1bx\x7f");
    expect(encoded(["Ctrl+Enter", "Shift+Enter", "Ctrl+1"], level1)).toBe("\x1b[27;5;13~\x1b[27;2;13~\x1b[27;5;49~");
    expect(encoded(["Alt+Enter", "Alt+Tab"], level1)).toBe("\x1b\r\x1b\t");
    const level2 = { modifyOtherKeys: 2 } as const;
    expect(encoded(["Ctrl+c", "Alt+x", "Ctrl+Shift+c"], level2)).toBe("\x1b[27;5;99~\x1b[27;3;120~\x1b[27;6;67~");
    expect(encoded(["a", "A", "Enter", "Tab"], level2)).toBe("aA\r\t");
  });

  test("kitty keyboard", () => {
    expect(encoded(["Esc", "Ctrl+c", "Shift+Enter", "a", "A", "Enter"], { kittyFlags: 1 })).toBe(
      "\x1b[27u\x1b[99;5u\x1b[13;2uaA\r",
    );
    expect(encoded(["a", "A", "Enter", "F13"], { kittyFlags: 8 })).toBe("\x1b[97u\x1b[97;2u\x1b[13u\x1b[57376u");
    expect(encoded(["A"], { kittyFlags: 31 })).toBe("\x1b[97:65;2;65u");
    expect(encoded(["Up", "F3"], { kittyFlags: 1, applicationCursor: true })).toBe("\x1b[A\x1b[13~");
  });

  test.each([
    ["Entr", "Enter"],
    ["Pagedwn", "PageDown"],
    ["Crtl+C", "Ctrl+C"],
    ["Contrl+Entre", "Ctrl+Enter"],
    ["Backspce", "Backspace"],
    ["F25", "F2"],
  ])("an unknown key %s names %s", (name, near) => {
    const error = errorOf(() => parseKeyName(name));
    expect(error.code).toBe("unknown_key");
    expect(error.details.near).toContain(near);
    expect(error.message).toContain(JSON.stringify(name));
  });

  test.each(["", "C-", "foo bar", "\x1b[A", "\x1b", "\u009b", "ab", "Ctrl+", "x".repeat(1_000_000)])(
    "no key: %p",
    (name) => {
      expect(errorOf(() => parseKeyName(name)).message.length).toBeLessThan(300);
    },
  );
});

describe("reading keys", () => {
  test("single bytes as docs/keys.md has them", () => {
    expect(names("a", " ", "\t", "\r", "\x7f", "\n", "\b", "\x01", "\x1a", "\x1c", "\x1d", "\x1e", "\x1f")).toEqual([
      "a",
      " ",
      "Tab",
      "Enter",
      "Backspace",
      "ctrl+j",
      "ctrl+h",
      "ctrl+a",
      "ctrl+z",
      "ctrl+\\",
      "ctrl+]",
      "ctrl+^",
      "ctrl+_",
    ]);
    expect(decoded("\0")[0]?.parsed).toBeNull();
    expect(names("\x1b")).toEqual(["Escape"]);
  });

  test("one read with several keys is several events, each with its bytes", () => {
    const events = decoded("ls\x1b[A\x1bOB\x1b[1;5Cé\x1bx\x1b[3~\x1b[15;2~\x1bOP\x1b[Z");
    expect(events.map(({ raw }) => Buffer.from(raw).toString())).toEqual([
      "l",
      "s",
      "\x1b[A",
      "\x1bOB",
      "\x1b[1;5C",
      "é",
      "\x1bx",
      "\x1b[3~",
      "\x1b[15;2~",
      "\x1bOP",
      "\x1b[Z",
    ]);
    expect(events.map(({ parsed }) => parsed && [...parsed.modifiers, parsed.key].join("+"))).toEqual([
      "l",
      "s",
      "ArrowUp",
      "ArrowDown",
      "ctrl+ArrowRight",
      "é",
      "alt+x",
      "Delete",
      "shift+F5",
      "F1",
      "shift+Tab",
    ]);
  });

  test("one key has one name, however the terminal sends it", () => {
    expect(names("\x1c", "\x1b[92;5u", "\x1b[27;5;92~")).toEqual(["ctrl+\\", "ctrl+\\", "ctrl+\\"]);
    expect(names("\x1b[1~", "\x1b[7~", "\x1b[H", "\x1bOH")).toEqual(["Home", "Home", "Home", "Home"]);
    expect(names("\x1b[[A", "\x1b[11~", "\x1bOP", "\x1b[P")).toEqual(["F1", "F1", "F1", "F1"]);
    expect(names("A", "\x1b[97;2u", "\x1b[97:65;2u", "\x1b[97;2;65u")).toEqual(["A", "A", "A", "A"]);
    expect(names("\x1bX", "\x1b[120;4u", "\x1b[27;4;88~")).toEqual(["alt+X", "alt+X", "alt+X"]);
  });

  test("mouse, focus, paste, replies and releases are not keys", () => {
    const kinds = (input: string) => decoded(input).map(({ kind }) => kind);
    expect(kinds("\x1b[<0;10;5M\x1b[<0;10;5m\x1b[M !!\x1b[32;10;5M")).toEqual(["mouse", "mouse", "mouse", "mouse"]);
    expect(kinds("\x1b[I\x1b[O")).toEqual(["focus", "focus"]);
    expect(kinds("\x1b[200~rm -rf \x1b[A\x03\x1b[201~x")).toEqual(["paste", "key"]);
    expect(
      kinds("\x1b[?62;4c\x1b[12;40R\x1b]11;rgb:0000/0000/0000\x1b\\\x1bP1$r0m\x1b\\\x1b[?2026;2$y\x1b[0n"),
    ).toEqual(Array.from({ length: 6 }, () => "reply"));
    expect(kinds("\x1b[97;1:3u\x1b[1;1:3A")).toEqual(["release", "release"]);
    expect(kinds("\x1b[57442;5u\x1b[57442;1:3u\x1b[57358;65u")).toEqual(["modifier", "release", "modifier"]);
    expect(names("\x1b[1;2R")).toEqual(["shift+F3"]);
  });

  test("a lone Escape waits, and is the key when nothing follows", () => {
    const first = decodeKeys(initialKeyState, Buffer.from("\x1b"));
    expect(first.events).toEqual([]);
    expect(decodeKeys(first.state, Buffer.from("[A")).events[0]?.parsed).toEqual({ key: "ArrowUp", modifiers: [] });
    expect(flushKeys(first.state).events[0]?.parsed).toEqual({ key: "Escape", modifiers: [] });
    expect(names("\x1b\x1b")).toEqual(["Escape", "Escape"]);
    expect(names("\x1b[")).toEqual(["alt+["]);
    expect(names("\x1bO")).toEqual(["alt+O"]);
    expect(names("\x1b]")).toEqual(["alt+]"]);
    expect(names("\x1b]x")).toEqual(["alt+]", "x"]);
    expect(names("\x1b\x1b[A")).toEqual(["alt+ArrowUp"]);
  });

  test("a paste is one event however it was read, and no longer than the limit", () => {
    expect(decoded("\x1b[20", "0~ab", "c\x1b[2", "01~").map(({ kind }) => kind)).toEqual(["paste"]);
    const long = `\x1b[200~${"x".repeat(1_200_000)}`;
    const start = decodeKeys(initialKeyState, Buffer.from(long));
    expect(start.events.map(({ kind, raw }) => [kind, raw.length])).toEqual([["paste", long.length]]);
    const end = decodeKeys(start.state, Buffer.from("\r\x1b[201~\r"));
    expect(end.events.map(({ kind, raw }) => [kind, raw.length])).toEqual([
      ["paste", 7],
      ["key", 1],
    ]);
  });

  test("a paste that stalls is delivered in part, and one that never ends cannot block the keyboard", () => {
    const first = decodeKeys(initialKeyState, Buffer.from("\x1b[200~ab\x1b[20"));
    expect(first.events).toEqual([]);
    const stalled = flushKeys(first.state);
    expect(stalled.events.map(({ kind, raw }) => [kind, raw.length])).toEqual([["paste", 8]]);
    const rest = decodeKeys(stalled.state, Buffer.from("1~x"));
    expect(rest.events.map(({ kind }) => kind)).toEqual(["paste", "key"]);
    expect(isWaiting(rest.state)).toBe(false);
    let lost = flushKeys(decodeKeys(initialKeyState, Buffer.from("\x1b[200~ab")).state).state;
    expect(isWaiting(lost)).toBe(true);
    lost = flushKeys(lost).state;
    expect(decodeKeys(lost, Buffer.from("x")).events[0]?.kind).toBe("key");
  });

  test("an emoji is one key, a broken byte is not a key", () => {
    expect(names("👩‍👩‍👧", "👍🏽", "🇩🇪", "e\u0301")).toEqual(["👩‍👩‍👧", "👍🏽", "🇩🇪", "e", "\u0301"]);
    expect(decoded(Uint8Array.of(0xff, 0x61, 0xc3)).map(({ parsed }) => parsed?.key ?? null)).toEqual([
      null,
      "a",
      null,
    ]);
  });

  const everyName = [
    ..."Enter Tab Escape Backspace ArrowUp ArrowDown ArrowLeft ArrowRight Home End PageUp PageDown Insert Delete".split(
      " ",
    ),
    ...Array.from({ length: 12 }, (_, i) => `F${i + 1}`),
    ..."a Z 0 / \\ + - é 日 😀".split(" "),
    " ",
  ];

  test.each([
    plain,
    { ...plain, applicationCursor: true, applicationKeypad: true },
    { ...plain, kittyFlags: 1 },
    { ...plain, kittyFlags: 31 },
    { ...plain, modifyOtherKeys: 2 } as const,
  ])("what input events call a key can be sent back: %p", (modes) => {
    for (const key of everyName) {
      for (const modifiers of [[], ["ctrl"], ["alt"], ["shift"]] as const) {
        const special = key.length > 1 && !/^\p{Emoji}/u.test(key);
        // Without a keyboard protocol a terminal cannot distinguish these from their plain forms.
        if (modifiers[0] === "shift" && !special) continue;
        if (modifiers[0] !== undefined && /^(Enter|Tab|Escape|Backspace)$/.test(key)) continue;
        if (modifiers[0] === "ctrl" && !special) continue;
        const name = [...modifiers, key].join("+");
        const [event, ...more] = decoded(encoded([name], modes));
        expect(more).toEqual([]);
        expect({ name, parsed: event?.parsed }).toEqual({
          name,
          parsed: { key, modifiers: [...modifiers] } as ParsedKey,
        });
      }
    }
  });

  test("random bytes, split anywhere: nothing is lost, and the events are the same when nothing had to wait", () => {
    const random = seededRandom(7);
    const pieces = [
      "\x1b",
      "[",
      "A",
      "1;5",
      "~",
      "M",
      "<",
      "\x1b[200~",
      "\x1b[201~",
      "é",
      "\xff",
      "O",
      "P",
      "]",
      "0;",
      "\x07",
      "\x1b\\",
      "x",
      "m",
      "\r",
      "😀",
    ];
    for (let round = 0; round < 500; round++) {
      const input = Buffer.concat(
        Array.from({ length: 1 + Math.floor(random() * 12) }, () => {
          const piece = pieces[Math.floor(random() * pieces.length)] ?? "";
          return piece === "\xff" ? Buffer.from([0xff]) : Buffer.from(piece);
        }),
      );
      const cut = Math.floor(random() * input.length);
      let state = decodeKeys(initialKeyState, input.subarray(0, cut));
      const events = [...state.events];
      state = decodeKeys(state.state, input.subarray(cut));
      events.push(...state.events);
      const flushed = flushKeys(state.state);
      events.push(...flushed.events);
      const whole = decodeKeys(initialKeyState, input);
      const wholeEvents = [...whole.events, ...flushKeys(whole.state).events];
      const rest = flushed.state.rest;
      expect(Buffer.concat([...events.map(({ raw }) => raw), rest])).toEqual(input);
      // A grapheme whose marks come in a later read is two events; everything else is as in one read.
      if (!input.includes("😀")) expect(events).toEqual(wholeEvents);
    }
  });
});

describe("the prefix key", () => {
  const prefix = parsePrefix("Ctrl+\\");

  const context: PrefixContext = {
    ...{ captured: false, prefix, tables: new KeyTables({}), repeatMs: 500, acceptsRootKeys: true, now: 0 },
  };

  /** Result of each event of an input. */
  function actions(input: string, captured = false): string[] {
    let state: TableState = null;
    return decoded(input).map((event) => {
      const result = handleKeyEvent(state, event, { ...context, captured });
      state = result.state;
      const action: PrefixAction = result.action;
      return action.type === "forward"
        ? `send ${JSON.stringify(Buffer.from(action.raw).toString("latin1"))}`
        : action.type;
    });
  }

  test("twice detaches, a key of the table acts, \\ sends the key itself, any other key has no effect", () => {
    expect(actions("a\x1c\x1c")).toEqual(['send "a"', "wait", "detach"]);
    expect(actions("\x1cd")).toEqual(["wait", "detach"]);
    expect(actions("\x1c?z")).toEqual(["wait", "bound", 'send "z"']);
    expect(actions("\x1c\\")).toEqual(["wait", 'send "\\u001c"']);
    expect(actions("\x1cyy")).toEqual(["wait", "unbound", 'send "y"']);
    expect(actions("\x1b[92;5u\x1b[27;5;92~")).toEqual(["wait", "detach"]);
  });

  test("releasing Ctrl and pressing it again in between is not another key, as in kitty's mode 31", () => {
    const [press, again] = ["\x1b[57442;5u\x1b[92;5u", "\x1b[92;5:3u\x1b[57442;1:3u\x1b[57442;5u\x1b[92;5u"];
    expect(actions(press + again).filter((action) => !action.startsWith("send"))).toEqual(["wait", "detach"]);
  });

  test("mouse, focus and releases pass while it waits", () => {
    expect(actions("\x1c\x1b[I\x1b[92;5:3u\x1c")).toEqual([
      "wait",
      'send "\\u001b[I"',
      'send "\\u001b[92;5:3u"',
      "detach",
    ]);
  });

  test("one press takes a captured keyboard back", () => {
    expect(actions("y\x1c", true)).toEqual(['send "y"', "release"]);
    const [event] = decoded("\x1c");
    const unset = { ...context, captured: true, prefix: null };
    expect(event && handleKeyEvent(null, event, unset).action.type).toBe("release");
  });

  test("a repeatable key needs no prefix for half a second, and a plain one ends that", () => {
    const [press, up, z] = ["\x1c", "\x1b[1;5A", "z"].map((text) => decoded(text)[0]);
    if (press === undefined || up === undefined || z === undefined) throw new Error("three keys");
    let state: TableState = null;
    const at = (event: typeof up, now: number): string => {
      const result = handleKeyEvent(state, event, { ...context, now });
      state = result.state;
      return result.action.type;
    };
    expect([at(press, 0), at(up, 100), at(up, 500), at(up, 999), at(up, 1_499)]).toEqual([
      ...["wait", "bound", "bound", "bound", "forward"],
    ]);
    expect([at(press, 2_000), at(up, 2_000), at(z, 2_100), at(up, 2_200)]).toEqual([
      ...["wait", "bound", "forward", "forward"],
    ]);
  });

  test("inside a paste it is text", () => {
    expect(actions("\x1b[200~\x1c\x1b[201~")).toEqual(['send "\\u001b[200~\\u001c\\u001b[201~"']);
  });

  test("the setting", () => {
    expect(parsePrefix("none")).toBeNull();
    expect(parsePrefix("C-a")).toEqual({ key: { key: "a", modifiers: ["ctrl"] }, label: "Ctrl+A" });
    expect(parsePrefix("Ctrl+\\")?.label).toBe("Ctrl+\\");
    expect(parsePrefix("F12")?.label).toBe("F12");
    expect(parsePrefix("M-`")?.key).toEqual({ key: "`", modifiers: ["alt"] });
    for (const bad of ["a", "Enter", "Shift+Up", "Ctrl+I", "Ctrl+M", "C-[", "nonsense", ""]) {
      expect(errorOf(() => parsePrefix(bad)).code).toBe("invalid_setting");
    }
    const space = parsePrefix("C-Space");
    const [event] = decoded("\0");
    expect(event && handleKeyEvent(null, event, { ...context, prefix: space }).action.type).toBe("wait");
  });
});
