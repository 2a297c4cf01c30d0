/** The operations of an attached terminal itself, with their parameters, for keys, the palette and menus. Pure. */
import { WshError } from "../protocol/errors.ts";
import { TARGET_PARAMETER } from "./line.ts";

export type ViewParameterKind = "text" | "number" | "flag" | "words" | readonly string[];

export interface ViewParameter {
  readonly kind: ViewParameterKind;
  readonly says: string;
  readonly required?: true;
}

interface ViewOperationFacts {
  readonly says: string;
  readonly parameters?: Readonly<Record<string, ViewParameter>>;
}

/** By name. */
const table = {
  "view.detach": { says: "detach" },
  "view.look_back": { says: "copy mode" },
  "view.windows": { says: "sessions, windows, panes" },
  "view.sessions": { says: "sessions" },
  "view.agents": { says: "agents that need you" },
  "view.paste": { says: "paste the newest copy" },
  "view.buffers": { says: "choose what to paste" },
  "view.keys": { says: "all keys" },
  "view.send_prefix": { says: "send the prefix key" },
  "view.command": { says: "command palette" },
  "view.go": {
    says: "go to a session, window or pane",
    parameters: { [TARGET_PARAMETER]: { kind: "text", says: "the session, window or pane to go to", required: true } },
  },
  "view.ask": {
    says: "ask for a text, and run a line with it",
    parameters: {
      do: { kind: "text", says: "the line, in which %% is the answer", required: true },
      says: { kind: "text", says: "the question", required: true },
      prepared: { kind: "text", says: "the answer to begin with; session: the session's name" },
    },
  },
  "view.session": {
    says: "go to another session",
    parameters: {
      to: { kind: ["next", "previous", "last"], says: "by name, or the one attached last", required: true },
    },
  },
  "view.alert": {
    says: "go to a window that needs you",
    parameters: { to: { kind: ["next", "previous"], says: "in the order of windows", required: true } },
  },
  "view.pane_numbers": { says: "pane numbers" },
  "view.clients": { says: "attached terminals" },
  "view.find": {
    says: "find a window",
    parameters: { text: { kind: "text", says: "in names, titles and screens of the session", required: true } },
  },
  "view.mark": { says: "mark the pane (toggle)" },
  "view.unmark": { says: "clear the mark" },
  "view.swap_marked": { says: "swap the pane with the marked one" },
  "view.join_marked": { says: "move the marked pane here" },
  "view.info": { says: "show session, window and pane" },
  "view.redraw": { says: "redraw the terminal" },
  "view.menu": {
    says: "menu",
    parameters: { of: { kind: ["pane", "window", "session"], says: "of what", required: true } },
  },
  "view.table": {
    says: "read the next key in another table",
    parameters: {
      table: { kind: "text", says: "the table, [keys.NAME] of the settings", required: true },
      timeout: { kind: "number", says: "time until it is left, in ms (default: none)" },
      stay: { kind: "flag", says: "stay until a key that is not in the table, instead of for one key" },
    },
  },
  "view.run": {
    says: "run a program outside of the panes",
    parameters: {
      run: { kind: "words", says: "the program and its arguments" },
      shell: { kind: "text", says: "the same as a line of sh" },
    },
  },
} as const satisfies Readonly<Record<string, ViewOperationFacts>>;

export type ViewOperation = keyof typeof table;
const facts: Readonly<Record<ViewOperation, ViewOperationFacts>> = table;

export const viewOperationNames = Object.keys(table) as readonly ViewOperation[];

export function isViewOperation(name: string): name is ViewOperation {
  return Object.hasOwn(table, name);
}

export function viewSays(operation: ViewOperation): string {
  return facts[operation].says;
}

export function viewParameters(operation: ViewOperation): Readonly<Record<string, ViewParameter>> {
  return facts[operation].parameters ?? {};
}

/**
 * Parameters as values: text of a line is converted.
 * @throws WshError invalid_request
 */
export function viewInput(
  operation: ViewOperation,
  written: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const known = viewParameters(operation);
  const names = Object.keys(known);
  for (const name of Object.keys(written)) {
    if (Object.hasOwn(known, name)) continue;
    const none = names.length === 0 ? `${operation} takes no parameters` : `'${operation}' has no parameter '${name}'`;
    throw new WshError("invalid_request", none);
  }
  const input: Record<string, unknown> = {};
  for (const [name, { kind, required }] of Object.entries(known)) {
    const value = written[name];
    if (value !== undefined && value !== "") input[name] = parameterValue(`${operation}: '${name}'`, kind, value);
    else if (required === true) throw new WshError("invalid_request", `${operation} needs ${name}=NAME`);
  }
  if (operation === "view.run" && (input.run === undefined) === (input.shell === undefined))
    throw new WshError("invalid_request", "view.run needs either run=PROGRAM,ARGUMENT or shell=LINE");
  return input;
}

function parameterValue(where: string, kind: ViewParameterKind, value: unknown): unknown {
  const refuse = (expected: string): WshError =>
    new WshError("invalid_request", `${where} is ${JSON.stringify(value)}, expected ${expected}`);
  if (kind === "number") {
    const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
    if (typeof number !== "number" || !Number.isInteger(number) || number < 0) throw refuse("a number");
    return number;
  }
  if (kind === "flag") {
    if (value === true || value === "true") return true;
    if (value === false || value === "false") return false;
    throw refuse("true or false");
  }
  if (kind === "words") {
    const words = typeof value === "string" ? wordsIn(value) : value;
    const isList = Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === "string");
    if (!isList || words[0] === "") throw refuse("a program and its arguments");
    return words;
  }
  if (typeof value !== "string") throw refuse("text");
  if (kind !== "text" && !kind.includes(value)) throw refuse(`one of ${kind.join(", ")}`);
  return value;
}

/** `a,b`, or a list in JSON. */
function wordsIn(text: string): unknown {
  if (!text.startsWith("[")) return text.split(",");
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
