/**
 * Cells of every code point of Unicode, compared with the `wcwidth` of the machine's C library, where that is the glibc
 * whose table ours is; and clusters for the programs that ask for them.
 */
import { dlopen } from "bun:ffi";
import { expect, test } from "bun:test";
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { Terminal } from "@xterm/headless";
import { addWidths, byCluster, countClusters } from "../../../src/terminal/widths.ts";

const GLIBC = "2.36";
const LC_ALL = 6;

/** Differences from it, with the reason: code points, their cells here, those there. */
const differences: readonly (readonly [from: number, to: number, ours: number, theirs: number])[] = [
  // NUL and controls are never printed as characters.
  [0x00, 0x00, 1, 0],
  [0x01, 0x1f, 1, -1],
  [0x7f, 0x9f, 1, -1],
];

/** The C library's own answer; null where it is another library. */
function cLibrary(): ((codepoint: number) => number) | null {
  if (process.platform !== "linux") return null;
  try {
    const { symbols } = dlopen("libc.so.6", {
      gnu_get_libc_version: { args: [], returns: "cstring" },
      setlocale: { args: ["int", "cstring"], returns: "cstring" },
      wcwidth: { args: ["u32"], returns: "int" },
    });
    if (String(symbols.gnu_get_libc_version()) !== GLIBC) return null;
    symbols.setlocale(LC_ALL, Buffer.from("C.UTF-8\0"));
    return symbols.wcwidth;
  } catch {
    return null;
  }
}

function emulator(): Terminal {
  const terminal = new Terminal({ rows: 4, cols: 40, allowProposedApi: true });
  addWidths(terminal);
  return terminal;
}

/** Columns after a text at the start of a row. */
function columns(terminal: Terminal, text: string): number {
  terminal.input("", true);
  terminal.write(`\r${text}`);
  return terminal.buffer.active.cursorX;
}

test("every code point takes the cells of the C library; one that it does not know takes one", () => {
  const theirs = cLibrary();
  if (theirs === null) {
    console.error(`SKIPPED: the C library is not glibc ${GLIBC}`);
    return;
  }
  const terminal = emulator();
  const service: unknown = Reflect.get(Reflect.get(terminal, "_core"), "unicodeService");
  const ours = (codepoint: number): number => (service as { wcwidth(codepoint: number): number }).wcwidth(codepoint);
  const found: [number, number, number, number][] = [];
  for (let codepoint = 0; codepoint < 0x11_0000; codepoint++) {
    const [own, other] = [ours(codepoint), theirs(codepoint)];
    // Unassigned, or surrogates: no program knows a width.
    if (own === other || (codepoint >= 0xa0 && other === -1 && own === 1)) continue;
    const last = found.at(-1);
    if (last?.[1] === codepoint - 1 && last[2] === own && last[3] === other) last[1] = codepoint;
    else found.push([codepoint, codepoint, own, other]);
  }
  expect(found).toEqual(differences.map((each) => [...each]));
});

test("text moves the cursor by its code points, but for emoji of several; by clusters where a program asked for them", () => {
  const terminal = emulator();
  const zero = [0x200b, 0x200e, 0x200f, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0x061c, 0xfff9, 0x301];
  for (const codepoint of zero) expect(columns(terminal, `a${String.fromCodePoint(codepoint)}b`)).toBe(2);
  // Differences by design: skin tones, joined emoji, emoji style and flags are one character of two cells, as in terminals
  // and in tmux; `wcwidth` of their parts would be 4, 4, 1 and 2.
  const texts = {
    "👍🏽": [2, 2],
    "❤️": [2, 2],
    กำ: [2, 1],
    हिन्दी: [5, 3],
    "👩\u200d👧": [2, 2],
    "🇩🇪": [2, 2],
    漢字: [4, 4],
  };
  for (const [text, [apart, joined]] of Object.entries(texts)) {
    countClusters(terminal, false);
    expect([text, columns(terminal, text)]).toEqual([text, apart ?? 0]);
    countClusters(terminal, true);
    expect([text, columns(terminal, text)]).toEqual([text, joined ?? 0]);
  }
});

test("ASCII has the properties of the addon, whatever precedes it", () => {
  const unicode = {
    register: (provider: typeof byCluster) => providers.push(provider),
    versions: [],
    activeVersion: "",
  };
  const providers: (typeof byCluster)[] = [];
  const activate: { call(addon: UnicodeGraphemesAddon, terminal: object): void } =
    UnicodeGraphemesAddon.prototype.activate;
  activate.call(new UnicodeGraphemesAddon(), { unicode });
  const addon = providers.find(({ version }) => version === byCluster.version);
  const before = ["", "a", "\u00e9", "\u0600", "\u{1f468}\u200d", "\u{1f1e6}", "\r"];
  for (const text of before) {
    const preceding = [...text].reduce((last, char) => addon?.charProperties(char.codePointAt(0) ?? 0, last) ?? -1, 0);
    for (let code = 0; code < 0x80; code++)
      expect(byCluster.charProperties(code, preceding)).toBe(addon?.charProperties(code, preceding) ?? -1);
  }
});
