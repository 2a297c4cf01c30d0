/** Conditions that `waitFor` takes, in a program's form and in the operations' form. Pure. */
import type { OperationOutput } from "../../operations/table.ts";
import type { ConditionInput } from "../../protocol/conditions.ts";
import { WshError } from "../../protocol/errors.ts";
import { requireNumber } from "./options.ts";
import { printedAs } from "./printing.ts";
import type { Screen } from "./screen.ts";

/** With several conditions, the first one that holds ends the wait. */
export interface Awaited {
  readonly prompt?: boolean;
  /** Text on the screen now, or printed from now on. */
  readonly text?: string;
  readonly regex?: RegExp | string;
  /** Silence in ms. */
  readonly idle?: number;
  readonly port?: number;
  readonly exit?: boolean;
  /** The last command that ran here has ended. */
  readonly finished?: boolean;
  /** The program reads a line. */
  readonly input?: boolean;
  readonly password?: boolean;
  readonly fullscreen?: boolean;
  readonly agent?: "working" | "idle" | "needs_input";
  /** A verdict on a screen, asked of each, however briefly it is shown. */
  readonly screen?: (screen: Screen) => boolean;
}

/** A match with its groups, like a RegExp's. */
export type Matched = (string | null)[] & { readonly text: string; readonly cursor: number };

/** @throws WshError invalid_request: it is neither a text nor a pattern to wait for */
export function conditionOf(what: string | RegExp) {
  if (!(what instanceof RegExp) && (typeof what !== "string" || what === "")) {
    const given = what === "" ? "an empty text" : String(what);
    throw new WshError("invalid_request", `give a text or a regular expression, not ${given}`, { hint: "" });
  }
  if (typeof what === "string") return { type: "text" as const, text: what };
  const flags = what.flags.replace(/[^imsu]/g, "");
  return { type: "regex" as const, pattern: sourceOf(what), ...(flags === "" ? {} : { flags }) };
}

export function conditionsOf(wanted: Awaited): ConditionInput[] {
  const { text, regex, idle, port, agent } = wanted;
  for (const [name, value] of [
    ["idle", idle],
    ["port", port],
  ] as const)
    if (value !== undefined) requireNumber(name, value);
  return [
    ...(wanted.prompt === true ? (["prompt"] as const) : []),
    ...(wanted.exit === true ? (["exited"] as const) : []),
    ...(wanted.finished === true ? (["command_finished"] as const) : []),
    ...(wanted.input === true ? (["waiting_for_input"] as const) : []),
    ...(wanted.password === true ? (["password"] as const) : []),
    ...(wanted.fullscreen === true ? (["fullscreen"] as const) : []),
    ...(text === undefined ? [] : [conditionOf(text)]),
    ...(regex === undefined ? [] : [conditionOf(new RegExp(regex))]),
    ...(idle === undefined ? [] : [{ type: "idle" as const, ms: idle }]),
    ...(port === undefined ? [] : [{ type: "port" as const, port }]),
    ...(agent === undefined ? [] : [{ type: "agent" as const, state: agent }]),
  ];
}

const states = new Set(["prompt", "exit", "finished", "input", "password", "fullscreen"]);

/** A word that names a state stands for that state; any other is a text to wait for. */
export function named(what: string): Awaited {
  return states.has(what) ? { [what]: true } : { text: what };
}

export function matched({ match = "", groups = [], output_cursor = 0 }: OperationOutput<"wait">): Matched {
  const found = Object.assign([match, ...groups], { text: match, cursor: output_cursor });
  return printedAs(found, () => [...found]);
}

export function patternOf(grep: string | RegExp): string {
  if (typeof grep === "string") return grep;
  const flags = grep.flags.replace(/[^ims]/g, "");
  return flags === "" ? sourceOf(grep) : `(?${flags})${sourceOf(grep)}`;
}

/** A character by its number, in one or two parts; any other escape. */
const ESCAPE = /\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u\{([0-9a-f]+)\}|\\u([0-9a-f]{4})|\\[\s\S]/gi;

/** The source as RE2 writes it: `\x{3c0}`, where Bun writes `\u03c0` for all that is not ASCII. */
function sourceOf({ source }: RegExp): string {
  return source.replace(ESCAPE, (all, high?: string, low?: string, braced?: string, code = braced) => {
    const pair = `"\\u${high}\\u${low}"`;
    if (high !== undefined) return `\\x{${String(JSON.parse(pair)).codePointAt(0)?.toString(16)}}`;
    return code === undefined ? all : `\\x{${code}}`;
  });
}

/** @throws WshError invalid_request: the verdict would always count as true */
export function passes(test: NonNullable<Awaited["screen"]>, screen: Screen): boolean {
  const verdict: unknown = test(screen);
  if (verdict instanceof Promise)
    throw new WshError("invalid_request", "the function of 'screen' must not be async: it judges the given screen", {
      hint: "",
    });
  return Boolean(verdict);
}
