/**
 * One run of `wsh tmux`: its commands one after the other, each with the sessions of that moment. A command that
 * fails prints tmux's words and ends the run with status 1, as in tmux; what was done before stays done.
 */
import { WshError } from "../protocol/errors.ts";
import type { Backend } from "./backend.ts";
import { TmuxError } from "./error.ts";
import { gatherFacts } from "./facts.ts";
import { expand, type FormatScope } from "./formats/expand.ts";
import { argumentVariables, placeVariables } from "./formats/hook-variables.ts";
import { type Around, type FormatFacts, variable } from "./formats/variables.ts";
import { Model, type Place, placeOf } from "./model.ts";
import { eventsOfHooks, hookBehind, hooksOfEvent } from "./options/hooks.ts";
import { hookAt, optionAt } from "./options/options.ts";
import { optionTable } from "./options/table.ts";
import { type Arguments, orderedWords, parseArguments, type Syntax } from "./parse/arguments.ts";
import { prune, type State } from "./state.ts";
import { type TargetKind, Targets } from "./targets.ts";

/** Extra variables of a format: those of a buffer, a command. */
export type ExtraVariables = Readonly<Record<string, string>>;

/** What a command of tmux is here: what it takes, and what it does by wsh's operations. */
export interface Command extends Syntax {
  readonly name: string;
  readonly alias?: string;
  readonly usage: string;
  /** It needs no session. */
  readonly starts?: true;
  run(run: Run, args: Arguments): Promise<void>;
}

/** Is told of each command of a run, for a client that gets the answers in blocks. */
interface Guard {
  begin(): void;
  end(isGood: boolean): void;
}

export class Run {
  /** Status of the process when nothing fails. */
  status = 0;
  /** A configuration is read before the first session is there. */
  isStarting = false;
  /** What commands of this run without a target mean from now on: what a command before them made. */
  private made: string | null = null;
  /** The pane that the command in work has made, which its hook is about. */
  private fresh: string | null = null;
  /** What formats say of the hook that is carried out. */
  private hooked: ExtraVariables | null = null;
  /** Keys were bound or unbound; terminals learn of it once the commands have ended. */
  hasNewKeys = false;
  /** It carries out what wsh itself has asked for: nothing is behind that. */
  isOwn = false;
  /** Files that are being read, one in the other. */
  files = 0;
  private depth = 0;
  private loaded: { readonly model: Model; readonly state: State } | null = null;

  constructor(
    readonly backend: Backend,
    /** Every command, by name. */
    readonly table: readonly Command[],
    private readonly guarded: Guard | null = null,
  ) {}

  private get guard(): Guard | null {
    return this.hooked === null ? this.guarded : null;
  }

  /** Runs commands in order. @returns false after one that failed */
  async commands(all: readonly (readonly string[])[]): Promise<boolean> {
    this.depth++;
    try {
      return await this.inOrder(all);
    } finally {
      this.depth--;
      if (this.depth === 0 && this.hasNewKeys) {
        this.hasNewKeys = false;
        await this.backend.keysChanged();
      }
    }
  }

  private async inOrder(all: readonly (readonly string[])[]): Promise<boolean> {
    try {
      // As tmux reads a whole line before it does anything.
      for (const words of all) this.parsed(words);
    } catch (thrown) {
      this.guard?.begin();
      return this.failed(`${this.guard === null ? "" : "parse error: "}${messageOf(thrown)}`);
    }
    for (const words of all) {
      this.guard?.begin();
      try {
        await this.command(words);
      } catch (thrown) {
        return this.failed(messageOf(thrown));
      }
      this.guard?.end(true);
    }
    return true;
  }

  private async failed(message: string): Promise<false> {
    await this.backend.complain(message);
    this.guard?.end(false);
    this.status = 1;
    return false;
  }

