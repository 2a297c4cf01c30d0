/**
 * The line at the shell's prompt in the state that exec needs: shown by the pane's own shell, reported empty by its
 * editor, and protected from all other input. Anything else there is refused by name, or discarded on request.
 */

import type { Clock } from "../../base/clock.ts";
import { Wait } from "../../base/deadline.ts";
import { WshError } from "../../protocol/errors.ts";
import { shellKind } from "../../shell/plan.ts";
import type { InputHold } from "../input-gate.ts";
import type { ExecTarget, IntegratedShell } from "../ports.ts";
import type { StateObserver } from "../state/observer.ts";
import type { CommandLog } from "./command-log.ts";
import type { EmptyLine, LineEditor, LineState } from "./line-editor.ts";
import { obstacleTo, watchObstacle, withoutIntegration } from "./prompt-obstacle.ts";

/** How long a shell may take to show its first prompt, or the next one after a command, in ms. */
const PROMPT_MS = 5_000;
/** How long a caller that does not wait still waits for the prompt after the previous command, in ms. */
const MIN_PROMPT_WAIT_MS = 1_000;
/** How long a shell interrupted at its prompt may take to show the next one, in ms. */
const AFTER_INTERRUPT_MS = 500;
/** Characters of a line shown in a message. */
const MAX_SHOWN_CHARS = 80;
const NESTED_HINT =
  "Waiting does not change it. Give {typed} to run the command there, or type with {run}; exit there leads back to the shell.";
/** For ssh, containers and other relays of a terminal: the reading program is unknown here. */
const REMOTE_HINT =
  "Wait until it ends. If it shows a shell's prompt, use {typed} to run the command there, or type with {run}.";
export const CTRL_C = Uint8Array.of(3);

export interface LineRequest {
  /** Discards the text at the prompt. */
  readonly clearLine: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The hold, which lasts while the line is empty or ours, and how a command is typed into it. */
interface HeldLine extends Omit<EmptyLine, "kind"> {
  readonly hold: InputHold;
}

export interface LinePort {
  readonly clock: Clock;
  readonly target: ExecTarget;
  readonly log: CommandLog;
  readonly observer: StateObserver;
  readonly editor: LineEditor;
}

export class PromptLine {
  constructor(private readonly port: LinePort) {}

  /** Presses Ctrl+C and waits for the next prompt. */
  async interrupt(hold: InputHold): Promise<void> {
    const prompt = this.awaitPrompt(this.port.clock.now() + AFTER_INTERRUPT_MS, undefined);
    await hold.write(CTRL_C);
    if (await prompt) this.port.target.typed.noteDiscarded();
  }

  /** Holds all other input back and verifies that the editor reports the line at the shell's prompt empty. */
  async holdEmptyLine(request: LineRequest, deadline: number): Promise<HeldLine> {
    const { editor, target, log } = this.port;
    for (;;) {
      const shell = await this.awaitOwnPrompt(deadline, request.signal);
      const unfinished = await editor.awaitWholeInput(shell);
      if (unfinished !== null && !(request.clearLine && isClearable(unfinished))) {
        throw this.refusal({ kind: unfinished });
      }
      // The prompt may have gone: check again.
      if (log.phase !== "prompt") continue;
      const hold = target.hold();
      let isOurs = false;
      try {
        let line: LineState = unfinished === null ? await editor.ask(hold, shell) : { kind: unfinished };
        if (request.clearLine && isClearable(line.kind)) {
          line = await this.clearLine(hold, shell, line);
        }
        if (request.signal?.aborted === true) throw new WshError("cancelled", "the caller stopped waiting");
        if (line.kind === "left") continue;
        if (line.kind !== "empty") throw this.refusal(line);
        isOurs = true;
        return { hold, before: line.before, oneLine: line.oneLine };
      } finally {
        if (!isOurs) hold[Symbol.dispose]();
      }
    }
  }

  /** Empties the line with the editor's own key; interrupts if that does not suffice. */
  private async clearLine(hold: InputHold, shell: IntegratedShell, line: LineState): Promise<LineState> {
    const { editor } = this.port;
    let now = line;
    if (now.kind === "paste") {
      await hold.endPaste();
      now = await editor.ask(hold, shell);
    }
    if (now.kind === "half") {
      // After a key that quotes the next one, Ctrl+C would be text.
      await this.interrupt(hold);
      now = await editor.ask(hold, shell);
    }
    if (now.kind === "text") {
      await editor.clear(hold, shell);
      now = await editor.ask(hold, shell);
    }
    if (!isClearable(now.kind)) return now;
    await this.interrupt(hold);
    return await editor.ask(hold, shell);
  }

