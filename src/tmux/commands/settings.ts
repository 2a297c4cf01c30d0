/** Commands on options and environments: reads them, sets them, and applies an option's effect in wsh. */
import type { OperationInput } from "../../operations/table.ts";
import { optionPrefix } from "../bindings/key-names.ts";
import { TmuxError } from "../error.ts";
import type { ResolvedTarget } from "../model.ts";
import {
  chainOf,
  checkedValue,
  hookKey,
  isDecoration,
  type OptionName,
  type OptionScope,
  optionAt,
  optionNamed,
  quotedValue,
  valueIn,
  valuesOf,
} from "../options/options.ts";
import { optionTable } from "../options/table.ts";
import type { Arguments } from "../parse/arguments.ts";
import { environmentOf, type Run } from "../run.ts";
import type { State } from "../state.ts";
import { type Command, command } from "./command.ts";
import { checkText } from "./shell.ts";
import { keepOf } from "./start.ts";

export const settingCommands: readonly Command[] = [
  command("set-option set", "aFgopqst:uUw", [1, 2], "[-aFgopqsuUw] [-t target-pane] option [value]", (run, args) =>
    setOption(run, args, false),
  ),
  command("set-window-option setw", "aFgoqt:u", [1, 2], "[-aFgoqu] [-t target-window] option [value]", (run, args) =>
    setOption(run, args, true),
  ),
  command("show-options show", "AgHpqst:vw", [0, 1], "[-AgHpqsvw] [-t target-pane] [option]", (run, args) =>
    show(run, args, false),
  ),
  command("show-window-options showw", "gvt:", [0, 1], "[-gv] [-t target-window] [option]", (run, args) =>
    show(run, args, true),
  ),
  command("set-hook", "agpRt:uw", [1, 2], "[-agpRuw] [-t target-pane] hook [command]", setHook),
  command("show-hooks", "gpt:w", [0, 1], "[-gpw] [-t target-pane] [hook]", (run, args) =>
    show(run, args.with("H"), false),
  ),
  command("set-environment setenv", "Fhgrt:u", [1, 2], "[-Fhgru] [-t target-session] name [value]", setEnvironment),
  command("show-environment showenv", "hgst:", [0, 1], "[-hgs] [-t target-session] [name]", showEnvironment),
];

/** The target's place; null if there is no such place, which matters only for values that are not global. */
async function placeFor(run: Run, args: Arguments): Promise<ResolvedTarget | null> {
  return run.place(args, "pane").catch(() => null);
}

function scopeOf(
  args: Arguments,
  option: OptionName | null,
  isWindow: boolean,
  place: ResolvedTarget | null,
): OptionScope {
  const target = args.get("t");
  const missing = (what: string): TmuxError =>
    new TmuxError(target === undefined ? `no current ${what}` : `no such ${what}: ${target}`);
  const kind = option?.kind;
  if (kind?.scope === "server" || (kind === undefined && args.has("s"))) return { kind: "server" };
  if (args.has("p") && (kind === undefined || kind.pane === true)) {
    if (place === null) throw missing("pane");
    return { kind: "own", level: "pane", id: place.pane.target };
  }
  if (kind?.scope === "window" || (kind === undefined && (isWindow || args.has("w")))) {
    if (args.has("g")) return { kind: "window" };
    if (place === null) throw missing("window");
    return { kind: "own", level: "window", id: place.window.target };
  }
  if (args.has("g")) return { kind: "session" };
  if (place === null) throw missing("session");
  return { kind: "own", level: "session", id: place.session.target };
}

