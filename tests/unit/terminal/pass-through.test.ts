/** The part of a program's output that reaches attached terminals: sequences that the emulator obeys too, and nothing else. */
import { describe, expect, test } from "bun:test";
import { TerminalModel, type TerminalSink } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";

interface Taken {
  readonly passed: string;
  readonly screen: string;
  readonly titles: readonly string[];
  readonly replies: string;
}

/** Effect of pieces of output on a terminal and its clients. */
async function take(pieces: readonly (string | Uint8Array)[], hideTitles = false): Promise<Taken> {
  const decoder = new TextDecoder();
  const taken = { passed: "", titles: [] as string[], replies: "" };
  const nothing = (): void => {};
  const sink: TerminalSink = {
    reply: (bytes) => {
      taken.replies += decoder.decode(bytes);
    },
    mark: nothing,
    bell: nothing,
    title: (title) => taken.titles.push(title),
    cwd: nothing,
    alternate: nothing,
    clipboard: nothing,
    reset: nothing,
    chunk: ({ bytes }) => {
      taken.passed += Buffer.from(bytes).toString();
    },
  };
  const terminal = new TerminalModel(
    { rows: 4, cols: 20, historyLines: 10, historyBytes: 1e6, profile: defaultProfile, nonce: null, hideTitles },
    sink,
  );
  for (const piece of pieces) await terminal.write(Buffer.from(piece));
  const screen = terminal.screen("plain").lines.join("\n").trimEnd();
  terminal.dispose();
  return { ...taken, screen };
}

