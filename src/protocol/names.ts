/**
 * Names given by people and programs: sessions, tags, instances, and the targets that address a session, a window or a
 * pane. Pure text rules, the same in every transport. Names of sessions and windows may be in any script: only
 * invisible characters, and those that targets need, are refused. `:` separates the window, `@` begins an id, `~` marks
 * an ended session's name and `/` ends the name of another machine. Names are stored and compared in Unicode's form
 * NFC. Tags, labels and instances are ASCII. A name is text, never code: code that puts it into an address or a shell's
 * line quotes it; in file names it is encoded (encodeName).
 */

import { WshError } from "./errors.ts";

/** The instance used when none is named. */
export const defaultInstanceName = "default";
/** The name that plain `wsh` gives its session if no other session has it. */
export const defaultSessionName = "default";
/** Largest number of a window. */
export const MAX_WINDOW_INDEX = 9_999;

/** Tag or label; not `.` or `..`, path segments that clients remove from an address before sending it. */
const asciiPattern = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}$/;
/**
 * Session or window name: visible characters, with blanks between them. A joiner is part of an emoji; other format
 * characters, which could hide or reverse text, are refused.
 */
const namePattern = /^(?!\.{1,2}$)(?![@ ])(?:[^\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}:/~]|[ \u{200d}]){1,64}(?<! )$/u;
/** Longest name in UTF-8: a file name has at most 255 bytes, and escapes take some. */
const MAX_NAME_BYTES = 200;
const encoder = new TextEncoder();
/** Short, because it is part of socket paths of at most 103 bytes. */
const instancePattern = /^[A-Za-z0-9_-]{1,32}$/;
/** `@7` a pane, `@w5` a window, `@s3` a session. */
const idPattern = /^@([sw]?)(0|[1-9][0-9]{0,9})$/;
const indexPattern = /^(0|[1-9][0-9]{0,8})$/;
/** Maximum characters of a refused value in a message. */
const quotedLength = 80;

export function isSessionName(text: string): boolean {
  if (asciiPattern.test(text)) return true;
  return text.length <= MAX_NAME_BYTES && namePattern.test(text) && encoder.encode(text).length <= MAX_NAME_BYTES;
}

/** The name in its stored and compared form. */
export function normalName(text: string): string {
  return text.normalize("NFC");
}

export function isTag(text: string): boolean {
  return asciiPattern.test(text);
}

/** Whether a text can be a window's name: a number would be read as an index. */
export function isWindowName(text: string): boolean {
  return isSessionName(text) && !indexPattern.test(text);
}

/** Returns the name. @throws WshError invalid_session_name */
export function checkSessionName(text: string): string {
  const name = normalName(text);
  if (!isSessionName(name)) throw new WshError("invalid_session_name", `${quote(text)} is not a session name`);
  return name;
}

/**
 * The same for a name that is given now: `%1`, `$1` and `=a` have another meaning as targets of tmux's
 * commands. A session that already has such a name keeps it. @throws WshError invalid_session_name
 */
export function checkNewName(text: string): string {
  if (!/^(=|[%$]\d+$)/.test(text)) return checkSessionName(text);
  throw new WshError(
    "invalid_session_name",
    `${quote(text)} is not a new session's name: tmux's commands read it as a target`,
  );
}

/** Whether a text can be a checkpoint's label: valid as a tag, and not an option of a command line. */
export function isLabel(text: string): boolean {
  return isTag(text) && !text.startsWith("-");
}

/** Returns the tag. @throws WshError invalid_tag */
export function checkTag(text: string): string {
  if (!isTag(text)) throw new WshError("invalid_tag", `${quote(text)} is not a tag`);
  return text;
}

/** Returns tags in the form of every reply: checked, without duplicates, in byte order. */
export function normalizeTags(tags: Iterable<string>): string[] {
  const unique = new Set<string>();
  for (const tag of tags) unique.add(checkTag(tag));
  return [...unique].sort();
}

/** Returns the instance name. @throws WshError invalid_instance_name */
export function checkInstanceName(text: string): string {
  if (!instancePattern.test(text)) {
    throw new WshError("invalid_instance_name", `${quote(text)} is not an instance name`);
  }
  return text;
}

/** Name of another machine; it is also part of NATS subjects. */
const machinePattern = /^[A-Za-z0-9_-]{1,64}$/;

/** A target and its machine; null: this one, to which a bare name always refers. */
interface QualifiedTarget {
  readonly machine: string | null;
  readonly target: string;
}

export function isMachineName(text: string): boolean {
  return machinePattern.test(text);
}

/** Returns the machine's name. @throws WshError invalid_machine_name */
export function checkMachineName(text: string): string {
  if (isMachineName(text)) return text;
  throw new WshError("invalid_machine_name", `${quote(text)} is not a machine's name`);
}

/**
 * Parses `machine/target`, or `ssh://user@host/target` and `https://host/target`, whose machine is the address itself.
 * The part before the last slash is not checked here.
 */
export function parsePlace(text: string): QualifiedTarget {
  const slash = text.lastIndexOf("/");
  if (slash === -1) return { machine: null, target: text };
  return { machine: text.slice(0, slash), target: text.slice(slash + 1) };
}

/** Returns the target in its caller's notation. */
export function formatPlace({ machine, target }: QualifiedTarget): string {
  return machine === null ? target : `${machine}/${target}`;
}

/** The subject of a target. An empty window: the active one; none: the session's oldest pane. */
export type Target =
  | { readonly kind: "pane" | "window_id" | "session_id"; readonly id: number }
  | { readonly kind: "session"; readonly name: string; readonly window?: string; readonly pane?: number };

