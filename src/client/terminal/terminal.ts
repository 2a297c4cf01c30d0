/**
 * A terminal for programs: commands, typing, and waits with a time limit. Everything is a call of an operation; no code
 * here judges a program's state.
 *
 * Invariants: every wait has a limit, and past it throws an error with the state, its reason and the screen
 * (failure.ts). `expect` searches the output since the program last typed or ran something here, so an early answer is
 * not missed, and an older one is not mistaken for it.
 */
import type { OperationInput, OperationName, OperationOutput } from "../../operations/table.ts";
import type { ConditionInput } from "../../protocol/conditions.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { MAX_WAIT_MS } from "../../protocol/wait-times.ts";
import { clickSequence } from "./click.ts";
import {
  type Awaited,
  conditionOf,
  conditionsOf,
  type Matched,
  matched,
  named,
  passes,
  patternOf,
} from "./conditions.ts";
import type { FailureFacts } from "./failure.ts";
import {
  type CommandOutcome,
  type ExecOptions,
  type ExecOutcome,
  type ExpectOptions,
  limitOf,
  type OutputOptions,
  requireNumbers,
  type StepOptions,
  type WaitOptions,
} from "./options.ts";
import { brief, briefOf, printedAs } from "./printing.ts";
import { answered, isReadyAtPrompt } from "./readiness.ts";
import { Screen } from "./screen.ts";
import { isGone, NotMet, type StepDoubt, type StepWatcher, seconds, stepped, written } from "./steps.ts";
import { type Ask, decided, reached, screens } from "./waiting.ts";

/** Calls an operation; operations of a session name it last. */
export type Call = <N extends OperationName>(
  name: N,
  input: OperationInput<N>,
  session?: string,
) => Promise<OperationOutput<N>>;

/** Longest wait of a step unless it sets another, in ms: half of what callers of MCP wait. */
const DEFAULT_TIMEOUT_MS = 15_000;
/** How long a shell that a command has ended may take to end, in ms. */
const SHELL_END_MS = 2_000;

const PROGRAM_ENDED = "the program has ended, and it did not appear";
/** The outcome of a program that is gone with its session. */
const UNKNOWN_END: CommandOutcome = { exit_code: null, signal: null };

export class Terminal implements AsyncDisposable {
  // Steps are async functions, since only those stay in stacks: a function that only returns a call does not (tail
  // calls).
  /** Cursor at which `expect` begins to search. */
  private since: number;
  private isClosed = false;
  private readonly ask: Ask = async (name, input) => {
    requireNumbers(input);
    return this.call(name, input, this.target);
  };

  constructor(
    private readonly call: Call,
    /** Name of the session. */
    readonly name: string,
    /** Target of its calls. */
    readonly target: string,
    since: number,
    private readonly owned: boolean,
    /** Longest wait of a step that sets none, in ms. */
    public timeout: number = DEFAULT_TIMEOUT_MS,
    private readonly watch?: StepWatcher<Terminal>,
    private readonly doubt?: StepDoubt,
    /** The command that runs here, if known. */
    private command?: number | undefined,
  ) {
    this.since = since;
    printedAs(this, () => this.name);
  }

  /** Runs a command at the shell's prompt and waits for its end. */
  async exec(command: string, options: ExecOptions = {}): Promise<ExecOutcome> {
    return this.step(this.exec, `exec(${written(command)})`, async () => {
      const { timeout: given, grep, ...shown } = options;
      const timeout = this.limit(given);
      const result = await this.atPrompt(timeout, (left) =>
        this.ask("exec", {
          command,
          max_wait_ms: Math.min(left, MAX_WAIT_MS),
          ...shown,
          ...(grep === undefined ? {} : { grep: patternOf(grep) }),
        }),
      );
      this.placed(result.output_cursor, result.state === "running" ? result.command_id : null);
      if (result.state === "running") {
        const waits = result.waits_for === undefined ? "" : ` and waits for ${result.waits_for}`;
        const output = result.output === undefined || result.output === "" ? "" : `\nOutput so far:\n${result.output}`;
        throw new NotMet(`has not ended within ${seconds(timeout)}${waits}; it continues${output}`);
      }
      const { exit_code = null, output = "" } = result;
      return brief({ ...result, exit_code, output });
    });
  }

  /** Starts a command at the shell's prompt and does not wait for its end. */
  async run(command: string, { timeout }: StepOptions = {}): Promise<void> {
    return this.step(this.run, `run(${written(command)})`, async () => {
      try {
        const { command_id } = await this.atPrompt(this.limit(timeout), () =>
          this.ask("exec", { command, background: true }),
        );
        // Null: the shell rejected the text and printed the reason.
        const start = typeof command_id === "number" ? await this.ask("commands.get", { id: command_id }) : null;
        this.placed(start?.output_start, command_id);
      } catch (thrown) {
        if (!(thrown instanceof WshError) || thrown.code !== "no_shell_integration") throw thrown;
        await this.send({ data: command, submit: true }, `run(${written(command)})`);
      }
    });
  }

