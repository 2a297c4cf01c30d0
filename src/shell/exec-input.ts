/**
 * The text to type at a shell's prompt so that exactly one given command runs there, once, as one command with one end.
 *
 * A plain command is typed as a person would. Everything that the line editor, history expansion or a second prompt
 * could change or split goes inside one quoted `eval`, which always reads as one complete line: unfinished quotes and
 * heredocs end in the shell's own error instead of a continuation prompt.
 */
import { WshError } from "../protocol/errors.ts";
import { PASTE_BEGIN, PASTE_END } from "../protocol/pasted-text.ts";
import type { ShellKind } from "./plan.ts";

export interface ExecInput {
  /** Bytes for the terminal, including the Enter. */
  readonly text: Uint8Array;
  /** The entry in the shell's history. */
  readonly line: string;
}

/**
 * Characters up to which fish gets a quoted text. Its editor redraws the whole line at each pasted quote, backslash and
 * newline: 3.5 KB of short lines take it 0.4 s, 20 KB more than 20 s; percent-encoded, 33 KB take 0.7 s (fish 3.6).
 */
const FISH_QUOTED_LIMIT = 1000;

/** Words that open something which a later line must close, in any of the shells. */
const opening =
  /(?:^|[\s;&|(])(?:if|for|foreach|while|until|case|select|function|repeat|begin|switch|do|then|coproc|\[\[)(?=$|[\s;&|(])/;

export interface PromptModes {
  /** Mode 2004 is on at the prompt. */
  readonly bracketedPaste: boolean;
  /** Enter runs the line only if it contains no newline, pasted or typed (ble.sh). */
  readonly oneLine?: boolean;
  /** Begins with a blank, by which tools that record commands recognise a line to omit. */
  readonly indented?: boolean;
}

/**
 * @throws WshError `invalid_request` when the command holds a NUL character
 */
export function execInput(command: string, shell: ShellKind, options: PromptModes): ExecInput {
  if (command.includes("\0")) {
    throw new WshError("invalid_request", "the command contains a NUL character, which shells cannot run");
  }
  const text = command.replace(/(?<!\\)\n+$/, "");
  const line = shell === "other" || isPlain(text, shell) ? text : evalLine(text, shell, options);
  // fish expands an abbreviation under the cursor at Enter; a blank after it is cut from its history.
  const shown = shell === "fish" && line === text ? `${line} ` : line;
  const typed = options.bracketedPaste
    ? `${PASTE_BEGIN}${shown.replaceAll(PASTE_END, "")}${PASTE_END}\r`
    : `${shown}\r`;
  // fish cuts a blank at the beginning of a paste.
  return { text: new TextEncoder().encode(options.indented === true ? ` ${typed}` : typed), line };
}

/**
 * Commands of words, joined by operators, that fish can parse: fish's editor keeps a line that does not parse instead
 * of running it, and much that other shells accept does not parse in fish ($?, x=1, a `break` outside a loop).
 */
const fishCommands = (() => {
  const word = `(?:[\\w./:,@%+=~-]|\\$[A-Za-z_]\\w*|'[^'\\\\]*'|"[^"\\\\$]*")+`;
  const command = `[A-Za-z_./~-][\\w./~-]*(?: +${word})*`;
  return new RegExp(`^${command}(?: *(?:;|\\||&&|\\|\\|) *${command})*$`);
})();
const fishKeywords =
  /(?:^|[;|&])\s*(?:and|or|not|end|else|break|continue|exec|builtin|command|time|begin|if|while|for|switch|case|function)(?![\w./~-])/;

/** Whether the line editor takes the command unchanged and the shell reads it as exactly one complete line. */
function isPlain(command: string, shell: ShellKind): boolean {
  // Control characters are keys; `!` and a leading `^` are history expansion; at zsh's prompt `#` does not begin a
  // comment, and alone on a line it runs nothing; paste hooks of zsh rewrite URLs.
  if (command.trim() === "" || /[\x00-\x1f\x7f-\x9f!#`]|<<|^\s*\^|:\/\//.test(command)) return false;
  if (shell === "fish") return fishCommands.test(command) && !fishKeywords.test(command);
  if (opening.test(command) || /(?:\\|\||&&|\b(?:and|or|not))\s*$/.test(command)) return false;
  return isBalanced(command);
}

/** Quotes closed, and brackets outside quotes in pairs. Anything nested inside double quotes counts as not plain. */
function isBalanced(command: string): boolean {
  const open: string[] = [];
  for (let index = 0; index < command.length; index++) {
    const char = command.charAt(index);
    if (char === "\\") index++;
    else if (char === "'" || char === '"') {
      const end = closingQuote(command, index);
      if (end < 0 || (char === '"' && command.slice(index, end).includes("$("))) return false;
      index = end;
    } else if ("({[".includes(char)) open.push(char === "(" ? ")" : char === "{" ? "}" : "]");
    else if (")}]".includes(char) && open.pop() !== char) return false;
  }
  return open.length === 0;
}

function closingQuote(command: string, begin: number): number {
  const quote = command.charAt(begin);
  // There are no escapes inside '…', but there are inside $'…'.
  const escapes = quote === '"' || command.charAt(begin - 1) === "$";
  for (let index = begin + 1; index < command.length; index++) {
    const char = command.charAt(index);
    if (char === "\\" && escapes) index++;
    else if (char === quote) return index;
  }
  return -1;
}

function evalLine(command: string, shell: ShellKind, { bracketedPaste, oneLine = false }: PromptModes): string {
  if (shell === "fish") {
    if (command.length > FISH_QUOTED_LIMIT)
      return `eval (string unescape --style=url -- ${urlEscape(command)} | string collect)`;
    return `eval ${quoteFish(command, bracketedPaste)}`;
  }
  const hasKeys =
    bracketedPaste && !oneLine ? /[\x00-\x09\x0b-\x1f\x7f-\x9f!]/.test(command) : /[\x00-\x1f\x7f-\x9f!]/.test(command);
  return `eval ${hasKeys ? quoteAnsi(command) : `'${command.replaceAll("'", "'\\''")}'`}`;
}

/** `$'…'` of bash and zsh: nothing in it is a key, a newline or a history event. */
function quoteAnsi(text: string): string {
  return `$'${text.replace(/[\x00-\x1f\x7f-\x9f!'\\]/g, ansiEscape)}'`;
}

function ansiEscape(char: string): string {
  if (char === "\n") return "\\n";
  if (char === "\t") return "\\t";
  if (char === "'" || char === "\\") return `\\${char}`;
  // Octal always ends after three digits; bytes of the UTF-8 form, so that the shell's locale does not matter.
  return [...new TextEncoder().encode(char)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

/** Quoted runs joined to escapes, which fish knows only outside quotes. */
function quoteFish(text: string, bracketedPaste: boolean): string {
  const keys = bracketedPaste ? /[\x00-\x09\x0b-\x1f\x7f-\x9f]/g : /[\x00-\x1f\x7f-\x9f]/g;
  const quoted = text.replace(/[\\']/g, "\\$&").replace(keys, (char) => `'${fishEscape(char)}'`);
  return `'${quoted}'`;
}

function fishEscape(char: string): string {
  if (char === "\n") return "\\n";
  if (char === "\t") return "\\t";
  return [...new TextEncoder().encode(char)].map((byte) => `\\X${byte.toString(16).padStart(2, "0")}`).join("");
}

/** Letters and digits of ASCII stay, all other bytes become %HH: nothing that fish's editor or parser would notice. */
export function urlEscape(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*~._-]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