async function setOption(run: Run, args: Arguments, isWindow: boolean): Promise<void> {
  const place = await placeFor(run, args);
  const optionName = await run.format(args.word(0) ?? "", place ?? {});
  const argument = args.word(1);
  const value = argument !== undefined && args.has("F") ? await run.format(argument, place ?? {}) : argument;
  let option: OptionName;
  let scope: OptionScope;
  try {
    option = optionNamed(optionName);
    scope = scopeOf(args, option, isWindow, place);
  } catch (thrown) {
    if (args.has("q")) return;
    throw thrown;
  }
  const { name, index, kind } = option;
  if (index !== null && kind?.list !== true) throw new TmuxError(`not an array: ${optionName}`);
  const { state } = await run.load();
  const currentValue = valuesOf(state, scope)[name];
  const isUnset = args.has("u") || args.has("U");
  if (args.has("o") && !isUnset && currentValue !== undefined) {
    if (args.has("q")) return;
    throw new TmuxError(`already set: ${optionName}`);
  }
  const before = valueIn(state, chainOf(scope, place), option) ?? "";
  const isOne = index !== null && currentValue !== undefined;
  const next =
    isUnset && isOne
      ? withoutEntry(currentValue, index)
      : isUnset
        ? undefined
        : changedValue(option, value, before, args.has("a"));
  const words = `set-option ${name}${value === undefined ? "" : ` ${quotedValue(value)}`}`;
  if (reaching.includes(name) && (scope.kind !== "own" || name === "prefix")) run.backend.requirePerson(words);
  else if (scope.kind !== "own") await run.backend.requireOwnSessions(words);
  else {
    const effect = place === null ? null : effectOf(stateWith(state, scope, name, next), name, scope, place);
    // If the option's operation concerns the same object, that operation needs the permission instead.
    const isAsked = effect !== null && (effect.operation === "window.update" || scope.level === "pane");
    if (!isAsked && !isDecoration(name, next)) await run.backend.requireOwn(scope.id, words);
    if (effect !== null) await run.backend.requireAll(effect.operation, effect.input, effect.targets);
  }
  if (name === "prefix" && next !== undefined) optionPrefix(next);
  const panes = place?.window.panes ?? [];
  const { agent } = run.backend;
  await run.change((changed) => {
    const values = valuesOf(changed, scope);
    if (next === undefined) delete values[name];
    else values[name] = next;
    if (kind?.type === "command") {
      const key = hookKey(scope, name, oneLine(value ?? ""));
      if (agent === null || next === undefined) delete changed.hookAgents[key];
      else changed.hookAgents[key] = agent;
    }
    if (args.has("U")) for (const { target } of panes) delete changed.own[target]?.[name];
  });
  if (kind?.type === "command") await run.hooksChanged();
  if (name === "prefix") run.hasNewKeys = true;
  await apply(run, name, scope, place);
}

/** Options that change the effect of commands by people and other callers. */
const reaching: readonly string[] = ["command-alias", "default-command", "default-shell", "prefix"];

/** A hook's command in its stored form. */
function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, " ");
}

/** Removes one value of a list; the other values keep their indexes. */
function withoutEntry(list: string, index: number): string | undefined {
  const lines = list.split("\n").map((line, i) => (i === index ? "" : line));
  return lines.every((line) => line === "") ? undefined : lines.join("\n");
}

function changedValue(
  { name, index, kind }: OptionName,
  argument: string | undefined,
  before: string,
  isAdded: boolean,
): string {
  if (kind === undefined || name.startsWith("@")) {
    if (argument === undefined) throw new TmuxError("empty value");
    return isAdded ? before + argument : argument;
  }
  if (kind.list === true) {
    if (argument === undefined) throw new TmuxError("empty value");
    const lines = before === "" ? [] : before.split("\n");
    if (index !== null) {
      while (lines.length <= index) lines.push("");
      const text = kind.type === "command" ? oneLine(argument) : argument;
      lines[index] = isAdded && kind.type !== "command" ? `${lines[index]}${text}` : text;
      return lines.join("\n");
    }
    if (kind.type === "command") return [...(isAdded ? lines : []), oneLine(argument)].join("\n");
    const added = argument.split(name === "update-environment" ? /[ ,]/ : ",").filter((each) => each !== "");
    return [...(isAdded ? lines : []), ...added].join("\n");
  }
  const isText = kind.type === "string" || kind.type === "style";
  const separator = kind.type === "style" && before !== "" ? "," : "";
  const text = isAdded && isText && argument !== undefined ? `${before}${separator}${argument}` : argument;
  return checkedValue(kind, text, before);
}

/** An operation of wsh that carries out an option. */
type Effect = { readonly targets: readonly string[] } & (
  | { readonly operation: "pane.update"; readonly input: OperationInput<"pane.update"> }
  | { readonly operation: "window.update"; readonly input: OperationInput<"window.update"> }
);

/**
 * The effect of an option in wsh; null: it is only stored. docs/tmux.md lists these options.
 * @param state with the option's new value
 */
