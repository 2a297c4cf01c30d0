/**
 * An agent's running program: its process (`wsh script-sandbox`), its unread output, and its own terminals, which end
 * with it however it ends. Every call of the program is made on behalf of the agent, and only the language's calls are
 * permitted.
 */

import { selfCommand } from "../../launch/launch.ts";
import { findOperation } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { isRecord } from "../../protocol/json.ts";
import type { FromSandbox, ToSandbox } from "../../protocol/sandbox.ts";
import { LineSplitter } from "../../wire/lines.ts";
import type { Ask } from "../tools/tool.ts";

/** Longest message of a sandbox, in bytes, and maximum text stored until it is read. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const MAX_PRINTED = 1024 * 1024;
/**
 * Number of calls and loop turns after which the optimizing compiler compiles the interpreter's WebAssembly.
 * Most programs end before that pays off: without it, an answer comes after 68 to 90 ms instead of 101 to
 * 167; computing for a second takes as long as before (measured).
 */
const OPTIMIZED_AFTER = "1000000";
const engineOptions = {
  BUN_JSC_thresholdForOMGOptimizeAfterWarmUp: OPTIMIZED_AFTER,
  BUN_JSC_thresholdForOMGOptimizeSoon: OPTIMIZED_AFTER,
};

type ProgramEnd =
  | { readonly state: "finished"; readonly value?: unknown }
  | { readonly state: "failed"; readonly error: string; readonly line: number | null }
  | { readonly state: "stopped" };

export class ProgramRun {
  /** Its current step. */
  currentStep: { readonly step: string; readonly line: number | null } | null = null;
  private result: ProgramEnd | null = null;
  private printed: string[] = [];
  private printedLength = 0;
  private droppedLength = 0;
  private readonly endedPromise = Promise.withResolvers<void>();
  private readonly stopping = new AbortController();
  /** Sessions of its own terminals by their panes, until it has closed them. */
  private readonly ownSessions = new Map<string, string>();
  /** Also calls after the program's end. */
  private readonly closer: Ask;
  private readonly child: Bun.Subprocess<"pipe", "pipe", "ignore">;

  /** @param asker calls operations for the agent until the signal reports that the program has ended */
  constructor(
    { code, session }: { readonly code: string; readonly session?: string | undefined },
    asker: (signal: AbortSignal) => Ask,
  ) {
    this.child = Bun.spawn(selfCommand(["script-sandbox"]), {
      cwd: "/",
      env: engineOptions,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
    });
    this.closer = asker(new AbortController().signal);
    this.send({ kind: "begin", code, ...defined({ session }) });
    void this.read(asker(this.stopping.signal));
  }

  get ended(): ProgramEnd | null {
    return this.result;
  }

  /** Resolves when the program and its own terminals have ended. */
  get finished(): Promise<void> {
    return this.endedPromise.promise;
  }

  stop(): void {
    this.end({ state: "stopped" });
  }

  /** The output since the last call. */
  takeOutput(): { readonly text: string; readonly dropped: number } {
    const taken = { text: this.printed.join("\n"), dropped: this.droppedLength };
    this.printed = [];
    this.printedLength = 0;
    this.droppedLength = 0;
    return taken;
  }

  private async read(ask: Ask): Promise<void> {
    const lines = new LineSplitter(
      MAX_MESSAGE_BYTES,
      (text) => this.receive(JSON.parse(text), ask),
      () => this.end({ state: "failed", error: "the program sends too much at once", line: null }),
    );
    for await (const bytes of this.child.stdout) lines.push(bytes);
    this.end({ state: "failed", error: "the program's process has ended", line: null });
  }

  private receive(message: FromSandbox, ask: Ask): void {
    if (this.result !== null) return;
    if (message.kind === "print") this.print(message.text);
    else if (message.kind === "step") this.currentStep = { step: message.text, line: message.line };
    else if (message.kind === "call") void this.call(message, ask);
    else if (message.kind === "end") this.end({ state: "finished", value: message.value });
    else this.end({ state: "failed", error: message.message, line: message.line });
  }

  private async call(
    { id, operation: name, input, session }: Extract<FromSandbox, { kind: "call" }>,
    ask: Ask,
  ): Promise<void> {
    try {
      const operation = findOperation(name);
      if (operation?.inScripts !== true) throw new Error(`'${name}' is not part of the language`);
      const result = await ask(operation.name, input as never, session);
      this.trackOwnSession(name, input, session, result);
      this.send({ kind: "answer", id, result: result ?? null });
    } catch (thrown) {
      // With the hint in the words of MCP.
      this.send({ kind: "answer", id, error: WshError.from(thrown).bodyAt("mcp") });
    }
  }

  /** A terminal without a name belongs to the program (client/terminal/language.ts). */
  private trackOwnSession(name: string, input: unknown, target: string | undefined, result: unknown): void {
    if (name === "session.kill" && target !== undefined) this.ownSessions.delete(target);
    if (name !== "sessions.create" || !isRecord(input) || input.name !== undefined || !isRecord(result)) return;
    const { id, pane_id } = result;
    if (typeof id !== "string" || typeof pane_id !== "string") return;
    this.ownSessions.set(pane_id, id);
    // It was made while the program ended.
    if (this.result !== null) void this.closeOwnSessions();
  }

  /** Ends the terminals that the program could not close: it was stopped, or failed in its process. */
  private async closeOwnSessions(): Promise<void> {
    const sessions = [...this.ownSessions.values()];
    this.ownSessions.clear();
    // One that cannot be ended has ended already, or its agent's token has.
    await Promise.allSettled(sessions.map((session) => this.closer("session.kill", {}, session)));
  }

  private print(text: string): void {
    if (this.printedLength + text.length > MAX_PRINTED) {
      this.droppedLength += text.length;
      return;
    }
    this.printed.push(text);
    this.printedLength += text.length + 1;
  }

  private send(message: ToSandbox): void {
    if (this.result !== null) return;
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
    this.child.stdin.flush();
  }

  private end(result: ProgramEnd): void {
    if (this.result !== null) return;
    this.result = result;
    this.stopping.abort();
    this.child.kill("SIGKILL");
    void this.closeOwnSessions().then(this.endedPromise.resolve);
  }
}