  /** Types a text; `\n` is Enter. Waits until the program reads, or is silent, and then until it has answered. */
  async type(text: string): Promise<void> {
    return this.step(this.type, `type(${written(text)})`, async () => {
      if (typeof text !== "string") throw new WshError("invalid_request", "give a text");
      await this.input({ data: text.replace(/\r?\n/g, "\r") }, `type(${written(text)})`);
    });
  }

  /** Presses named keys: `Enter`, `Ctrl+C`, `Up`, `F5`, `Alt+x`. */
  async press(...keys: readonly string[]): Promise<void> {
    return this.step(this.press, `press(${keys.map(written).join(", ")})`, async () => {
      await this.input({ keys: [...keys] }, `press(${keys.map(written).join(", ")})`);
    });
  }

  /** Pastes a text, marked as pasted if the program requested that. */
  async paste(text: string): Promise<void> {
    return this.step(this.paste, `paste(${written(text)})`, async () => {
      await this.input({ data: text, paste: true }, `paste(${written(text)})`);
    });
  }

  /** Clicks on a text once it is shown, in a program that reads the mouse. */
  async click(what: string | RegExp, { timeout }: StepOptions = {}): Promise<void> {
    return this.step(this.click, `click(${written(what)})`, async () => {
      const shown = await this.until(
        (screen) => screen.find(what),
        this.limit(timeout),
        `${written(what)} is not shown`,
      );
      const { modes } = await this.ask("status.get", {});
      if (modes.mouse !== true) throw new NotMet("the program does not read the mouse: press keys instead");
      await this.send(clickSequence(shown.row, shown.col, modes.mouse_sgr === true), `click(${written(what)})`);
      await answered((conditions) => this.ask("wait", conditions));
    });
  }

  async resize(size: { readonly cols: number; readonly rows: number }): Promise<void> {
    return this.step(this.resize, `resize(${written(size)})`, async () => {
      await this.ask("session.resize", size);
    });
  }

  /** Waits until a text or match is printed or drawn after the last input or command here; echo does not count. */
  expect(what: string | RegExp, options?: ExpectOptions & { readonly orEnd?: false }): Promise<Matched>;
  /** With `orEnd`: null when the command, or the program, ends or has ended without it. */
  expect(what: string | RegExp, options: ExpectOptions): Promise<Matched | null>;
  async expect(what: string | RegExp, options: ExpectOptions = {}): Promise<Matched | null> {
    return this.step(this.expect, `expect(${written(what)})`, async () => {
      const { since = this.since, orEnd = false } = options;
      const timeout = this.limit(options.timeout);
      const condition = conditionOf(what);
      const ends = orEnd || this.command !== undefined ? this.ends : [];
      const found = await this.decide([condition, "exited", ...ends], since, timeout);
      if (found.decided_by === condition.type) return matched(found);
      // A program's last output arrives with its end.
      const last = await this.unlessGone(this.ask("wait", { any_of: [condition], since, max_wait_ms: 0 }));
      if (last?.decided_by === condition.type) return matched(last);
      if (orEnd && found.decided_by !== "timeout") return null;
      throw new NotMet(await this.unmet(found, timeout, what));
    });
  }

  /** Waits for a state, a text on the screen, silence, a port, the end, or a function's verdict on the screen. */
  waitFor(what: Awaited | string | RegExp, options?: WaitOptions & { readonly orEnd?: false }): Promise<Screen>;
  /** With `orEnd`: null when the command, or the program, ends or has ended without it. */
  waitFor(what: Awaited | string | RegExp, options: WaitOptions): Promise<Screen | null>;
  async waitFor(what: Awaited | string | RegExp, options: WaitOptions = {}): Promise<Screen | null> {
    return this.step(this.waitFor, `waitFor(${written(what)})`, async () => {
      const timeout = this.limit(options.timeout);
      const wanted: Awaited = typeof what === "string" ? named(what) : what instanceof RegExp ? { regex: what } : what;
      const conditions = conditionsOf(wanted);
      const { text, regex, screen: test } = wanted;
      const pattern = regex === undefined ? null : new RegExp(regex);
      if (test === undefined && conditions.length === 0)
        throw new WshError("invalid_request", `${written(what)} names nothing to wait for`);
      const shows = (screen: Screen): boolean =>
        (text !== undefined && screen.text.includes(text)) ||
        (pattern !== null && screen.find(pattern) !== null) ||
        (test !== undefined && passes(test, screen));
      const ends = options.orEnd === true ? (["exited", ...this.ends] as const) : [];
      const goal = { conditions, ends, shows, every: test !== undefined, command: this.command };
      const result = await reached(this.ask, goal, Date.now() + timeout);
      if (result instanceof Screen) return pattern === null ? result : result.showing(pattern);
      if (result === "ended") return null;
      const { reason = `did not appear within ${seconds(timeout)}` } = result;
      throw new NotMet((await this.hasEnded()) ? PROGRAM_ENDED : reason);
    });
  }