  private refusal(line: Exclude<LineState, { kind: "empty" | "left" }>): WshError {
    switch (line.kind) {
      case "text": {
        const shown = shorten(line.text);
        return new WshError("prompt_not_empty", `the line at the prompt contains '${shown}'`, { line: line.text });
      }
      case "open":
        return new WshError("prompt_not_empty", "the prompt is in the middle of a command, a search or a list");
      case "typing":
        return new WshError("prompt_not_empty", "another client is typing at the prompt");
      case "half":
        return new WshError("prompt_not_empty", "a key sequence at the prompt is incomplete");
      case "unechoed": {
        const message = "the terminal does not echo, so a half-typed command would be invisible";
        return new WshError("prompt_not_empty", message, {
          hint: "{clear_line} discards a half-typed command; `stty echo` turns the echo on.",
        });
      }
      case "pasting":
      case "paste":
        return new WshError("prompt_not_empty", "a paste at the prompt is incomplete");
      case "silent":
        return new WshError("prompt_not_empty", "the shell's line editor does not report an empty line", {
          hint: "A key sequence, paste or question may be incomplete: check the screen; {clear_line} interrupts it. Ctrl+Q resumes output after Ctrl+S.",
        });
      case "busy":
        return new WshError("not_at_prompt", "the shell shows its prompt but does not read its input", {
          hint: "It may be busy; if Ctrl+S stopped the terminal, Ctrl+Q resumes it.",
        });
      case "lines":
        return new WshError("no_shell_integration", "the shell at the prompt has no line editor to query");
    }
  }

  /** Waits until the pane's shell shows its prompt; refuses when another program is in the foreground. */
  private async awaitOwnPrompt(deadline: number, signal: AbortSignal | undefined): Promise<IntegratedShell> {
    const { target, log, clock, observer } = this.port;
    observer.requireRunning();
    observer.observe();
    if (target.shell === null && target.replacedBy === null) {
      throw withoutIntegration(target.integrationReason ?? "it does not run a known shell");
    }
    // A caller that does not wait still gets the prompt that is about to follow the previous command.
    const until = Math.min(Math.max(deadline, clock.now() + MIN_PROMPT_WAIT_MS), clock.now() + PROMPT_MS);
    while (log.phase !== "prompt") {
      if (log.phase === "running") throw this.notAtPromptError();
      const came = await this.awaitPrompt(until, signal);
      if (came) continue;
      const obstacle = obstacleTo(this.port, observer.observe());
      if (obstacle !== null) throw obstacle;
      observer.requireRunning();
      if (signal?.aborted === true) throw new WshError("cancelled", "the caller stopped waiting");
      if (log.isActive) throw this.notAtPromptError();
      throw new WshError("not_at_prompt", "the shell has not shown its prompt yet", {
        state: observer.observe().state,
      });
    }
    if (log.shellHoldsTerminal() === false) throw this.notAtPromptError();
    const { shell } = target;
    if (shell !== null) return shell;
    throw new WshError("no_shell_integration", `'${target.replacedBy}' is not a shell with a line editor to query`);
  }

  /** Waits for the next prompt; false at the deadline, at the program's end, or when the caller is gone. */
  awaitPrompt(until: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { log, clock } = this.port;
    const remaining = until - clock.now();
    if (remaining <= 0) return Promise.resolve(false);
    const wait = new Wait({ clock, ms: remaining, signal }, () => false);
    const came = (): void => wait.end(true);
    const never = (): void => wait.end(false);
    wait.own(log.on({ prompt: came, started: came, exited: never }), watchObstacle(this.port, never));
    return wait.promise;
  }

  private notAtPromptError(): WshError {
    const state = this.port.observer.observe();
    const running = this.port.log.runningCommand?.command ?? state.foreground?.name ?? "a program";
    const process = state.foreground?.name ?? null;
    if (state.state === "prompt") {
      const message = `'${running}' shows its own prompt inside the session's shell; exec types only at the shell's prompt`;
      return new WshError("not_at_prompt", message, {
        running,
        process,
        state: state.state,
        nested: true,
        hint: hintInside(process),
      });
    }
    const message = `the shell is not at its prompt: '${running}' runs (${state.state}: ${state.why})`;
    const hint = state.relay === null ? {} : { hint: REMOTE_HINT };
    return new WshError("not_at_prompt", message, { running, process, state: state.state, ...hint });
  }
}

/** Advice when an inner shell is at its prompt. */
function hintInside(process: string | null): string {
  const kind = process === null ? "other" : shellKind(process);
  if (kind === "other") return NESTED_HINT;
  return `Use {integrate} ${kind} to make commands there exact and verified. Or: ${NESTED_HINT}`;
}

/** The states that clear_line can discard. */
function isClearable(kind: LineState["kind"]): boolean {
  return ["text", "open", "silent", "half", "paste", "unechoed"].includes(kind);
}

export function shorten(line: string): string {
  return line.length > MAX_SHOWN_CHARS ? `${line.slice(0, MAX_SHOWN_CHARS)}…` : line;
}
