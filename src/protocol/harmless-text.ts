/**
 * Makes foreign text harmless in a terminal: file names, commands, messages that quote them. Characters that a terminal
 * would execute (C0, DEL, C1), and those that make a line read differently (directions, separators), are escaped, so
 * that they are visible and have no effect.
 */

/** C0, DEL, C1; soft direction and separator characters (Unicode Bidi_Control, Zl, Zp); the byte order mark. */
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/**
 * Also characters without a visible shape, which could hide in a name or a command: format characters (soft
 * hyphen, zero width, tags), fillers, unassigned and private characters, unpaired surrogates, and blanks
 * besides the usual one.
 */
const SHAPELESS =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|[\u{e0100}-\u{e01ef}]|(?! )\p{Zs}/gu;

/** One line about which a person decides: nothing in it is invisible or reads like something else. */
export function plain(text: string): string {
  return text.replace(SHAPELESS, escaped);
}

/** A foreign name within a sentence: it cannot be read as a part of the sentence. */
export function quoted(name: string): string {
  return `"${plain(name).replaceAll('"', "'")}"`;
}

/** On one line: `\x1b` for ESC, `\u202e` for a character that is not one byte. */
export function visible(text: string): string {
  return text.replace(CONTROLS, escaped);
}

function escaped(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code > 0xffff) return `\\u{${digits}}`;
  return code < 0x100 ? `\\x${digits.padStart(2, "0")}` : `\\u${digits.padStart(4, "0")}`;
}

/** The same for text with newlines: each line separately; tabs become blanks. */
export function visibleLines(text: string): string {
  return text.split(/\r?\n/).map(visibleBlanks).join("\n");
}

/** A line with its tabs replaced by blanks. */
function visibleBlanks(line: string): string {
  return visible(line.replaceAll("\t", "  "));
}

/**
 * Escapes the control characters of rendered text, except line ends and tabs. Only another machine could send
 * any.
 */
export function visibleRendered(text: string): string {
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, visible);
}

/** For a cell or a value: line ends and tabs become blanks too. */
export function visibleCell(text: string): string {
  return visible(text.replace(/[\t\r\n]+/g, " "));
}

/** JSON of the same value, with all such characters escaped. */
export function visibleJson(value: unknown, indent = 0): string {
  const json = JSON.stringify(value, null, indent) ?? "null";
  // Line ends between values are indentation.
  return json.replace(CONTROLS, (char) =>
    char === "\n" ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
