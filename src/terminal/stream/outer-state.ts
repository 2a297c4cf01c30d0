/**
 * What a program's output may set at the terminal of an attached person.
 *
 * A mode that the emulator does not keep is on no screen of ours: agents would not see its effect, a terminal that
 * attaches later would not get it, and nobody would undo it after detaching. So such sequences are not passed on
 * (`setsForeignState`). A few that are passed on are undone by no reset of modes; terminals that got one are told, so
 * that they undo exactly these (`lastingChange`). Pure. Sources: XTerm Control Sequences; VT510 manual.
 */
import { type LastingChange, lastingChanges } from "../../protocol/attach.ts";

/** How often a session's programs have made each of these changes. */
export class LastingChanges {
  private readonly counts = new Map<LastingChange, number>();
  private total = 0;

  note(change: LastingChange): void {
    this.counts.set(change, (this.counts.get(change) ?? 0) + 1);
    this.total++;
  }

  /** A view of what is made from now on. Its `news` are looked for per chunk. */
  watch(): { news(): readonly LastingChange[] } {
    const seen = new Map(this.counts);
    let looked = this.total;
    return {
      news: () => {
        if (looked === this.total) return [];
        looked = this.total;
        const news = lastingChanges.filter((change) => seen.get(change) !== this.counts.get(change));
        for (const change of news) seen.set(change, this.counts.get(change) ?? 0);
        return news;
      },
    };
  }
}

/** ANSI modes of the emulator: IRM, LNM. Not KAM, which locks the keyboard, nor SRM, which echoes locally. */
const ANSI_MODES: ReadonlySet<number> = new Set([4, 20]);
/** DEC modes of the emulator and of `modes.ts`. */
const PRIVATE_MODES: ReadonlySet<number> = new Set([
  1, 5, 6, 7, 9, 12, 25, 45, 47, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 1034, 1035, 1036, 1039, 1047,
  1048, 1049, 2004, 2026, 2031, 2048,
]);
/** Of `CSI > Pp ; Pv m` only modifyOtherKeys, and the form that resets all. */
const MODIFY_OTHER_KEYS = 4;

/** By prefix, intermediate and final character. */
const FOREIGN_CSI: ReadonlySet<string> = new Set([
  "?s", // XTSAVE: we keep the person's own modes there
  "?r", // XTRESTORE
  "?W", // DECST8C
  ">f", // XTFMTKEYS
  ">p", // XTSMPOINTER
  ">s", // XTSHIFTESCAPE
  ">t", // XTSMTITLE
  ">T", // XTRMTITLE
  '"p', // DECSCL
  "+p", // DECSR
  "-p", // DECARR
  "$|", // DECSCPP
  "*|", // DECSNLS
  "$}", // DECSASD
  "$~", // DECSSDT
  ",|", // DECAC
  ",}", // DECATC
  "'w", // DECEFR
  "'z", // DECELR
  "'{", // DECSLE
  " t", // DECSWBV
  " u", // DECSMBV
]);
/** OSC numbers: an X property, the log file, the font. */
const FOREIGN_OSCS: ReadonlySet<number> = new Set([3, 46, 50]);

/**
 * Whether a CSI sequence sets only what the emulator does not keep. Of several modes at once, those are made 0, in
 * place, which no terminal knows.
 * @param key prefix, intermediate and final character, as one text
 */
export function setsForeignState(bytes: Uint8Array, body: number, finalAt: number, key: string): boolean {
  switch (key) {
    case "h":
    case "l":
      return !keepKnownModes(bytes, body, finalAt, ANSI_MODES);
    case "?h":
    case "?l":
      return !keepKnownModes(bytes, body + 1, finalAt, PRIVATE_MODES);
    case ">m":
    case ">n":
      return finalAt > body + 1 && ![0, MODIFY_OTHER_KEYS].includes(firstNumber(bytes, body + 1, finalAt));
    default:
      return FOREIGN_CSI.has(key);
  }
}

/** @returns whether any of the modes is known */
function keepKnownModes(bytes: Uint8Array, from: number, to: number, known: ReadonlySet<number>): boolean {
  let any = false;
  for (let start = from; start < to; ) {
    let end = start;
    while (end < to && bytes[end] !== 0x3b) end++;
    if (known.has(firstNumber(bytes, start, end))) any = true;
    else for (let p = start; p < end; p++) if (isDigit(bytes[p])) bytes[p] = 0x30;
    start = end + 1;
  }
  return any;
}

function firstNumber(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let p = from; p < to && isDigit(bytes[p]); p++) value = Math.min(value * 10 + (bytes[p] ?? 0) - 0x30, 1e6);
  return value;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/**
 * Whether an escape sequence sets what the emulator does not keep: 7- or 8-bit controls, lines of double size, the lock
 * of what is above the cursor. `ESC % @`, which leaves UTF-8, becomes `ESC % G`, in place: both reset the emulator's set.
 */
export function isForeignEscape(bytes: Uint8Array, start: number, end: number): boolean {
  const final = bytes[end - 1] ?? 0;
  if (end - start === 2) return final === 0x6c || final === 0x6d;
  const intermediate = bytes[start + 1];
  if (intermediate === 0x25 && final === 0x40) bytes[end - 1] = 0x47;
  if (intermediate === 0x20) return true;
  return intermediate === 0x23 && [0x33, 0x34, 0x36].includes(final);
}

export function isForeignOsc(number: number): boolean {
  return FOREIGN_OSCS.has(number);
}

/** What of the terminal an OSC changes for good; null for nothing. */
export function lastingChange(number: number, bytes: Uint8Array, body: number, end: number): LastingChange | null {
  if (number === 4 || number === 5 || number === 21 || (number >= 10 && number <= 19)) return "colors";
  if (number === 22) return "pointer";
  // ConEmu's progress bar, `9;4;…`; else a notification.
  const progress = number === 9 && bytes[body + 2] === 0x34 && (bytes[body + 3] === 0x3b || end - body <= 5);
  return progress ? "progress" : null;
}