/** The subject of an id, by the letter after `@`. */
const idKinds: Readonly<Record<string, "pane" | "window_id" | "session_id">> = {
  "": "pane",
  w: "window_id",
  s: "session_id",
};

/** Whether a text is the id of a pane, a window or a session. */
export function isId(text: string): boolean {
  return idPattern.test(text);
}

export function paneId(id: number): string {
  return `@${id}`;
}

/** The number in a session's id (`@s3`). */
export function sessionNumber(id: string): number {
  return Number(id.slice(2));
}

/** The number in the id of a pane that wsh itself has given. @throws WshError internal_error */
export function paneNumber(id: string): number {
  const target = parseTarget(id);
  if (target.kind !== "pane") throw new WshError("internal_error", `'${id}' is not a pane id`);
  return target.id;
}

export function windowId(id: number): string {
  return `@w${id}`;
}

export function sessionId(id: number): string {
  return `@s${id}`;
}

/**
 * Parses `name`, `name:`, `name:window`, `name:window.pane` or an id: `@7` (pane), `@w5` (window), `@s3` (session).
 * After a name, a window is given by index or name, a pane by index; `name:` is the focused pane. An invalid target
 * gives session_not_found, like an unknown name: a lookup fails in only one way.
 */
export function parseTarget(given: string): Target {
  const text = normalName(given);
  if (text.startsWith("@")) {
    const [, letter = "", digits] = idPattern.exec(text) ?? [];
    const kind = idKinds[letter];
    if (digits !== undefined && kind !== undefined) return { kind, id: Number(digits) };
    throw notATarget(text, "an id is @s (session), @w (window) or @ (pane) and a decimal number");
  }

  const colon = text.indexOf(":");
  const name = colon === -1 ? text : text.slice(0, colon);
  if (!isSessionName(name)) throw notATarget(text, `${quote(name)} is not a session name`);
  if (colon === -1) return { kind: "session", name };

  const rest = text.slice(colon + 1);
  const dot = rest.lastIndexOf(".");
  const window = dot === -1 ? rest : rest.slice(0, dot);
  if (window === "" && dot === -1) return { kind: "session", name, window };
  if (!isSessionName(window)) throw notATarget(text, `${quote(window)} is not a window`);
  if (dot === -1) return { kind: "session", name, window };

  const pane = rest.slice(dot + 1);
  // A window's name may contain a dot.
  if (!indexPattern.test(pane) && !indexPattern.test(window) && isWindowName(rest)) {
    return { kind: "session", name, window: rest };
  }
  if (!indexPattern.test(pane)) throw notATarget(text, `${quote(pane)} is not a pane index`);
  return { kind: "session", name, window, pane: Number(pane) };
}

/** Returns the target as text that parseTarget reads. */
export function formatTarget(target: Target): string {
  switch (target.kind) {
    case "pane":
      return paneId(target.id);
    case "window_id":
      return windowId(target.id);
    case "session_id":
      return sessionId(target.id);
  }
  const window = target.window === undefined ? "" : `:${target.window}`;
  return `${target.name}${window}${target.pane === undefined ? "" : `.${target.pane}`}`;
}

/** The error for a target that does not exist in an instance. */
export function notFound(target: Target, instance: string): WshError {
  const what = target.kind === "pane" ? "pane" : target.kind === "window_id" ? "window" : "session";
  return new WshError("session_not_found", `no ${what} '${formatTarget(target)}' in instance '${instance}'`);
}

function notATarget(text: string, reason: string): WshError {
  return new WshError("session_not_found", `no session ${quote(text)}: ${reason}`);
}

/**
 * Returns the next number for an unnamed session: the smallest unused one from `next` on. The caller stores the result
 * plus one, so that no number is given twice.
 */
export function nextNumericName(next: number, isUsed: (name: string) => boolean): number {
  let candidate = next;
  while (isUsed(String(candidate))) candidate += 1;
  return candidate;
}

/** The number of a purely numeric name, null for any other name. */
export function numericName(name: string): number | null {
  return indexPattern.test(name) ? Number(name) : null;
}

/**
 * Returns a session name as a file name: a leading dot becomes %2E, so that no name is hidden, `.` or `..`, and % is
 * %25. On file systems that ignore case (`foldsCase`), upper case becomes %41 … %5A, or %{C9} outside of ASCII, because
 * session names are case-sensitive.
 */
export function encodeName(name: string, foldsCase: boolean): string {
  if (!foldsCase) return name.replace(/^\.|%/g, escaped);
  return [...name]
    .map((char, index) => (char === "%" || (index === 0 && char === ".") || folds(char) ? escaped(char) : char))
    .join("");
}

/** Whether a file system that ignores case treats the character as equal to another one. */
function folds(char: string): boolean {
  return char.toLowerCase() !== char || char.toUpperCase().toLowerCase() !== char;
}

function escaped(char: string): string {
  const hex = (char.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return hex.length === 2 && char < "\x7f" ? `%${hex}` : `%{${hex}}`;
}

/** Returns the session name that a file name encodes; null: encodeName cannot have produced it. */
export function decodeName(fileName: string): string | null {
  const name = fileName.replace(/%(?:(2[5E]|4[1-9A-F]|5[0-9A])|\{([0-9A-F]{2,6})\})|%/g, (_, ascii = "", other = "") =>
    ascii + other === "" || parseInt(other, 16) > 0x10ffff ? "\0" : String.fromCodePoint(parseInt(ascii + other, 16)),
  );
  return isSessionName(normalName(name)) ? normalName(name) : null;
}

function quote(text: string): string {
  return JSON.stringify(text.length > quotedLength ? `${text.slice(0, quotedLength)}…` : text);
}