  /** A step for callers: waits until the screen passes a test. @param method the method that the program has called */
  holding(
    method: (...given: never[]) => unknown,
    text: string,
    test: (screen: Screen) => boolean,
    { timeout }: StepOptions = {},
    every = false,
  ): Promise<true> {
    const look = (screen: Screen): true | null => (test(screen) ? true : null);
    return this.step(method, text, () => this.until(look, this.limit(timeout), "did not appear", every));
  }

  /** Waits for the end of the running command, else of the session's program; at a prompt the last command has ended. */
  async ended({ timeout }: StepOptions = {}): Promise<CommandOutcome> {
    return this.step(this.ended, "ended()", async () => {
      const outcome = (await this.unlessGone(this.end(this.limit(timeout)))) ?? UNKNOWN_END;
      const { exit_code, signal } = outcome;
      return printedAs(outcome, () => ({ exit_code, ...(signal === null ? {} : { signal }) }));
    });
  }

  private async end(timeout: number): Promise<CommandOutcome> {
    const { command } = this;
    const isShell = command === undefined && (await this.facts()).last_command !== null;
    const ends = command !== undefined ? (["command_finished"] as const) : isShell ? (["prompt"] as const) : [];
    if ((await this.decide([...ends, "exited"], this.since, timeout)).decided_by === "timeout")
      throw new NotMet(`has not ended within ${seconds(timeout)}`);
    if (command === undefined) {
      const status = await this.facts();
      return status.state === "exited" ? status : (status.last_command ?? status);
    }
    const record = await this.ask("commands.get", { id: command });
    if (record.exit_code !== null || record.signal !== null) return record;
    // A command that ends its shell has the shell's code, which is known once the shell has ended.
    const { decided_by } = await this.ask("wait", { any_of: ["exited", "prompt"], max_wait_ms: SHELL_END_MS });
    return decided_by === "exited" ? this.facts() : record;
  }

  async screen(): Promise<Screen> {
    return this.read(this.screen, "screen()", () => this.look());
  }

  /** Output as text: by default since the program last typed or ran something here. */
  async output({ since, command, lines, grep, max_bytes }: OutputOptions = {}): Promise<string> {
    return this.read(this.output, "output()", async () => {
      const place =
        command !== undefined
          ? { command_id: command }
          : lines !== undefined
            ? { lines }
            : { since: since ?? this.since };
      const limits = defined({ max_bytes, grep: grep === undefined ? undefined : patternOf(grep) });
      const { text = "", incomplete, searched, reason } = await this.ask("output.get", { ...place, ...limits });
      if (incomplete === true && lines === undefined) this.doubt?.(`output(): only ${searched} is there: ${reason}`);
      return text;
    });
  }

  /** Commands that ran at the prompt, oldest first. */
  async commands(): Promise<OperationOutput<"commands.list">> {
    return this.read(this.commands, "commands()", async () =>
      (await this.ask("commands.list", {})).map((record) => brief(record, "warnings")),
    );
  }

  /** The program's state, and the evidence for it. */
  async status(): Promise<OperationOutput<"status.get">> {
    return this.read(this.status, "status()", async () => {
      const status = await this.facts();
      const { last_command: last } = status;
      if (last !== null) briefOf(last, "command", "state", "exit_code", "signal");
      return briefOf(status, "state", "why", "human_typing", "disorder", "exit_code", "signal", "last_command");
    });
  }

  /** Ends the session. */
  async kill(): Promise<void> {
    return this.read(this.kill, "kill()", async () => void (await this.ask("session.kill", {})));
  }

