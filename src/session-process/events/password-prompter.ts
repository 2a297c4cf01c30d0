/**
 * Asks the person for the password that a program reads in a pane that an AI agent drives: the typed text goes
 * only to that program. If nobody is attached, the question waits for a person.
 *
 * Invariant: one question each time the program reads a password, at most MAX_ATTEMPTS until it stops, however
 * often the pane is moved. It asks neither beside another question for a secret of that pane nor after a person
 * has typed there.
 */
import type { Pane } from "../../pane/pane.ts";
import { intervals } from "../../platform/intervals.ts";
import type { Ask } from "../../protocol/asking.ts";
import { quoted } from "../../protocol/harmless-text.ts";
import type { SessionState } from "../../protocol/session.ts";
import { isOwnQuestion, type PaneQuestions } from "./pane-questions.ts";

/** Lifetime of a question, in ms. */
const QUESTION_LIFETIME_MS = intervals.passwordAsked;
/** Wrong passwords after which no further question is asked: sudo gives up after three. */
const MAX_ATTEMPTS = 3;

interface PasswordPrompterPort {
  readonly pane: Pane;
  /** Of the session that has the pane now. */
  questions(): PaneQuestions;
}

/** The prompters of the panes that run here. */
export const passwordPrompters = new WeakMap<Pane, PasswordPrompter>();

export class PasswordPrompter {
  private wrongAttempts = 0;
  /** The session's questions that contain the current one; null: no question is open. */
  private pending: { readonly questions: PaneQuestions } | null = null;
  /** How the last question of the current program ended. */
  private lastEnd: string | null = null;

  /** @param drivingAgent the AI agent whose call typed there last, or that owns the pane; null: another caller */
  constructor(
    private readonly port: PasswordPrompterPort,
    public drivingAgent: string | null,
  ) {
    passwordPrompters.set(port.pane, this);
  }

  /** Call after each check of the pane's program. */
  stateChecked(state: SessionState): void {
    const { pane } = this.port;
    if (state !== "password") {
      this.withdraw();
      if (state !== "running") this.wrongAttempts = 0;
      this.lastEnd = null;
      return;
    }
    const agent = this.drivingAgent;
    const hasGivenUp = this.wrongAttempts >= MAX_ATTEMPTS || (this.lastEnd !== null && this.lastEnd !== "answered");
    if (this.pending === null && !hasGivenUp && agent !== null && pane.writer.source !== "person") void this.ask(agent);
  }

  /** Call when the pane has moved to another session, which then shows the question. */
  paneMoved(): void {
    if (this.pending === null) return;
    this.withdraw();
    if (this.drivingAgent !== null) void this.ask(this.drivingAgent);
  }

  /** The message to the agent about the question; null: no question was asked. */
  async agentNotice(): Promise<string | null> {
    const { pending, lastEnd } = this;
    if (pending !== null) {
      return (await pending.questions.countPeople().catch(() => 0)) > 0
        ? "the person is asked for the password: wait for the command's end"
        : `nobody is attached: a person who attaches within ${QUESTION_LIFETIME_MS / 60_000} minutes is asked for the password`;
    }
    if (lastEnd === null || lastEnd === "answered") return null;
    const how =
      lastEnd === "timeout" ? `nobody typed it within ${QUESTION_LIFETIME_MS / 60_000} minutes` : "the person did not";
    return `the password was asked for, and ${how}: stop the command, and do not ask for it in another way`;
  }

  private async ask(agent: string): Promise<void> {
    const { pane } = this.port;
    const questions = this.port.questions();
    const program = pane.secrets.prompt()?.program ?? "A program";
    const currentQuestion = { questions };
    this.pending = currentQuestion;
    const question: Ask = {
      question: `${quoted(program)} reads a password`,
      detail: `The agent ${quoted(agent)} has started it. Only this program receives what you type.`,
      kind: "secret",
      multiple: false,
      timeout_ms: QUESTION_LIFETIME_MS,
      max_wait_ms: QUESTION_LIFETIME_MS,
      wait_for_person: true,
    };
    let end: string | null = null;
    try {
      const otherQuestions = await questions.secretQuestions(pane.id);
      if (this.pending === currentQuestion && otherQuestions.length === 0) {
        end = await questions.ask(question, pane.id);
      }
    } catch {
      // The program no longer reads one, too many questions are open, or the pane's session is gone.
    }
    if (this.pending !== currentQuestion) return;
    if (end === "answered") this.wrongAttempts++;
    this.lastEnd = end;
    this.pending = null;
  }

  private withdraw(): void {
    const { pending } = this;
    this.pending = null;
    if (pending !== null) void this.cancel(pending.questions).catch(() => {});
  }

  private async cancel(questions: PaneQuestions): Promise<void> {
    for (const each of await questions.secretQuestions(this.port.pane.id))
      if (isOwnQuestion(each)) await questions.cancel(each.ask_id);
  }
}
