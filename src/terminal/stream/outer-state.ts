/**
 * Decides which program output may reach attached terminals.
 *
 * Effects of a sequence that the emulator does not execute are missing on its screen: agents would not see them, a
 * terminal that attaches later would not get them, and nothing would undo them after detaching. So only sequences
 * listed here are passed on (`passesCsi`, `passesEscape`, `passesOsc`); new sequences of some terminal are not, until
 * the emulator supports them. A few changes are not undone by a reset of modes; terminals that received one are
 * notified, so that they undo exactly these (`lastingChange`). Pure. Sources: XTerm Control Sequences; VT510 manual;
 * the protocols of kitty and iTerm2.
 */
import { type LastingChange, lastingChanges } from "../../protocol/lasting-changes.ts";

/** Number of times that a session's programs have made each of these changes. */
export class LastingChanges {
  private readonly counts = new Map<LastingChange, number>();
  private total = 0;

  note(change: LastingChange): void {
    this.counts.set(change, (this.counts.get(change) ?? 0) + 1);
    this.total++;
  }

  /** Changes made from now on. `news` runs per chunk. */
  watch(): { newChanges(): readonly LastingChange[] } {
    const seen = new Map(this.counts);
    let looked = this.total;
    return {
      newChanges: () => {
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
  1048, 1049, 2004, 2026, 2031,
]);
const SEMICOLON = 0x3b;
const ZERO = 0x30;
const ITERM = 1337;
/** Kitty's notifications. */
const NOTIFICATION = 99;
/** Of `CSI > Pp ; Pv m` only modifyOtherKeys, and the form that resets all. */
const MODIFY_OTHER_KEYS = 4;

/**
 * Control sequences that the emulator executes, by prefix, intermediate and final character; for `h`, `l`, `s` and `t`
 * the parameters decide too. All others are queries, concern a window that is not ours, or draw nothing on our screen:
 * rectangles, pages, a stack of colours.
 */
const PASSED_CSI: ReadonlySet<string> = new Set([
  ..."@LMPSTXZ`abdefgru",
  " @", // SL
  " A", // SR
  " q", // DECSCUSR
  "!p", // DECSTR
  '"q', // DECSCA
  ">u", // kitty keyboard
  "<u",
  "=u",
]);
/** Escape sequences of two characters that the emulator executes, by the second. */
const PASSED_ESCAPES: ReadonlySet<number> = new Set([..."78=>cDEHMno"].map((c) => c.charCodeAt(0)));
/** Designations of a character set. */
const DESIGNATES: ReadonlySet<number> = new Set([..."()*+-."].map((c) => c.charCodeAt(0)));
/** OSC numbers that do not affect the picture, except the colours, which are restored after detaching. */
const PASSED_OSCS: ReadonlySet<number> = new Set([
  0, 1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 52, 99, 104, 105, 110, 111, 112, 113, 114,
  115, 116, 117, 118, 119, 133, 633, 777, 1337,
]);
/** iTerm2's sequences that describe shell and work. Others draw, copy, switch profiles or report. */
const ITERM_PASSED = /^1337;(?:SetMark|CurrentDir=|RemoteHost=|SetUserVar=|SetBadgeFormat=|ShellIntegrationVersion=)/;
/** A notification on which a terminal reports: a click on it, its end, the open ones, its capabilities. */
const NOTIFICATION_REPORTS = /(?:^|[;:])(?:a=[^:;]*report|c=1|p=(?:\?|alive))/;
/** Maximum bytes of an OSC matched against these two patterns. */
const MAX_METADATA = 256;

/**
 * Whether a CSI sequence may reach terminals: the emulator executes it. Among several modes, those that it does not
 * support are replaced by 0, in place, which no terminal knows.
 * @param key prefix, intermediate and final character, as one text
 */
export function passesCsi(bytes: Uint8Array, body: number, finalAt: number, key: string): boolean {
  switch (key) {
    case "h":
    case "l":
      return keepKnownModes(bytes, body, finalAt, ANSI_MODES);
    case "?h":
    case "?l":
      return keepKnownModes(bytes, body + 1, finalAt, PRIVATE_MODES);
    case ">m":
    case ">n":
      return finalAt === body + 1 || [0, MODIFY_OTHER_KEYS].includes(firstNumber(bytes, body + 1, finalAt));
    // SCOSC; with parameters it sets unsupported margins, for which some terminals still save the cursor.
    case "s":
      return bytes.subarray(body, finalAt).every((c) => c === 0x30);
    default:
      return PASSED_CSI.has(key);
  }
}

/**
 * @returns whether any of the modes is known; parameters with colons are not. If none is, nothing is changed: the
 * emulator remembers some that reach no terminal (DECLRMM, DECSCLM).
 */
function keepKnownModes(bytes: Uint8Array, from: number, to: number, known: ReadonlySet<number>): boolean {
  let kept = 0;
  let foreign = 0;
  for (let start = from; start < to; start = parameterEnd(bytes, start, to) + 1) {
    if (isMode(bytes, start, to, known)) kept++;
    else foreign++;
  }
  if (kept === 0 || foreign === 0) return kept > 0;
  for (let start = from; start < to; start = parameterEnd(bytes, start, to) + 1) {
    if (!isMode(bytes, start, to, known)) bytes.fill(ZERO, start, parameterEnd(bytes, start, to));
  }
  return true;
}

function parameterEnd(bytes: Uint8Array, start: number, to: number): number {
  let end = start;
  while (end < to && bytes[end] !== SEMICOLON) end++;
  return end;
}

function isMode(bytes: Uint8Array, start: number, to: number, known: ReadonlySet<number>): boolean {
  const end = parameterEnd(bytes, start, to);
  for (let p = start; p < end; p++) if (!isDigit(bytes[p])) return false;
  return known.has(firstNumber(bytes, start, end));
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
 * Whether an escape sequence may reach terminals. Rejects 7- or 8-bit controls, double-size lines, single
 * shifts, locks of displayed text, and shifts of the right half of a code table, which UTF-8 does not have.
 * `ESC % @`, which leaves UTF-8, becomes `ESC % G`, in place: both reset the emulator's set.
 */
export function passesEscape(bytes: Uint8Array, start: number, end: number): boolean {
  const final = bytes[end - 1] ?? 0;
  if (end - start === 2) return PASSED_ESCAPES.has(final);
  const intermediate = bytes[start + 1] ?? 0;
  if (end - start !== 3) return false;
  if (intermediate === 0x25 && final === 0x40) bytes[end - 1] = 0x47;
  if (intermediate === 0x25) return bytes[end - 1] === 0x47;
  return DESIGNATES.has(intermediate) || (intermediate === 0x23 && final === 0x38);
}

/** Whether an OSC may reach terminals: not if it draws, is never restored, or makes a terminal answer. */
export function passesOsc(number: number, bytes: Uint8Array, body: number, end: number): boolean {
  if (!PASSED_OSCS.has(number)) return false;
  if (number !== ITERM && number !== NOTIFICATION) return true;
  const text = Buffer.from(bytes.subarray(body, Math.min(end, body + MAX_METADATA))).toString("latin1");
  if (number === ITERM) return ITERM_PASSED.test(text);
  return !NOTIFICATION_REPORTS.test(text.split(";", 2).join(";"));
}

/** The lasting change that an OSC makes in a terminal; null without one. */
export function lastingChange(number: number, bytes: Uint8Array, body: number, end: number): LastingChange | null {
  if (number === 4 || number === 5 || number === 21 || (number >= 10 && number <= 19)) return "colors";
  if (number === 22) return "pointer";
  // ConEmu's progress bar, `9;4;…`; otherwise a notification.
  const progress = number === 9 && bytes[body + 2] === 0x34 && (bytes[body + 3] === 0x3b || end - body <= 5);
  return progress ? "progress" : null;
}
