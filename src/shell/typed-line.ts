/**
 * One line that makes a shell without integration run a text and report how it ended: a mark, the text, a mark with
 * `$?`.
 *
 * Everything typed is printable ASCII on one line, so its echo can be compared, and it contains no key, second prompt
 * or history event. The marks carry a secret of this one line, in two halves that only the shell's own printf joins: no
 * echo, and no program that merely prints what was typed, shows it whole. A leading blank keeps the line out of most
 * histories. The text is quoted, so that an error in it is the shell's own error, after which the line continues.
 */
import { WshError } from "../protocol/errors.ts";
import { urlEscape } from "./exec-input.ts";

const typedShells = ["sh", "fish"] as const;
export type TypedShell = (typeof typedShells)[number];

/** @param nonce letters and digits @throws WshError invalid_request */
export function typedLine(command: string, shell: TypedShell, nonce: string): string {
  if (command.includes("\0")) {
    throw new WshError("invalid_request", "the command contains a NUL character, which shells cannot run");
  }
  const half = nonce.length / 2;
  const halves = `${nonce.slice(0, half)} ${nonce.slice(half)}`;
  const text = command.replace(/(?<!\\)\n+$/, "");
  if (shell === "fish") {
    const mark = (status: string): string => `printf '\\e]633;T;%s;%s%s\\a' ${status} ${halves}`;
    const run = `eval (string unescape --style=url -- ${urlEscape(text)} | string collect)`;
    return ` ${mark("b")}; ${run}; ${mark("$status")}`;
  }
  const mark = (status: string): string => `printf '\\033]633;T;%s;%s%s\\007' ${status} ${halves}`;
  // The text sees the status of the command before it. Closed error output keeps `set -x` from showing our part.
  const begin = `(s=$?; ${mark("b")}; exit $s) 2>/dev/null`;
  // eval is a special builtin: in dash an error in its text ends the whole line unless `command` runs it. In
  // zsh `command` runs only files; there KEYBOARD_HACK is always set, and empty unless used.
  return ` ${begin}; \${KEYBOARD_HACK-command} eval ${quoteSh(text)}; { ${mark('"$?"')}; } 2>/dev/null`;
}

/** Single quotes if possible; else escapes that printf decodes, byte by byte, since not every sh supports `$'…'`. */
function quoteSh(text: string): string {
  if (/^[ -~]*$/.test(text) && !text.includes("!")) return `'${text.replaceAll("'", "'\\''")}'`;
  const bytes = [...new TextEncoder().encode(text)].map((byte) => {
    const char = String.fromCharCode(byte);
    if (char === "\n") return "\\n";
    if (char === "\\") return "\\\\";
    return /[ -~]/.test(char) && !/['!]/.test(char) ? char : `\\0${byte.toString(8).padStart(3, "0")}`;
  });
  return `"$(printf %b '${bytes.join("")}')"`;
}
