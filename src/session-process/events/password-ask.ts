/**
 * Asks the person for the password that a program reads in a pane that an AI agent drives: the typed text goes only to
 * that program. If nobody is attached, the question waits for a person.
 *
 * Invariant: one question each time the program reads one, at most MAX_TRIES until it stops, however often the pane is
 * moved; none beside another question for a secret of that pane, and none after a person types there.
 */
import type { Pane } from "../../pane/pane.ts";
import { intervals } from "../../platform/intervals.ts";
import type { Ask } from "../../protocol/asking.ts";
import { quoted } from "../../protocol/harmless-text.ts";
import type { SessionState } from "../../protocol/session.ts";
import { isOwnQuestion, type PaneQuestions } from "./pane-questions.ts";

/** Lifetime of a question, in ms. */
const LIFE_MS = intervals.passwordAsked;
/** Wrong passwords after which no further question is asked: sudo gives up after three. */
const MAX_TRIES = 3;

interface PasswordAskPort {
  readonly pane: Pane;
  /** Of the session that has the pane now. */
  questions(): PaneQuestions;
}

/** By pane that runs here. */
export const passwordAsks = new WeakMap<Pane, PasswordAsk>();

export class PasswordAsk {
  private tries = 0;
  /** The questions among which the current one is; null: there is none. */
  private pending: { readonly questions: PaneQuestions } | null = null;
  /** How the last question of the current program ended. */
  private end: string | null = null;

  /** @param drivenBy the AI agent whose call typed there last, or that owns the pane; null: another caller */
  constructor(
    private readonly port: PasswordAskPort,
    public drivenBy: string | null,
  ) {
    passwordAsks.set(port.pane, this);
  }

  /** The pane's program was checked. */
  stateChecked(state: SessionState): void {
    const { pane } = this.port;
    if (state !== "password") {
      this.withdraw();
      if (state !== "running") this.tries = 0;
      this.end = null;
      return;
    }
    const agent = this.drivenBy;
    const isOver = this.tries >= MAX_TRIES || (this.end !== null && this.end !== "answered");
    if (this.pending === null && !isOver && agent !== null && pane.newestInputSource !== "person") void this.ask(agent);
  }

  /** Another session has the pane: it shows the question instead. */
  moved(): void {
    if (this.pending === null) return;
    this.withdraw();
    if (this.drivenBy !== null) void this.ask(this.drivenBy);
  }

  /** The agent's message about the question; null: nothing was asked. */
  async agentNotice(): Promise<string | null> {
    const { pending, end } = this;
    if (pending !== null) {
      return (await pending.questions.people().catch(() => 0)) > 0
        ? "the person is asked for the password: wait for the command's end"
        : `nobody is attached: a person who attaches within ${LIFE_MS / 60_000} minutes is asked for the password`;
    }
    if (end === null || end === "answered") return null;
    const how = end === "timeout" ? `nobody typed it within ${LIFE_MS / 60_000} minutes` : "the person did not";
    return `the password was asked for, and ${how}: stop the command, and do not ask for it in another way`;
  }

  private async ask(agent: string): Promise<void> {
    const { pane } = this.port;
    const questions = this.port.questions();
    const program = pane.secrets.prompt()?.program ?? "A program";
    const asking = { questions };
    this.pending = asking;
    const asked: Ask = {
      question: `${quoted(program)} reads a password`,
      detail: `The agent ${quoted(agent)} has started it. Only this program receives what you type.`,
      kind: "secret",
      multiple: false,
      timeout_ms: LIFE_MS,
      max_wait_ms: LIFE_MS,
      wait_for_person: true,
    };
    let end: string | null = null;
    try {
      const others = await questions.secrets(pane.id);
      if (this.pending === asking && others.length === 0) {
        end = await questions.ask(asked, pane.id);
      }
    } catch {
      // The program no longer reads one, too many questions are open, or the pane's session is gone.
    }
    if (this.pending !== asking) return;
    if (end === "answered") this.tries++;
    this.end = end;
    this.pending = null;
  }

  private withdraw(): void {
    const { pending } = this;
    this.pending = null;
    if (pending !== null) void this.cancel(pending.questions).catch(() => {});
  }

  private async cancel(questions: PaneQuestions): Promise<void> {
    for (const each of await questions.secrets(this.port.pane.id))
      if (isOwnQuestion(each)) await questions.cancel(each.ask_id);
  }
}
