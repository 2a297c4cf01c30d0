/**
 * Options: their scopes, their valid values, and the effective value for a session, window or pane. Their effects in
 * wsh are in commands/settings.ts. Pure; the state holds the values.
 */
import { TmuxError } from "../error.ts";
import { colorHex } from "../formats/colors.ts";
import { keyNamed } from "../keys.ts";
import type { ResolvedTarget } from "../model.ts";
import type { State } from "../state.ts";
import type { OptionKind } from "./kind.ts";
import { optionTable } from "./table.ts";

/** Highest index in a list: all lower indexes are stored. */
const MOST_INDEX = 9_999;

/** The scope that holds a value. */
export type OptionScope =
  | { readonly kind: "server" | "session" | "window" }
  | { readonly kind: "own"; readonly level: "session" | "window" | "pane"; readonly id: string };

export interface OptionName {
  readonly name: string;
  /** `[3]`; null: the whole list. */
  readonly index: number | null;
  /** Undefined for a user option, `@name`. */
  readonly kind: OptionKind | undefined;
}

/** Finds an option by its name or an unambiguous beginning. @throws TmuxError `invalid option: x` */
export function optionNamed(text: string): OptionName {
  const [, name = "", digits] = /^([^[]*)(?:\[(\d+)\])?$/.exec(text) ?? [];
  const index = digits === undefined ? null : Number(digits);
  if (/^@./.test(name)) return { name, index, kind: undefined };
  const names = Object.hasOwn(optionTable, name)
    ? [name]
    : Object.keys(optionTable).filter((each) => each.startsWith(name));
  const [only] = names;
  if (name === "" || only === undefined) throw new TmuxError(`invalid option: ${text}`);
  if (index !== null && index > MOST_INDEX) throw new TmuxError(`invalid option: ${text}: at most [${MOST_INDEX}]`);
  if (names.length > 1) throw new TmuxError(`ambiguous option: ${text}`);
  return { name: only, index, kind: optionTable[only] };
}

/** The values set in a scope itself. */
export function valuesOf(state: State, scope: OptionScope): Record<string, string> {
  if (scope.kind !== "own") return state[scope.kind];
  const ownValues = state.own[scope.id] ?? {};
  state.own[scope.id] = ownValues;
  return ownValues;
}

/** The scopes in which a value is looked up, nearest first. */
export function chainOf(scope: OptionScope, place: ResolvedTarget | null): readonly OptionScope[] {
  if (scope.kind !== "own") return [scope];
  if (scope.level === "session") return [scope, { kind: "session" }];
  const window: OptionScope[] = place === null ? [] : [{ kind: "own", level: "window", id: place.window.target }];
  return scope.level === "window" ? [scope, { kind: "window" }] : [scope, ...window, { kind: "window" }];
}

/** The effective value; undefined for a user option that is not set. */
export function valueIn(state: State, scopes: readonly OptionScope[], { name, kind }: OptionName): string | undefined {
  for (const scope of scopes) {
    const values = scope.kind === "own" ? state.own[scope.id] : state[scope.kind];
    const value = values?.[name];
    if (value !== undefined) return value;
  }
  return kind?.value;
}

/** The value that a format reads by an option's name at a place. */
export function optionAt(state: State, place: Partial<ResolvedTarget>, name: string): string | undefined {
  if (!/^[@a-z]/.test(name)) return undefined;
  const kind = name.startsWith("@") ? undefined : optionTable[name];
  if (kind === undefined && !name.startsWith("@")) return undefined;
  return valueIn(state, scopesAt(place, kind), { name, index: null, kind });
}

/** The effective commands of a hook at a place, with the AI agent that set each. */
export function hookAt(
  state: State,
  place: Partial<ResolvedTarget>,
  name: string,
): { text: string; agent: string | null }[] {
  const scope = scopesAt(place, optionTable[name]).find((each) => valuesOf(state, each)[name] !== undefined);
  if (scope === undefined) return [];
  const texts = valuesOf(state, scope)[name]?.split("\n") ?? [];
  return texts.flatMap((text) =>
    text === "" ? [] : [{ text, agent: state.hookAgents[hookKey(scope, name, text)] ?? null }],
  );
}

/** Options that agent teams set on windows and panes: wsh keeps them, and they have no effect in it. */
const decorations: ReadonlySet<string> = new Set([
  ...["pane-border-format", "pane-border-indicators", "pane-border-lines", "pane-border-status"],
  ...["pane-border-style", "pane-active-border-style", "window-style", "window-active-style"],
]);
/** Parts of a format that only name a fact or a style: nothing in them is run or expanded again. */
const plainPart = /#\{[a-z_]+\}|#\[[^\]#]*\]|#[A-Za-z]/g;

/** Whether an agent may set the option in a person's window without a question. @param value undefined: unset */
export function isDecoration(name: string, value: string | undefined): boolean {
  return decorations.has(name) && !(value ?? "").replace(plainPart, "").includes("#");
}

/** The key under which the state records the agent that set a hook's command. */
export function hookKey(scope: OptionScope, name: string, text: string): string {
  return `${scope.kind === "own" ? scope.id : scope.kind} ${name} ${text}`;
}

function scopesAt(place: Partial<ResolvedTarget>, kind: OptionKind | undefined): readonly OptionScope[] {
  const own = (level: "session" | "window" | "pane", id: string | undefined): OptionScope[] =>
    id === undefined ? [] : [{ kind: "own", level, id }];
  const panes: OptionScope[] = [
    ...own("pane", place.pane?.target),
    ...own("window", place.window?.target),
    { kind: "window" },
  ];
  const sessions: OptionScope[] = [...own("session", place.session?.target), { kind: "session" }];
  const server: OptionScope = { kind: "server" };
  if (kind === undefined) return [...panes, ...sessions, server];
  return kind.scope === "server" ? [server] : kind.scope === "session" ? sessions : panes;
}

/**
 * The stored form of a value. @param value undefined: toggles the value
 * @param before the value until now @throws TmuxError in tmux's words
 */
export function checkedValue(kind: OptionKind, value: string | undefined, before: string): string {
  if (kind.type === "flag") return flag(value, before);
  if (kind.type === "choice") {
    const choices = kind.choices ?? [];
    if (value === undefined)
      return choices.indexOf(before) === 0
        ? (choices[1] ?? "")
        : choices.indexOf(before) === 1
          ? (choices[0] ?? "")
          : before;
    if (!choices.includes(value)) throw new TmuxError(`unknown value: ${value}`);
    return value;
  }
  if (value === undefined) throw new TmuxError("empty value");
  if (kind.type === "number") {
    const [least, most] = kind.range ?? [0, Number.MAX_SAFE_INTEGER];
    const wrong = numberFault(value, least, most);
    if (wrong !== null) throw new TmuxError(`value is ${wrong}: ${value}`);
    return String(Number(value));
  }
  if (kind.type === "colour" && !isColor(value)) throw new TmuxError(`bad colour: ${value}`);
  if (kind.type === "key" && keyNamed(value) === null && !/^none$/i.test(value))
    throw new TmuxError(`bad key: ${value}`);
  if (kind.type === "style" && !value.includes("#{") && !isStyle(value)) throw new TmuxError(`invalid style: ${value}`);
  return value;
}

/** tmux's error for a number; null: it is valid. */
export function numberFault(text: string, least: number, most: number): "invalid" | "too small" | "too large" | null {
  if (!/^\s*[+-]?\d+$/.test(text)) return "invalid";
  const value = Number(text);
  return value < least ? "too small" : value > most ? "too large" : null;
}

function flag(given: string | undefined, before: string): string {
  if (given === undefined || given === "") return before === "on" ? "off" : "on";
  if (/^(1|on|yes)$/i.test(given)) return "on";
  if (/^(0|off|no)$/i.test(given)) return "off";
  throw new TmuxError(`bad value: ${given}`);
}

function isColor(text: string): boolean {
  return /^(default|terminal|none)$/i.test(text) || colorHex(text) !== "";
}

const attributes =
  /^(no)?(acs|bright|bold|dim|underscore|blink|reverse|hidden|italics|strikethrough|double-underscore|curly-underscore|dotted-underscore|dashed-underscore|overline|attr)$/i;
const words = /^(default|ignore|noignore|push-default|pop-default|nolist|norange|noalign|none)$/i;

function isStyle(text: string): boolean {
  return text.split(/[ ,\n]+/).every((part) => {
    if (part === "" || words.test(part)) return true;
    const [, key, value = ""] = /^(fg|bg|us|fill|align|list|range)=(.*)$/i.exec(part) ?? [];
    if (key === undefined) return part.split("|").every((each) => attributes.test(each));
    return /^(fg|bg|us|fill)$/i.test(key) ? isColor(value) : value !== "";
  });
}

/** Quotes a value as tmux lists it. */
export function quotedValue(value: string): string {
  if (value === "") return "''";
  const quote = /[ #';${}%]/.test(value) ? '"' : /[ "]/.test(value) ? "'" : "";
  if (value.length === 1 && value !== " " && (quote !== "" || value === "~")) return `\\${value}`;
  const escaped = value
    .replace(/\\/g, "\\\\")
    .replace(/\n/g, "\\n")
    .replace(/\t/g, "\\t")
    .replace(/\x1b/g, "\\033")
    .replace(/\$(?=[A-Za-z_{])/g, "\\$");
  if (quote === '"') return `"${escaped.replace(/"/g, '\\"')}"`;
  if (quote === "'") return `'${escaped}'`;
  return escaped.startsWith("~") ? `\\${escaped}` : escaped;
}