  /** A command with its arguments; aliases are those of the option. @throws TmuxError */
  private parsed([name = "", ...words]: readonly string[]): { readonly command: Command; readonly args: Arguments } {
    const aliases = optionAt(this.backend.readState(), {}, "command-alias")?.split("\n") ?? [];
    const alias = aliases.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
    const [real = name, ...given] = alias?.split(/\s+/) ?? [];
    const command = this.commandNamed(real);
    return { command, args: parseArguments(command.name, command, [...given, ...words]) };
  }

  /** @throws TmuxError `unknown command: x`, `ambiguous command: x, could be: …` */
  commandNamed(name: string): Command {
    const exact = this.table.find((each) => each.name === name || each.alias === name);
    if (exact !== undefined) return exact;
    const found = this.table.filter((each) => each.name.startsWith(name));
    const [only] = found;
    if (name === "" || only === undefined) throw new TmuxError(`unknown command: ${name}`);
    if (found.length === 1) return only;
    throw new TmuxError(`ambiguous command: ${name}, could be: ${found.map((each) => each.name).join(", ")}`);
  }

  private async command(words: readonly string[]): Promise<void> {
    const { command, args } = this.parsed(words);
    this.loaded = null;
    if (command.starts !== true && !this.isStarting) {
      const { model } = await this.load();
      if (model.sessions.length === 0) throw new TmuxError(`no server running on ${this.backend.socketPath}`);
    }
    const behind = hookBehind(command.name);
    const isHooked = behind !== null && isHookSet(this.backend.readState(), behind);
    const target = isHooked ? await this.targetOf(command, args) : null;
    this.fresh = null;
    await command.run(this, args);
    if (!isHooked || this.isOwn) return;
    const { model } = await this.refresh();
    const pane = this.fresh ?? target?.pane.target ?? "";
    await this.hook(behind, model.findPane(pane) ?? this.currentIn(model) ?? {}, argumentVariables(command, args));
  }

  /** The place that a command's target means; null: none. */
  private async targetOf({ usage }: Command, args: Arguments): Promise<Place | null> {
    const [, kind = "pane"] = /-t (?:target|dst)-(pane|window|session)/.exec(usage) ?? [];
    return this.place(args, kind as TargetKind).catch(() => null);
  }

  /** A command with its full name and its flags in order, as tmux keeps it. @throws TmuxError */
  canonical(words: readonly string[]): string[] {
    const { command, args } = this.parsed(words);
    return [command.name, ...orderedWords(command, args)];
  }

  /** @throws TmuxError as the command would without being carried out */
  check(words: readonly string[]): void {
    this.parsed(words);
  }

  /** Carries out what is set for a hook, with that place as its target. What it does sets off no hook. */
  private async hook(name: string, place: Partial<Place>, variables: ExtraVariables): Promise<void> {
    const state = this.backend.readState();
    if (this.hooked !== null || !isHookSet(state, name)) return;
    this.loaded = null;
    const { made } = this;
    this.hooked = { hook: name, ...variables };
    this.made = place.pane?.target ?? made;
    try {
      for (const { text, agent } of hookAt(state, place, name))
        await this.as(agent, async (run) => {
          if (await run.knows(place)) await run.commands([["run-shell", "-C", text]]);
        });
    } finally {
      this.hooked = null;
      this.made = made;
    }
  }

  /** Carries out what is set for a hook where nothing has happened. */
  async runHook(name: string): Promise<void> {
    const place = (await this.targets()).current;
    await this.hook(name, place ?? {}, place === null ? {} : placeVariables(place));
  }

  /** What is private is not known to AI agents. */
  private async knows({ pane }: Partial<Place>): Promise<boolean> {
    return pane === undefined || (await this.load()).model.findPane(pane.target) !== undefined;
  }

  /** Has a run act for an AI agent, with its rights. @param agent null: for the caller */
  private async as(agent: string | null, act: (run: Run) => Promise<unknown>): Promise<void> {
    if (agent === null || agent === this.backend.agent) return void (await act(this));
    const { print, complain } = this.backend;
    using backend = this.backend.as(agent);
    const run = new Run({ ...backend, print, complain }, this.table);
    run.made = this.made;
    run.hooked = this.hooked;
    await act(run);
    this.loaded = null;
  }

