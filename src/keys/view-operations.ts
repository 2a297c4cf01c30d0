/** The operations of an attached terminal itself, with their parameters, for keys, the palette and menus. Pure. */
import { WshError } from "../protocol/errors.ts";
import { jsonOrNull } from "../protocol/json.ts";
import { TARGET_PARAMETER } from "./line.ts";

type ViewParameterKind = "text" | "number" | "flag" | "words" | readonly string[];

interface ViewParameter {
  readonly kind: ViewParameterKind;
  readonly description: string;
  readonly required?: true;
}

interface ViewOperationFacts {
  readonly description: string;
  readonly parameters?: Readonly<Record<string, ViewParameter>>;
}

/** By name. */
const viewOperations = {
  "view.detach": { description: "detach" },
  "view.copy_mode": { description: "copy mode" },
  "view.windows": { description: "sessions, windows, panes" },
  "view.sessions": { description: "sessions" },
  "view.agents": { description: "agents that need you" },
  "view.paste": { description: "paste the newest copy" },
  "view.paste_image": { description: "paste the image in the terminal's clipboard" },
  "view.buffers": { description: "choose what to paste" },
  "view.keys": { description: "all keys" },
  "view.send_prefix": { description: "send the prefix key" },
  "view.command": { description: "command palette" },
  "view.go": {
    description: "go to a session, window or pane",
    parameters: {
      [TARGET_PARAMETER]: { kind: "text", description: "the session, window or pane to go to", required: true },
    },
  },
  "view.ask": {
    description: "ask for a text and run a line with it",
    parameters: {
      do: { kind: "text", description: "the line; %% stands for the answer", required: true },
      question: { kind: "text", description: "the question", required: true },
      prepared: { kind: "text", description: "the answer to begin with; session: the session's name" },
    },
  },
  "view.session": {
    description: "go to another session",
    parameters: {
      to: { kind: ["next", "previous", "last"], description: "by name, or the one attached last", required: true },
    },
  },
  "view.alert": {
    description: "go to a window that needs you",
    parameters: { to: { kind: ["next", "previous"], description: "in the order of windows", required: true } },
  },
  "view.pane_numbers": { description: "pane numbers" },
  "view.clients": { description: "attached terminals" },
  "view.find": {
    description: "find a window",
    parameters: { text: { kind: "text", description: "in names, titles and screens of the session", required: true } },
  },
  "view.mark": { description: "mark the pane (toggle)" },
  "view.unmark": { description: "clear the mark" },
  "view.swap_marked": { description: "swap the pane with the marked one" },
  "view.join_marked": { description: "move the marked pane here" },
  "view.info": { description: "show session, window and pane" },
  "view.redraw": { description: "redraw the terminal" },
  "view.menu": {
    description: "menu",
    parameters: { of: { kind: ["pane", "window", "session"], description: "of what", required: true } },
  },
  "view.table": {
    description: "read the next key in another table",
    parameters: {
      table: { kind: "text", description: "the table, [keys.NAME] of the settings", required: true },
      timeout: { kind: "number", description: "time until it ends, in ms (default: none)" },
      stay: { kind: "flag", description: "stay until a key that is not in the table, instead of for one key" },
    },
  },
  "view.run": {
    description: "run a program outside of the panes",
    parameters: {
      run: { kind: "words", description: "the program and its arguments" },
      shell: { kind: "text", description: "the same as a line of sh" },
    },
  },
} as const satisfies Readonly<Record<string, ViewOperationFacts>>;

export type ViewOperation = keyof typeof viewOperations;
const facts: Readonly<Record<ViewOperation, ViewOperationFacts>> = viewOperations;

export const viewOperationNames = Object.keys(viewOperations) as readonly ViewOperation[];

export function isViewOperation(name: string): name is ViewOperation {
  return Object.hasOwn(viewOperations, name);
}

export function describeViewOperation(operation: ViewOperation): string {
  return facts[operation].description;
}

export function viewParameters(operation: ViewOperation): Readonly<Record<string, ViewParameter>> {
  return facts[operation].parameters ?? {};
}

/**
 * Parameters as values: text of a line is converted.
 * @throws WshError invalid_request
 */
export function parseViewInput(
  operation: ViewOperation,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const parameters = viewParameters(operation);
  const names = Object.keys(parameters);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(parameters, name)) continue;
    const message =
      names.length === 0 ? `${operation} takes no parameters` : `'${operation}' has no parameter '${name}'`;
    throw new WshError("invalid_request", message);
  }
  const input: Record<string, unknown> = {};
  for (const [name, { kind, required }] of Object.entries(parameters)) {
    const value = given[name];
    if (value !== undefined && value !== "") input[name] = parseParameter(`${operation}: '${name}'`, kind, value);
    else if (required === true) throw new WshError("invalid_request", `${operation} needs ${name}=NAME`);
  }
  if (operation === "view.run" && (input.run === undefined) === (input.shell === undefined))
    throw new WshError("invalid_request", "view.run needs either run=PROGRAM,ARGUMENT or shell=LINE");
  return input;
}

function parseParameter(where: string, kind: ViewParameterKind, value: unknown): unknown {
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
    const words = typeof value === "string" ? parseWords(value) : value;
    const isList = Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === "string");
    if (!isList || words[0] === "") throw refuse("a program and its arguments");
    return words;
  }
  if (typeof value !== "string") throw refuse("text");
  if (kind !== "text" && !kind.includes(value)) throw refuse(`one of ${kind.join(", ")}`);
  return value;
}

/** `a,b`, or a list in JSON. */
function parseWords(text: string): unknown {
  if (!text.startsWith("[")) return text.split(",");
  return jsonOrNull(text);
}
