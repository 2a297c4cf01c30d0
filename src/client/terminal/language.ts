/** The language in which programs drive terminals, for `wsh script`, `wsh test` and `wsh_script`. */
import type { OperationOutput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { limitOf } from "./options.ts";
import { briefOf } from "./printing.ts";
import { framesOf, type StepDoubt, type StepWatcher } from "./steps.ts";
import { type Call, Terminal } from "./terminal.ts";

export type { Awaited, Matched } from "./conditions.ts";
export { TerminalFailure } from "./failure.ts";
export type { ExecOptions, ExecOutcome, OutputOptions, StepOptions } from "./options.ts";
export { type Found, Screen, type SpanStyle } from "./screen.ts";
export type { RecordedStep as Step, StepDoubt, StepWatcher } from "./steps.ts";
export { type Call, Terminal } from "./terminal.ts";

export interface OpenOptions {
  /** Create the session, with a shell, if no session has that name. */
  readonly create?: boolean;
  /** For a new session: its command instead of a shell, its directory, and its size. */
  readonly command?: string;
  readonly shell?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cols?: number;
  readonly rows?: number;
  readonly tags?: readonly string[];
  /** Longest wait of a step that sets none, in ms. Default 15 000. */
  readonly timeout?: number;
}

export interface Language {
  /**
   * Opens a terminal of an existing session, or of a new one with `create`. Without a name it is in a separate session,
   * which ends with `close` or with the program.
   */
  open(name?: string | OpenOptions, options?: OpenOptions): Promise<Terminal>;
  /** Running sessions. */
  sessions(): Promise<OperationOutput<"sessions.list">>;
  /** Ends all sessions that were opened without a name. */
  closeAll(): Promise<void>;
}

export interface LanguageOptions {
  readonly watch?: StepWatcher<Terminal>;
  readonly doubt?: StepDoubt;
  /** Called for every terminal before its first step. */
  readonly opened?: (terminal: Terminal) => Promise<void>;
  /** For new sessions. */
  readonly openDefaults?: Pick<OpenOptions, "cwd" | "env" | "cols" | "rows">;
}

export function language(
  call: Call,
  { watch, doubt, opened: hear, openDefaults = {} }: LanguageOptions = {},
): Language {
  const opened = new Set<Terminal>();
  const opening = new Set<Promise<Terminal>>();

  async function open(given?: string | OpenOptions, options?: OpenOptions): Promise<Terminal> {
    const here = new Error();
    Error.captureStackTrace?.(here, open);
    try {
      const finding = resolveTerminal(given, options);
      opening.add(finding);
      const terminal = await finding.finally(() => opening.delete(finding));
      await hear?.(terminal);
      return terminal;
    } catch (thrown) {
      if (thrown instanceof WshError) thrown.stack = `${thrown.name}: ${thrown.message}\n${framesOf(here)}`;
      throw thrown;
    }
  }

  async function resolveTerminal(given?: string | OpenOptions, second: OpenOptions = {}): Promise<Terminal> {
    const name = typeof given === "string" ? given : undefined;
    const { create = name === undefined, timeout, ...rest } = typeof given === "object" ? given : second;
    if (timeout !== undefined) limitOf(timeout);
    const existingTerminal = name === undefined ? null : await existing(name, create);
    if (existingTerminal !== null) {
      const { output_cursor, last_command: last } = await call("status.get", {}, existingTerminal.target);
      const running = last?.state === "running" ? last.id : undefined;
      return new Terminal(
        call,
        existingTerminal.name,
        existingTerminal.target,
        output_cursor,
        false,
        timeout,
        watch,
        doubt,
        running,
      );
    }
    const { tags = [], env, ...place } = { ...openDefaults, ...rest };
    const session = await call("sessions.create", {
      ...(name === undefined ? { name_prefix: "script-" } : { name }),
      ...place,
      tags: [...tags],
      ...(env === undefined ? {} : { env: { ...env } }),
    });
    const { pane_id, output_cursor } = session;
    const isOwned = name === undefined;
    const terminal = new Terminal(call, session.name, pane_id, output_cursor, isOwned, timeout, watch, doubt);
    if (isOwned) opened.add(terminal);
    return terminal;
  }

  /** The pane's id is used instead of the name, so that the terminal follows a renamed session. */
  async function existing(name: string, mayCreate: boolean): Promise<{ name: string; target: string } | null> {
    try {
      const info = await call("session.get", {}, name);
      return { name: info.name, target: /[:/@]/.test(name) ? name : info.pane_id };
    } catch (thrown) {
      if (mayCreate && WshError.from(thrown).code === "session_not_found") return null;
      throw thrown;
    }
  }

  return {
    open,
    async sessions() {
      return (await call("sessions.list", {})).map((each) => briefOf(each, "name", "state", "tags", "exit_code"));
    },
    async closeAll() {
      await Promise.allSettled(opening);
      const ends = [...opened].map((terminal) =>
        terminal.close().then(
          () => [],
          () => [terminal.name],
        ),
      );
      const running = (await Promise.all(ends)).flat();
      opened.clear();
      if (running.length > 0) throw new WshError("server_unavailable", `still running: ${running.join(", ")}`);
    },
  };
}