function effectOf(
  state: State,
  name: string,
  scope: OptionScope,
  { session, window, pane }: ResolvedTarget,
): Effect | null {
  if (scope.kind !== "own") return null;
  const value = optionAt(state, scope.level === "pane" ? { session, window, pane } : { session, window }, name);
  if (name === "remain-on-exit") {
    const panes =
      scope.level === "pane" ? [pane] : window.panes.filter(({ target }) => state.own[target]?.[name] === undefined);
    const targets = panes.map(({ target }) => target);
    return { operation: "pane.update", input: { keep_after_exit: keepOf(value) }, targets };
  }
  const targets = [window.target];
  if (name === "synchronize-panes")
    return { operation: "window.update", input: { synchronized: value === "on" }, targets };
  if (name === "automatic-rename")
    return { operation: "window.update", input: { name: value === "on" ? null : window.info.name }, targets };
  return null;
}

/** The state after a change of an option. @param next undefined: it is unset */
function stateWith(state: State, scope: OptionScope, name: string, next: string | undefined): State {
  const changed = structuredClone(state);
  const values = valuesOf(changed, scope);
  if (next === undefined) delete values[name];
  else values[name] = next;
  return changed;
}

/** Applies an option's effect in wsh. */
async function apply(run: Run, name: string, scope: OptionScope, place: ResolvedTarget | null): Promise<void> {
  if (place === null) return;
  const effect = effectOf((await run.load()).state, name, scope, place);
  if (effect === null) return;
  for (const target of effect.targets) await run.backend.call(effect.operation, effect.input, target);
}

async function show(run: Run, args: Arguments, isWindow: boolean): Promise<void> {
  const place = await placeFor(run, args);
  const { state } = await run.load();
  const optionText = args.word(0);
  try {
    if (optionText === undefined) return await showAll(run, args, scopeOf(args, null, isWindow, place), place);
    const option = optionNamed(await run.format(optionText, place ?? {}));
    const scope = scopeOf(args, option, isWindow, place);
    const isGlobal = scope.kind !== "own";
    const own = valuesOf(state, scope)[option.name];
    const inherited = valueIn(state, chainOf(scope, place), option);
    const value = own ?? (isGlobal || args.has("A") ? inherited : undefined);
    if (value !== undefined) return await print(run, args, option, value, own === undefined && !isGlobal);
    if (option.kind === undefined) throw new TmuxError(`invalid option: ${optionText}`);
  } catch (thrown) {
    if (!args.has("q")) throw thrown;
  }
}

async function showAll(run: Run, args: Arguments, scope: OptionScope, place: ResolvedTarget | null): Promise<void> {
  const { state } = await run.load();
  const values = valuesOf(state, scope);
  for (const name of Object.keys(values)
    .filter((each) => each.startsWith("@"))
    .toSorted())
    await print(run, args, { name, index: null, kind: undefined }, values[name] ?? "", false);
  const level = scope.kind === "own" ? scope.level : scope.kind;
  const isHooks = args.has("H");
  for (const [name, kind] of Object.entries(optionTable)) {
    if ((kind.type === "command") !== isHooks) continue;
    if (level === "pane" ? kind.pane !== true : kind.scope !== level) continue;
    const isGlobal = scope.kind !== "own";
    const own = values[name];
    if (own === undefined && !isGlobal && !args.has("A")) continue;
    const option = { name, index: null, kind };
    await print(
      run,
      args,
      option,
      own ?? valueIn(state, chainOf(scope, place), option) ?? "",
      own === undefined && !isGlobal,
    );
  }
}

async function print(
  run: Run,
  args: Arguments,
  { name, index, kind }: OptionName,
  value: string,
  isInherited: boolean,
): Promise<void> {
  const one = (shown: string, text: string): Promise<void> => {
    if (args.has("v")) return run.print(text);
    const isText = kind === undefined || kind.type === "string" || kind.type === "style";
    return run.print(`${shown}${isInherited ? "*" : ""} ${isText ? quotedValue(text) : text}`);
  };
  if (kind?.list !== true) return one(name, value);
  const lines = value === "" ? [] : value.split("\n");
  if (index !== null && kind.type === "command" && (lines[index] ?? "") === "") return run.print(`${name}[${index}] `);
  if (index !== null) return lines[index] === undefined ? undefined : one(`${name}[${index}]`, lines[index] ?? "");
  if (lines.length === 0 && !args.has("v")) return run.print(`${name}${isInherited ? "*" : ""}`);
  for (const [i, line] of lines.entries()) if (line !== "" || kind.type !== "command") await one(`${name}[${i}]`, line);
}