  /** Ends the session if it was made by `open` without a name. */
  async close(): Promise<void> {
    if (!this.owned || this.isClosed) return;
    await this.ask("session.kill", {}).catch((thrown) => {
      if (!isGone(thrown) && WshError.from(thrown).code !== "session_crashed") throw thrown;
    });
    this.isClosed = true;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Tests the screen at every change until the test succeeds. @param every also screens that were replaced
   * before they could be read @throws NotMet
   */
  async until<R>(look: (screen: Screen) => R | null, timeout: number, otherwise: string, every = false): Promise<R> {
    let state = "";
    for await (const screen of screens(this.ask, Date.now() + timeout, every)) {
      const found = look(screen);
      if (found !== null) return found;
      ({ state } = screen);
    }
    throw new NotMet(`${otherwise}${state === "exited" ? "; the program has ended" : ` within ${seconds(timeout)}`}`);
  }

  private decide(any_of: ConditionInput[], since: number, timeout: number): Promise<OperationOutput<"wait">> {
    return decided(this.ask, { any_of, since, ...defined({ command_id: this.command }) }, Date.now() + timeout);
  }

  /** The end of the command that runs here, else of any. */
  private get ends(): readonly ConditionInput[] {
    return this.command === undefined ? ["prompt"] : ["command_finished"];
  }

  /** The shell may not have reached its prompt yet. */
  private async atPrompt<R>(timeout: number, act: (left: number) => Promise<R>): Promise<R> {
    const deadline = Date.now() + timeout;
    for (;;) {
      const left = Math.max(0, deadline - Date.now());
      try {
        return await act(left);
      } catch (thrown) {
        if (!(thrown instanceof WshError) || thrown.code !== "not_at_prompt" || left === 0) throw thrown;
        const { decided_by } = await this.ask("wait", { any_of: ["prompt"], max_wait_ms: Math.min(left, MAX_WAIT_MS) });
        if (decided_by !== "prompt") throw thrown;
      }
    }
  }

  /** Types once the program reads its input, and returns when it has answered. */
  private async input(input: OperationInput<"input.send">, step: string): Promise<void> {
    const wait = (conditions: OperationInput<"wait">) => this.ask("wait", conditions);
    // At a prompt the command of `run` has ended: input now belongs to another one.
    if (await isReadyAtPrompt(wait)) this.command = undefined;
    await this.send(input, step);
    await answered(wait);
  }

  private async send(input: OperationInput<"input.send">, step: string): Promise<void> {
    const { since, output_cursor, warnings = [] } = await this.ask("input.send", input);
    this.since = since ?? output_cursor;
    for (const warning of warnings) this.doubt?.(`${step}: ${warning}`);
  }

  private placed(cursor: number | undefined, command: number | null | undefined): void {
    if (cursor !== undefined) this.since = cursor;
    this.command = command ?? undefined;
  }

  private async unmet(found: OperationOutput<"wait">, timeout: number, what: string | RegExp): Promise<string> {
    if (found.decided_by === "exited") return PROGRAM_ENDED;
    if (found.decided_by === "command_finished") {
      const { exit_code = null } = found.command ?? {};
      return `the command has ended (exit code ${exit_code ?? "unknown"}), and it did not appear`;
    }
    const shown = (await this.look()).find(what);
    const older =
      shown === null
        ? ""
        : `; ${JSON.stringify(shown.text)} on the screen is older than the last input: waitFor searches the whole screen`;
    return `did not appear within ${seconds(timeout)}${older}`;
  }

  private async hasEnded(): Promise<boolean> {
    return ((await this.unlessGone(this.facts()))?.state ?? "exited") === "exited";
  }

  /** Returns null if the session was ended. */
  private async unlessGone<R>(asked: Promise<R>): Promise<R | null> {
    return asked.catch((thrown) => {
      if (isGone(thrown)) return null;
      throw thrown;
    });
  }

  private limit(timeout: number | undefined): number {
    return limitOf(timeout ?? this.timeout);
  }

  private async look(): Promise<Screen> {
    return new Screen(await this.ask("screen.get", { format: "styled" }));
  }

  private facts(): Promise<OperationOutput<"status.get">> {
    return this.ask("status.get", {});
  }

  private step<R>(method: (...given: never[]) => unknown, text: string, act: () => Promise<R>): Promise<R> {
    return this.read(method, text, act, this.watch);
  }

  /** A step of which a trace needs no picture. */
  private read<R>(
    method: (...given: never[]) => unknown,
    text: string,
    act: () => Promise<R>,
    watch?: StepWatcher<Terminal>,
  ): Promise<R> {
    const explain = (refusal: WshError | null) => this.explain(refusal);
    return stepped<Terminal, R>({ terminal: this, method, text, watch, explain }, act);
  }

  /** Known facts about the terminal; unavailable ones are omitted. */
  private async explain(refusal: WshError | null): Promise<FailureFacts> {
    const code = refusal?.code ?? "not_met";
    // The screen does not explain an invalid or forbidden call.
    if (refusal !== null && refusal.status <= 403) return { code, session: this.name };
    const [screen, status] = await Promise.all([
      this.look().catch(() => undefined),
      this.facts().catch(() => undefined),
    ]);
    return {
      code,
      session: this.name,
      ...(status === undefined ? {} : { state: status.state, why: status.why }),
      ...defined({ screen }),
    };
  }
}
