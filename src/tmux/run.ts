/**
 * One run of `wsh tmux`: runs its commands in order, each with the sessions of that moment. A failing command prints
 * tmux's message and ends the run with status 1, as in tmux; earlier commands keep their effect.
 */
import { WshError } from "../protocol/errors.ts";
import type { Backend } from "./backend.ts";
import { TmuxError } from "./error.ts";
import { gatherFacts } from "./facts.ts";
import { expand, type FormatScope } from "./formats/expand.ts";
import { argumentVariables, placeVariables } from "./formats/hook-variables.ts";
import { type FormatContext, type FormatFacts, variable } from "./formats/variables.ts";
import { Model, placeOf, type ResolvedTarget } from "./model.ts";
import { eventsOfHooks, hookBehind, hooksOfEvent } from "./options/hooks.ts";
import { hookAt, optionAt } from "./options/options.ts";
import { optionTable } from "./options/table.ts";
import { type Arguments, orderedWords, parseArguments, type Syntax } from "./parse/arguments.ts";
import { prune, type State } from "./state.ts";
import { type TargetKind, Targets } from "./targets.ts";

/** Extra variables of a format: those of a buffer or a command. */
export type ExtraVariables = Readonly<Record<string, string>>;

/** A tmux command: its syntax, and its implementation by wsh's operations. */
export interface Command extends Syntax {
  readonly name: string;
  readonly alias?: string;
  readonly usage: string;
  readonly needsNoSession?: true;
  run(run: Run, args: Arguments): Promise<void>;
}

/** Observes each command of a run, for a client that gets answers in blocks. */
interface CommandObserver {
  begin(): void;
  end(isGood: boolean): void;
}

export class Run {
  /** Exit status if nothing fails. */
  status = 0;
  /** Whether a configuration is being read before the first session exists. */
  isStarting = false;
  /** The default target of later commands in this run: what an earlier command created. */
  private defaultPane: string | null = null;
  /** The pane that the current command has created, for its hook. */
  private createdPane: string | null = null;
  /** Variables of the running hook. */
  private hookVariables: ExtraVariables | null = null;
  /** Whether bindings have changed; terminals are notified after the commands. */
  hasNewKeys = false;
  /** Whether wsh itself started the run: it triggers no hooks. */
  isOwn = false;
  /** Nesting depth of files being read. */
  files = 0;
  private depth = 0;
  private loaded: { readonly model: Model; readonly state: State } | null = null;

  constructor(
    readonly backend: Backend,
    /** Every command, by name. */
    readonly table: readonly Command[],
    private readonly observer: CommandObserver | null = null,
  ) {}

  private get activeObserver(): CommandObserver | null {
    return this.hookVariables === null ? this.observer : null;
  }

  /** Runs commands in order. @returns false if one failed */
  async commands(all: readonly (readonly string[])[]): Promise<boolean> {
    this.depth++;
    try {
      return await this.runInOrder(all);
    } finally {
      this.depth--;
      if (this.depth === 0 && this.hasNewKeys) {
        this.hasNewKeys = false;
        await this.backend.keysChanged();
      }
    }
  }

  private async runInOrder(all: readonly (readonly string[])[]): Promise<boolean> {
    try {
      // Like tmux, parses a whole line before it runs any command.
      for (const words of all) this.parsed(words);
    } catch (thrown) {
      this.activeObserver?.begin();
      return this.failed(`${this.activeObserver === null ? "" : "parse error: "}${messageOf(thrown)}`);
    }
    for (const words of all) {
      this.activeObserver?.begin();
      try {
        await this.command(words);
      } catch (thrown) {
        return this.failed(messageOf(thrown));
      }
      this.activeObserver?.end(true);
    }
    return true;
  }

  private async failed(message: string): Promise<false> {
    await this.backend.complain(message);
    this.activeObserver?.end(false);
    this.status = 1;
    return false;
  }