  /** Carries out the hooks of an event of wsh, by which this process was started. */
  async event(): Promise<void> {
    this.isOwn = true;
    const { WSH_EVENT: event = "", WSH_EVENT_KEPT, ...said } = this.backend.env;
    const { WSH_EVENT_SESSION_ID: id = "", WSH_EVENT_WINDOW: shown, WSH_EVENT_PANE: pane } = said;
    const { model, state } = await this.load();
    const session = model.sessions.find(({ target }) => target === id);
    const window = session?.windows.find(({ target }) => target === shown) ?? session?.current;
    this.made = (pane !== undefined && model.findPane(pane) ? pane : window?.active.target) ?? null;
    const isElsewhere = window !== undefined && state.shown[id] !== window.target;
    if (event === "focus_changed" && isElsewhere && window !== undefined)
      await this.change((changed) => {
        changed.shown[id] = window.target;
      });
    for (const name of hooksOfEvent({ event, isKept: WSH_EVENT_KEPT === "true", isElsewhere }))
      await this.runHook(name);
  }

  /** Hooks were set, or are no longer. */
  async hooksChanged(): Promise<void> {
    const state = this.backend.readState();
    const events = eventsOfHooks((name) => isHookSet(state, name));
    this.backend.runAtEvents(events);
    if (!events.includes("focus_changed")) return;
    const { model } = await this.load();
    await this.change((changed) => {
      for (const { target, current } of model.sessions) changed.shown[target] ??= current.target;
    });
  }

  /** The sessions and what tmux keeps at the time of the command. */
  async load(): Promise<{ readonly model: Model; readonly state: State }> {
    if (this.loaded !== null) return this.loaded;
    const [sessions, state] = [await this.backend.sessions(), this.backend.readState()];
    this.loaded = { model: new Model(sessions, state), state };
    return this.loaded;
  }

  /** Looks at the sessions again behind a change. */
  refresh(): Promise<{ readonly model: Model; readonly state: State }> {
    this.loaded = null;
    return this.load();
  }

  async change<T>(change: (state: State) => T): Promise<T> {
    const { model } = await this.load();
    const { living } = model;
    const result = await this.backend.changeState((state) => {
      if (living !== null) prune(state, living);
      return change(state);
    });
    this.loaded = null;
    return result;
  }

  /** A command without a target means this from now on. */
  means(pane: string): void {
    this.made = pane;
  }

  /** The hook of the command in work is about this pane. */
  hasMade(pane: string): void {
    this.fresh = pane;
  }

  async targets(): Promise<Targets> {
    const { model, state } = await this.load();
    const marked = state.marked === null ? null : (model.findPane(state.marked) ?? null);
    return new Targets(model, this.currentIn(model), marked);
  }

  private currentIn(model: Model): Place | null {
    const made = this.made === null ? undefined : model.findPane(this.made);
    if (made !== undefined) return made;
    const shown = model.sessions.find(({ target }) => target === this.backend.control?.session);
    if (shown !== undefined) return placeOf(shown);
    const own = this.backend.pane === null ? undefined : model.findPane(this.backend.pane);
    if (own !== undefined) return own;
    // Its session may be one that is not known: no other is meant in its place.
    if (this.backend.pane !== null && !model.isComplete) return null;
    // As tmux: who is attached first, the newest otherwise.
    const [best] = model.sessions.toSorted(
      (a, b) =>
        Number(b.info.attached > 0) - Number(a.info.attached > 0) ||
        (a.info.attached > 0
          ? b.info.last_activity_ms - a.info.last_activity_ms
          : b.info.created_at - a.info.created_at),
    );
    return best === undefined ? null : placeOf(best);
  }

  /** The place that a flag names; without it the current one. */
  async place(args: Arguments, kind: TargetKind, flag = "t"): Promise<Place> {
    return (await this.targets()).find(args.get(flag), kind);
  }

  print(text: string): Promise<void> {
    return this.backend.print(`${text}\n`);
  }

