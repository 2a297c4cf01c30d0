/** However output is split, and whenever a client joins, the screen is the same. */
import { describe, expect, test } from "bun:test";
import { TerminalModel, type TerminalSink } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";

const corpus: Readonly<Record<string, string>> = {
  "colours and attributes":
    "a\x1b[1;4:3;58:2::9:8:7mb\x1b[38;2;1;2;3;48;5;200mc\x1b[0m\x1b[7md\x1b[27;9me\x1b[53mf\x1b[mg\x1b[21mh",
  "wide, combining and joined characters": "日本\u0301e\u0301 👩‍👩‍👧 🇩🇪🇫🇷 ☝🏽 ❤️ 각 नि\r\nxxxxxxxxxxxxxxxxxxx日\r\nend",
  "soft-wrapped lines": `${"0123456789".repeat(5)}\r\n${"日本語".repeat(9)}\r\n\x1b[44m${"blue".repeat(8)}\x1b[m`,
  "a pending wrap": "\x1b[3;1H\x1b[31m01234567890123456789",
  "operating system commands":
    "\x1b]2;títle\x07\x1b]8;id=1;https://example.org/;x\x1b\\link\x1b]8;;\x1b\\ \x1b]52;c;aGk=\x07\x1b]7;file://h/tmp/a%20b\x1b\\\u009d0;c1\u009c.",
  "device control strings and others":
    "\x1bP1$tx\x1b\\a\x1bPq#0;2;0;0;0#0\x1b\\b\x1b_apc\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e\x18f\x1b[3\x18g",
  "the alternate screen": "before\x1b[?1049h\x1b[2J\x1b[H\x1b[44mvim\x1b[K\x1b[5;3H~\x1b[?25l\x1b[3;4r\x1b[2;5H",
  "left alternate screen": "one\r\ntwo\x1b[?1049h\x1b[Hfull\x1b[?1049l three",
  "margins, origin, tabs and charsets":
    "\x1b[3g\x1b[1;5H\x1bH\x1b[1;12H\x1bH\x1b[2;4r\x1b[?6h\x1b(0lqk\x1b)0\x0eabc\x0f\ttab\x1b[2;3H",
  "a saved cursor": "abc\x1b[2;5H\x1b[32;45m\x1b7\x1b[4;1H\x1b[mxyz",
  modes:
    "\x1b[?1h\x1b=\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?1004h\x1b[4 q\x1b[>1u\x1b[>4;2m\x1b[?7l\x1b[4h\x1b[20h\x1b[?2031h\x1b[?45hx",
  "marks and queries":
    "\x1b]133;A;wsh=N\x07$ \x1b]133;B\x07ls\x1b[6n\x1b[c\r\n\x1b]133;C;wsh=N\x1b\\out\x1b]11;?\x07\r\n\x1b]133;D;0;wsh=N\x07\x1b[>q\x1bP+q544e\x1b\\",
  "erasing and inserting":
    "aaaaaaaaaa\r\nbbbbbbbbbb\r\ncccc\x1b[2;3H\x1b[2P\x1b[3@\x1b[L\x1b[4M\x1b[43m\x1b[K\x1b[1;3H\x1b[4X\x1b[5b\x1b[1J\x1b[2S\x1b[T",
  "scrolled lines": `${Array.from({ length: 20 }, (_, i) => `line ${i} \x1b[3${i % 8}mcolour\x1b[m`).join("\r\n")}\x1b[A`,
  "bytes other than UTF-8": "a\xff",
};

const SHOW = { rows: 6, cols: 20 };

function open(): { terminal: TerminalModel; log: string[]; out: Uint8Array[] } {
  const log: string[] = [];
  const out: Uint8Array[] = [];
  const sink: TerminalSink = {
    reply: (bytes) => log.push(`reply ${Buffer.from(bytes)}`),
    chunk: ({ bytes }) => out.push(bytes.slice()),
    mark: (mark) => log.push(`mark ${JSON.stringify(mark)}`),
    bell: () => log.push("bell"),
    title: (title) => log.push(`title ${title}`),
    cwd: (path) => log.push(`cwd ${path}`),
    alternate: (active) => log.push(`alternate ${active}`),
    clipboard: (_, data) => log.push(`clipboard ${data}`),
    reset: (reason) => log.push(`reset ${reason}`),
  };
  const terminal = new TerminalModel(
    { ...SHOW, historyLines: 100, historyBytes: 1e6, nonce: "N", profile: defaultProfile },
    sink,
  );
  return { terminal, log, out };
}

function state(terminal: TerminalModel): object {
  const { epoch: _, ...screen } = terminal.screen("styled");
  const grid = terminal.grid();
  return {
    screen,
    cells: grid.lines.map((row) =>
      row.map(({ text, width, style }) => ({ text: text === "" && width === 1 ? " " : text, width, style })),
    ),
    cursor: grid.cursor,
    modes: terminal.modes,
    title: terminal.title,
  };
}

function bytesOf(text: string): Uint8Array {
  return text.includes("\xff") ? Buffer.from(text, "latin1") : Buffer.from(text);
}

describe("output split at every byte gives the same screen, events and stream", () => {
  for (const [name, text] of Object.entries(corpus)) {
    test(name, async () => {
      const bytes = bytesOf(text);
      const whole = open();
      await whole.terminal.write(bytes.slice());
      const wanted = { ...state(whole.terminal), log: whole.log, out: Buffer.concat(whole.out).toString() };
      for (let at = 1; at < bytes.length; at++) {
        const parts = open();
        void parts.terminal.write(bytes.slice(0, at));
        await parts.terminal.write(bytes.slice(at));
        expect({ at, ...state(parts.terminal), log: parts.log, out: Buffer.concat(parts.out).toString() }).toEqual({
          at,
          ...wanted,
        });
        parts.terminal.dispose();
      }
      const single = open();
      for (const byte of bytes) await single.terminal.write(Uint8Array.of(byte));
      expect({ ...state(single.terminal), log: single.log, out: Buffer.concat(single.out).toString() }).toEqual(wanted);
    });
  }
});

describe("a fresh terminal with the serialised state is in the same state", () => {
  /** Shows state that the screen does not: margins, saved cursor, tab stops, charsets, the other screen. */
  const probes = ["", "Z", "\x1b8S", "\tT", "\x1b[?6l\n\n\n\n\n\nN", "\x0eq\x0fq", "\x1b[?1049lL", "\x1b[?1049l\x1b8L"];
  for (const [name, text] of Object.entries(corpus)) {
    test(name, async () => {
      for (const probe of probes) {
        const first = open();
        await first.terminal.write(bytesOf(text));
        const second = open();
        await second.terminal.write(first.terminal.serialize({ history: 100 }));
        await first.terminal.write(Buffer.from(probe));
        await second.terminal.write(Buffer.from(probe));
        expect({ probe, ...state(second.terminal) }).toEqual({ probe, ...state(first.terminal) });
      }
    });
    test(`${name}, and lines wrap the same after a resize`, async () => {
      const first = open();
      await first.terminal.write(bytesOf(text));
      const second = open();
      await second.terminal.write(first.terminal.serialize({ history: 100 }));
      await first.terminal.resize(6, 31);
      await second.terminal.resize(6, 31);
      expect(second.terminal.screen("plain").lines).toEqual(first.terminal.screen("plain").lines);
    });
  }
});