test("a C1 control begins a new sequence inside another one; any other character is discarded with it", async () => {
  for (const begun of ["\x1b[3", "\u009b3", "\x1b", "\x1b#"])
    for (const [next, screen] of [
      ["\u009b1mX", "X"],
      ["\x1b[1mX", "X"],
      ["\u0085X", "X"],
      ["\u00e91mX", "1mX"],
      ["\u00a31mX", "1mX"],
      ["\u00c01mX", "1mX"],
      ["\u009fq\x1b\\X", "X"],
    ] as const) {
      const taken = await take([`${begun}${next}`]);
      // Clients get the text and whole sequences: BOLD, NEL or an APC.
      const text = taken.passed.replace(/\x1b\[1m|\x1bE|\x1b_q\x1b\\/g, "");
      expect([begun, next, taken.screen.trim(), text]).toEqual([begun, next, screen, screen]);
      expect((await take([...`${begun}${next}`])).screen).toBe(taken.screen);
    }
});

test("invalid UTF-8 is U+FFFD, one for each maximal part, in any pieces, as in WHATWG's decoder", async () => {
  const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1");
  const cases = [
    "a\xfeb\xffc",
    "\xc3(",
    "\xe2\x82f",
    "\xf0\x9f\x98g",
    "\xed\xa0\x80h",
    "\xc0\xafi",
    "\xe0\x80\x80j",
    "\xf4\x90\x80k",
  ];
  for (const each of cases) {
    const wanted = new TextDecoder().decode(bytes(each));
    for (const pieces of [[bytes(each)], [...bytes(each)].map((byte) => Uint8Array.of(byte))]) {
      expect(await take(pieces)).toMatchObject({ screen: wanted, passed: wanted });
    }
  }
});

describe("a title in screen's form", () => {
  test("is the title, and reaches clients in the common form", async () => {
    const { titles, passed, screen } = await take(["a\x1bkvim – ü漢\x1b\\b"]);
    expect(titles).toEqual(["vim – ü漢"]);
    expect(passed).toBe("a\x1b]2;vim – ü漢\x1b\\b");
    expect(screen).toBe("ab");
  });

  test("arrives in any pieces", async () => {
    const whole = Buffer.from("a\x1bktitle\x1b\\b");
    const { titles, passed, screen } = await take([...whole].map((byte) => Uint8Array.of(byte)));
    expect({ titles, passed, screen }).toEqual({
      titles: ["title"],
      passed: "a\x1b]2;title\x1b\\b",
      screen: "ab",
    });
  });

  test("is withheld from clients whose titles are hidden", async () => {
    const { titles, passed } = await take(["a\x1bktitle\x1b\\b"], true);
    expect({ titles, passed }).toEqual({ titles: ["title"], passed: "ab" });
  });

  test("ends where another sequence begins, and is dropped when cancelled", async () => {
    expect(await take(["\x1bkone\x1b[1mb"])).toMatchObject({
      titles: ["one"],
      passed: "\x1b]2;one\x1b\\\x1b[1mb",
      screen: "b",
    });
    expect(await take(["\x1bkone\x18b"])).toMatchObject({ titles: [], passed: "b", screen: "b" });
  });

  test("is on the stack of titles", async () => {
    expect((await take(["\x1bkone\x1b\\\x1b[22;2t\x1bktwo\x1b\\\x1b[23;2t"])).titles).toEqual(["one", "two", "one"]);
  });

  test("too long to wait for is dropped completely", async () => {
    const { titles, passed, screen } = await take(["a\x1bk", "x".repeat(100_000), "x\x1b\\b"]);
    expect({ titles, passed, screen }).toEqual({ titles: [], passed: "ab", screen: "ab" });
  });
});

describe("sequences that the emulator does not obey reach no client", () => {
  const cut: Readonly<Record<string, string>> = {
    "a mode it does not have": "\x1b[?3h",
    "a mode with parts": "\x1b[?1:3h",
    "left and right margins, which some terminals take for SCOSC": "\x1b[?69h\x1b[2;5s",
    "text of another size": "\x1b]66;s=2;double\x1b\\",
    "a picture (iTerm2)": "\x1b]1337;File=inline=1:AAAA\x07",
    "a copy to the clipboard (iTerm2)": "\x1b]1337;Copy=:aGk=\x07",
    "another profile (iTerm2)": "\x1b]1337;SetProfile=x\x07",
    "a transfer of files (kitty)": "\x1b]5113;ac=send\x1b\\",
    "a notification that is reported on": "\x1b]99;i=1:a=report;text\x1b\\",
    "a notification whose end is reported": "\x1b]99;i=1:c=1;text\x1b\\",
    "a rectangle that is filled": "\x1b[42;1;1;2;2$x",
    "a rectangle that is erased": "\x1b[1;1;2;2$z",
    "a rectangle that is copied": "\x1b[1;1;2;2;1;3;3;1$v",
    "attributes of a rectangle": "\x1b[1;1;2;2;7$r",
    "a stack of colours": "\x1b[#P\x1b[#Q",
    "a stack of styles": "\x1b[#{\x1b[#}",
    "protected areas (SPA, EPA)": "\x1bV\x1bW",
    "columns scrolled by DECBI and DECFI": "\x1b6\x1b9",
    "single shifts": "\x1bN\x1bO",
    "shifts of the right half": "\x1b~\x1b}\x1b|",
    "a set of 96 characters in G3": "\x1b/A",
  };
  for (const [what, output] of Object.entries(cut)) {
    test(what, async () => {
      expect(await take(["a", output, "b"])).toEqual({ passed: "ab", screen: "ab", titles: [], replies: "" });
    });
  }

  test("a mark that a query separated from its base stays separate", async () => {
    expect((await take(["a\x1b[6n\u0301", "b\x1b[6n", "\u0301", "c\x1b[6nd"])).passed).toBe(
      "a\x1b\\\u0301b\x1b\\\u0301cd",
    );
  });

  test("of several modes, the others stay", async () => {
    expect((await take(["\x1b[?1;3;25h\x1b[?3;1l\x1b[4;2h"])).passed).toBe("\x1b[?1;0;25h\x1b[?0;1l\x1b[4;0h");
  });

  test("columns are inserted by other terminals where the emulator inserts them", async () => {
    expect((await take(["abc\x1b[1;1H\x1b[2'}"])).passed).toBe("abc\x1b[1;1H\x1b[2'}");
    expect((await take(["abc\x1b[1;1H\x1b['~"])).passed).toBe("abc\x1b[1;1H\x1b[1'~");
    expect(await take(["abc\x1b[?69h\x1b[2;5s\x1b[1;1H\x1b[2'}"])).toMatchObject({
      passed: "abc\x1b[1;1H",
      screen: "abc",
    });
    expect(await take(["abc\x1b[2;3r\x1b[1;1H\x1b[2'}"])).toMatchObject({
      passed: "abc\x1b[2;3r\x1b[1;1H",
      screen: "abc",
    });
  });

  test("restored modes are written in full", async () => {
    expect((await take(["\x1b[?7;2004s\x1b[?7l\x1b[?2004h\x1b[?7;2004;1000r"])).passed).toBe(
      "\x1b[?7l\x1b[?2004h\x1b[?7h\x1b[?2004l",
    );
  });
});

describe("informational sequences pass", () => {
  for (const output of [
    "\x1b]9;done\x07",
    "\x1b]99;i=1;done: a=report\x1b\\",
    "\x1b]777;notify;title;text\x07",
    "\x1b]1337;SetMark\x07",
    "\x1b]1337;SetUserVar=a=Yg==\x07",
    "\x1b]8;;http://x.example\x1b\\",
    "\x1b[s\x1b[u",
    "\x1b[>1u\x1b[<u",
    "\x1b[3 q",
    "\x1b(0\x1b(B",
    "\x1b[!p",
    "\x1b[2 @",
  ]) {
    test(JSON.stringify(output), async () => {
      expect((await take([output])).passed).toBe(output);
    });
  }
});