  /** The lines that a command prints. */
  async linesOf(words: readonly string[]): Promise<readonly string[]> {
    const printed: string[] = [];
    const print = async (text: string): Promise<void> => void printed.push(text);
    await new Run({ ...this.backend, print }, this.table).commands([words]);
    return printed.join("").split("\n").slice(0, -1);
  }

  async format(template: string, around: Around, extra: ExtraVariables = {}, isTimed = false): Promise<string> {
    const [one = ""] = await this.formats(template, [{ around, extra }], isTimed);
    return one;
  }

  /** The same format for several places. */
  async formats(
    template: string,
    all: readonly { readonly around: Around; readonly extra?: ExtraVariables }[],
    isTimed = false,
  ): Promise<string[]> {
    const { model, state } = await this.load();
    const facts = await gatherFacts(this.backend, { model, state }, template, { all: all.map(({ around }) => around) });
    // What shell commands print is known by the next reading.
    const printed = new Map<string, string | null>();
    const shell = (command: string): string => {
      if (!printed.has(command)) printed.set(command, null);
      return printed.get(command) ?? "";
    };
    for (;;) {
      const texts = all.map(({ around, extra = {} }) =>
        expand(this.scope(around, { model, state, facts, extra, shell }), template, isTimed),
      );
      const missing = [...printed].flatMap(([command, line]) => (line === null ? [command] : []));
      if (missing.length === 0) return texts;
      await Promise.all(missing.map(async (command) => printed.set(command, await this.backend.shellLine(command))));
    }
  }

  private scope(
    around: Around,
    known: {
      readonly model: Model;
      readonly state: State;
      readonly facts: FormatFacts;
      readonly extra: ExtraVariables;
      shell(command: string): string;
    },
  ): FormatScope {
    const { model, state, facts, extra } = known;
    const { session, window, pane } = around;
    const inside = (place: Around): FormatScope => this.scope(place, { ...known, extra: {} });
    return {
      // Fields that every object has are not variables.
      find: (name) =>
        name in Object.prototype
          ? undefined
          : (formatValue(name, optionAt(state, around, name)) ??
            extra[name] ??
            variable(around, name, facts) ??
            this.hooked?.[name] ??
            environmentOf(state, session?.target, name, this.backend.env)),
      loop(over) {
        if (over === "sessions")
          return model.sessions.map((each) => ({
            scope: inside({ session: each, window: each.current, pane: each.current.active }),
            active: false,
          }));
        if (session === undefined) return null;
        if (over === "windows")
          return session.windows.map((each) => ({
            scope: inside({ session, window: each, pane: each.active }),
            active: each === session.current,
          }));
        if (window === undefined) return null;
        return window.panes.map((each) => ({
          scope: inside({ session, window, pane: each }),
          active: each === window.active,
        }));
      },
      isNamed: (what, name) =>
        what === "session"
          ? model.sessions.some((each) => each.name === name)
          : session === undefined
            ? null
            : session.windows.some((each) => each.name === name),
      search: (test) => (facts.screens.get(pane?.target ?? "")?.findIndex(test) ?? -1) + 1,
      shell: known.shell,
    };
  }
}

function isHookSet(state: State, name: string): boolean {
  return [state.session, state.window, ...Object.values(state.own)].some((values) => values[name] !== undefined);
}

/** Formats have flags as numbers, which conditions can test. */
function formatValue(name: string, value: string | undefined): string | undefined {
  return optionTable[name]?.type === "flag" ? String(Number(value === "on")) : value;
}

/** A variable of the session's environment, or else of the global one; undefined where it is unset. */
export function environmentOf(
  state: State,
  session: string | undefined,
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const own = session === undefined ? undefined : state.environments[session]?.[name];
  const set = own ?? state.environment[name];
  return set === undefined ? env[name] : (set.value ?? undefined);
}

/** The text of a failure: tmux's words where they are known. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof TmuxError) return thrown.message;
  return WshError.from(thrown).message;
}