async function setHook(run: Run, args: Arguments): Promise<void> {
  if (args.has("R") && args.word(0) === "wsh-event") return run.event();
  const { name, kind } = optionNamed(args.word(0) ?? "");
  if (kind?.type !== "command") throw new TmuxError(`invalid option: ${args.word(0)}`);
  if (args.has("R")) return run.runHook(name);
  const text = args.word(1);
  if (text === undefined) return setOption(run, args, args.has("w"));
  // The command is checked now, and stored as tmux prints it.
  const all = await checkText(run, text);
  const storedForm = all
    .map(([first = "", ...words]) => [run.commandNamed(first).name, ...words.map(quotedValue)].join(" "))
    .join(" ; ");
  await setOption(run, args.withWords([args.word(0) ?? "", storedForm]), args.has("w"));
}

async function setEnvironment(run: Run, args: Arguments): Promise<void> {
  const place = await placeFor(run, args);
  const [name = "", argument] = args.words;
  if (name === "") throw new TmuxError("empty variable name");
  if (name.includes("=")) throw new TmuxError("variable name contains =");
  const target = args.get("t");
  if (!args.has("g") && place === null)
    throw new TmuxError(target === undefined ? "no current session" : `no such session: ${target}`);
  if (args.has("u") && argument !== undefined) throw new TmuxError("can't specify a value with -u");
  if (args.has("r") && argument !== undefined) throw new TmuxError("can't specify a value with -r");
  if (!args.has("u") && !args.has("r") && argument === undefined) throw new TmuxError("no value specified");
  // The person is asked about the value itself, not about a format that may give another one later.
  const value = argument !== undefined && args.has("F") ? await run.format(argument, place ?? {}) : argument;
  const line = ["set-environment", ...["r", "u"].filter((flag) => args.has(flag)).map((flag) => `-${flag}`), name];
  // Panes that people make get the variable, including PATH.
  if (args.has("g") || place === null) run.backend.requirePerson("set-environment");
  else await run.backend.requireOwn(place.session.target, [...line, ...(value === undefined ? [] : [value])].join(" "));
  const session = place?.session.target ?? "";
  await run.change((state) => {
    const own = args.has("g") ? state.environment : (state.environments[session] ?? {});
    if (!args.has("g")) state.environments[session] = own;
    if (args.has("u") && !args.has("g")) delete own[name];
    else own[name] = { value: args.has("r") || args.has("u") ? null : (value ?? null), hidden: args.has("h") };
  });
}

async function showEnvironment(run: Run, args: Arguments): Promise<void> {
  const target = args.get("t");
  const place = await placeFor(run, args);
  if (!args.has("g") && place === null)
    throw new TmuxError(target === undefined ? "no current session" : `no such session: ${target}`);
  const { state } = await run.load();
  const variables = args.has("g") ? state.environment : (state.environments[place?.session.target ?? ""] ?? {});
  const global = args.has("g")
    ? Object.entries(run.backend.env).map(([name, value]) => [name, { value: value ?? null, hidden: false }] as const)
    : [];
  const all = new Map([...global, ...Object.entries(variables)]);
  const name = args.word(0);
  const one = name === undefined ? undefined : all.get(name);
  if (name !== undefined && one === undefined) throw new TmuxError(`unknown variable: ${name}`);
  const printed =
    name === undefined || one === undefined
      ? [...all].toSorted(([a], [b]) => (a < b ? -1 : 1))
      : ([[name, one]] as const);
  for (const [each, { value, hidden }] of printed) {
    if (hidden !== args.has("h")) continue;
    const effective = value ?? environmentOf(state, undefined, each, {});
    if (args.has("s")) {
      await run.print(
        effective === undefined
          ? `unset ${each};`
          : `${each}="${effective.replace(/[$`"\\]/g, "\\$&")}"; export ${each};`,
      );
    } else await run.print(effective === undefined ? `-${each}` : `${each}=${effective}`);
  }
}
