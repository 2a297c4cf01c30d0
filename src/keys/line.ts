/**
 * A line with an operation and its parameters: `pane.split direction=down command="make test"`. The settings bind keys
 * to such lines, and the command palette takes them. `session` names an operation's target, the focused pane by
 * default. Pure; operations/line-input.ts reads the operations' own parameters.
 */
import { WshError } from "../protocol/errors.ts";

/** Name of the parameter for an operation's target. */
export const TARGET_PARAMETER = "session";

/** A word of a line and its place there, with its quotation marks. */
export interface Word {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

export interface Words {
  readonly words: readonly Word[];
  /** The quotation mark that is not closed; empty: none. */
  readonly open: string;
}

/** The words of a line; quotation marks of either kind keep blanks together. */
export function splitWords(line: string): Words {
  const words: Word[] = [];
  let text: string | null = null;
  let from = 0;
  let open = "";
  for (let index = 0; index < line.length; index++) {
    const char = line[index] ?? "";
    if (text === null && !/\s/.test(char)) {
      text = "";
      from = index;
    }
    if (open !== "") {
      if (char === open) open = "";
      else text += char;
    } else if (char === '"' || char === "'") open = char;
    else if (!/\s/.test(char)) text += char;
    else if (text !== null) {
      words.push({ text, from, to: index });
      text = null;
    }
  }
  return { words: text === null ? words : [...words, { text, from, to: line.length }], open };
}

export interface CommandLine {
  readonly operation: string;
  /** As they are written, by their names. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** @throws WshError invalid_request */
export function parseCommandLine(line: string): CommandLine {
  const { words, open } = splitWords(line);
  if (open !== "") throw new WshError("invalid_request", `unterminated quotation mark ${open}`);
  const [operation, ...rest] = words;
  if (operation === undefined) throw new WshError("invalid_request", "the operation is missing");
  const parameters: Record<string, string> = {};
  for (const { text } of rest) {
    const index = text.indexOf("=");
    if (index <= 0) throw new WshError("invalid_request", `'${text}' is not NAME=VALUE`);
    const name = text.slice(0, index);
    if (Object.hasOwn(parameters, name)) throw new WshError("invalid_request", `'${name}' is given twice`);
    parameters[name] = text.slice(index + 1);
  }
  return { operation: operation.text, parameters };
}

/** A value as a word of a line. */
export function quoteValue(value: string): string {
  if (/^[^\s"']+$/.test(value)) return value;
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}