  /** A command with its arguments; aliases come from the option. @throws TmuxError */
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
    const matches = this.table.filter((each) => each.name.startsWith(name));
    const [only] = matches;
    if (name === "" || only === undefined) throw new TmuxError(`unknown command: ${name}`);
    if (matches.length === 1) return only;
    throw new TmuxError(`ambiguous command: ${name}, could be: ${matches.map((each) => each.name).join(", ")}`);
  }

  private async command(words: readonly string[]): Promise<void> {
    const { command, args } = this.parsed(words);
    this.loaded = null;
    if (command.needsNoSession !== true && !this.isStarting) {
      const { model } = await this.load();
      if (model.sessions.length === 0) throw new TmuxError(`no server running on ${this.backend.socketPath}`);
    }
    const hookName = hookBehind(command.name);
    const isHooked = hookName !== null && isHookSet(this.backend.readState(), hookName);
    const target = isHooked ? await this.targetOf(command, args) : null;
    this.createdPane = null;
    await command.run(this, args);
    if (!isHooked || this.isOwn) return;
    const { model } = await this.refresh();
    const pane = this.createdPane ?? target?.pane.target ?? "";
    await this.runHooks(
      hookName,
      model.findPane(pane) ?? this.currentIn(model) ?? {},
      argumentVariables(command, args),
    );
  }

  /** The place of a command's target; null: it has none. */
  private async targetOf({ usage }: Command, args: Arguments): Promise<ResolvedTarget | null> {
    const [, kind = "pane"] = /-t (?:target|dst)-(pane|window|session)/.exec(usage) ?? [];
    return this.place(args, kind as TargetKind).catch(() => null);
  }

  /** A command with its full name and ordered flags, as tmux stores it. @throws TmuxError */
  canonical(words: readonly string[]): string[] {
    const { command, args } = this.parsed(words);
    return [command.name, ...orderedWords(command, args)];
  }

  /** @throws TmuxError the command's errors, without running it */
  check(words: readonly string[]): void {
    this.parsed(words);
  }

  /** Runs the commands of a hook with that place as the target. They trigger no hooks. */
  private async runHooks(name: string, place: Partial<ResolvedTarget>, variables: ExtraVariables): Promise<void> {
    const state = this.backend.readState();
    if (this.hookVariables !== null || !isHookSet(state, name)) return;
    this.loaded = null;
    const { defaultPane: made } = this;
    this.hookVariables = { hook: name, ...variables };
    this.defaultPane = place.pane?.target ?? made;
    try {
      for (const { text, agent } of hookAt(state, place, name))
        await this.runAs(agent, async (run) => {
          if (await run.isKnown(place)) await run.commands([["run-shell", "-C", text]]);
        });
    } finally {
      this.hookVariables = null;
      this.defaultPane = made;
    }
  }

  /** Runs the commands of a hook without an event. */
  async runHook(name: string): Promise<void> {
    const place = (await this.targets()).current;
    await this.runHooks(name, place ?? {}, place === null ? {} : placeVariables(place));
  }

  /** AI agents do not learn of private sessions. */
  private async isKnown({ pane }: Partial<ResolvedTarget>): Promise<boolean> {
    return pane === undefined || (await this.load()).model.findPane(pane.target) !== undefined;
  }

  /** Runs commands for an AI agent, with its rights. @param agent null: for the caller */
  private async runAs(agent: string | null, act: (run: Run) => Promise<unknown>): Promise<void> {
    if (agent === null || agent === this.backend.agent) return void (await act(this));
    const { print, complain } = this.backend;
    using backend = this.backend.withAgent(agent);
    const run = new Run({ ...backend, print, complain }, this.table);
    run.defaultPane = this.defaultPane;
    run.hookVariables = this.hookVariables;
    await act(run);
    this.loaded = null;
  }

  /** Runs the hooks of the event for which wsh started this process. */
  async event(): Promise<void> {
    this.isOwn = true;
    const { WSH_EVENT: event = "", WSH_EVENT_KEPT, ...variables } = this.backend.env;
    const { WSH_EVENT_SESSION_ID: id = "", WSH_EVENT_WINDOW: shown, WSH_EVENT_PANE: pane } = variables;
    const { model, state } = await this.load();
    const session = model.sessions.find(({ target }) => target === id);
    const window = session?.windows.find(({ target }) => target === shown) ?? session?.current;
    this.defaultPane = (pane !== undefined && model.findPane(pane) ? pane : window?.active.target) ?? null;
    const isElsewhere = window !== undefined && state.shown[id] !== window.target;
    if (event === "focus_changed" && isElsewhere && window !== undefined)
      await this.change((changed) => {
        changed.shown[id] = window.target;
      });
    for (const name of hooksOfEvent({ event, isKept: WSH_EVENT_KEPT === "true", isOtherWindow: isElsewhere }))
      await this.runHook(name);
  }

  /** Called when hooks were set or unset. */
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

  /** The sessions and the tmux state at the time of the command. */
  async load(): Promise<{ readonly model: Model; readonly state: State }> {
    if (this.loaded !== null) return this.loaded;
    const [sessions, state] = [await this.backend.sessions(), this.backend.readState()];
    this.loaded = { model: new Model(sessions, state), state };
    return this.loaded;
  }

  /** Reads the sessions again after a change. */
  refresh(): Promise<{ readonly model: Model; readonly state: State }> {
    this.loaded = null;
    return this.load();
  }

  async change<T>(change: (state: State) => T): Promise<T> {
    const { model } = await this.load();
    const { livingTargets } = model;
    const result = await this.backend.changeState((state) => {
      if (livingTargets !== null) prune(state, livingTargets);
      return change(state);
    });
    this.loaded = null;
    return result;
  }

  /** Sets the default target of later commands. */
  setDefaultPane(pane: string): void {
    this.defaultPane = pane;
  }

  /** Names the pane that the current command's hook is about. */
  setCreatedPane(pane: string): void {
    this.createdPane = pane;
  }

  async targets(): Promise<Targets> {
    const { model, state } = await this.load();
    const marked = state.marked === null ? null : (model.findPane(state.marked) ?? null);
    return new Targets(model, this.currentIn(model), marked);
  }

  private currentIn(model: Model): ResolvedTarget | null {
    const made = this.defaultPane === null ? undefined : model.findPane(this.defaultPane);
    if (made !== undefined) return made;
    const shown = model.sessions.find(({ target }) => target === this.backend.control?.session);
    if (shown !== undefined) return placeOf(shown);
    const own = this.backend.pane === null ? undefined : model.findPane(this.backend.pane);
    if (own !== undefined) return own;
    // The caller's session may be unknown; no other session replaces it.
    if (this.backend.pane !== null && !model.isComplete) return null;
    // As in tmux: an attached session first, otherwise the newest.
    const [best] = model.sessions.toSorted(
      (a, b) =>
        Number(b.info.attached > 0) - Number(a.info.attached > 0) ||
        (a.info.attached > 0
          ? a.info.last_activity_ms - b.info.last_activity_ms
          : b.info.created_at - a.info.created_at),
    );
    return best === undefined ? null : placeOf(best);
  }

  /** The place that a flag names; without the flag the current one. */
  async place(args: Arguments, kind: TargetKind, flag = "t"): Promise<ResolvedTarget> {
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

  async format(template: string, around: FormatContext, extra: ExtraVariables = {}, isTimed = false): Promise<string> {
    const [one = ""] = await this.formats(template, [{ around, extra }], isTimed);
    return one;
  }

  /** Expands the same format for several places. */
  async formats(
    template: string,
    all: readonly { readonly around: FormatContext; readonly extra?: ExtraVariables }[],
    isTimed = false,
  ): Promise<string[]> {
    const { model, state } = await this.load();
    const facts = await gatherFacts(this.backend, { model, state }, template, {
      scopes: all.map(({ around }) => around),
    });
    // The next expansion has the output of the shell commands.
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
    around: FormatContext,
    loaded: {
      readonly model: Model;
      readonly state: State;
      readonly facts: FormatFacts;
      readonly extra: ExtraVariables;
      shell(command: string): string;
    },
  ): FormatScope {
    const { model, state, facts, extra } = loaded;
    const { session, window, pane } = around;
    const scopeInside = (place: FormatContext): FormatScope => this.scope(place, { ...loaded, extra: {} });
    return {
      // Properties that every object has are not variables.
      find: (name) =>
        name in Object.prototype
          ? undefined
          : (formatValue(name, optionAt(state, around, name)) ??
            extra[name] ??
            variable(around, name, facts) ??
            this.hookVariables?.[name] ??
            environmentOf(state, session?.target, name, this.backend.env)),
      loop(over) {
        if (over === "sessions")
          return model.sessions.map((each) => ({
            scope: scopeInside({ session: each, window: each.current, pane: each.current.active }),
            active: false,
          }));
        if (session === undefined) return null;
        if (over === "windows")
          return session.windows.map((each) => ({
            scope: scopeInside({ session, window: each, pane: each.active }),
            active: each === session.current,
          }));
        if (window === undefined) return null;
        return window.panes.map((each) => ({
          scope: scopeInside({ session, window, pane: each }),
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
      shell: loaded.shell,
    };
  }
}

function isHookSet(state: State, name: string): boolean {
  return [state.session, state.window, ...Object.values(state.own)].some((values) => values[name] !== undefined);
}

/** Formats have flags as numbers, so that conditions can test them. */
function formatValue(name: string, value: string | undefined): string | undefined {
  return optionTable[name]?.type === "flag" ? String(Number(value === "on")) : value;
}

/** A variable of the session's environment, or else of the global one; undefined if unset. */
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

/** The text of an error: tmux's words if known. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof TmuxError) return thrown.message;
  return WshError.from(thrown).message;
}
