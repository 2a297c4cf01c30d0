/**
 * Asks the person for the password that a program reads in a pane that an AI agent drives: the typed text goes only to
 * that program. If nobody is attached, the question waits for a person.
 *
 * Invariant: one question each time the program reads one, at most MOST_TRIES until it stops; none beside another
 * question for a secret of that pane, and none after a person types there.
 */
import type { Pane } from "../../pane/pane.ts";
import { intervals } from "../../platform/intervals.ts";
import type { Ask } from "../../protocol/asking.ts";
import { quoted } from "../../protocol/harmless-text.ts";
import type { SessionState } from "../../protocol/session.ts";
import type { Questions } from "../../session/questions/questions.ts";

/** Lifetime of a question, in ms. */
const LIFE_MS = intervals.passwordAsked;
/** Wrong passwords after which no further question is asked: sudo gives up after three. */
const MOST_TRIES = 3;

interface PasswordAskPort {
  readonly pane: Pane;
  readonly questions: Pick<Questions, "ask" | "cancel" | "list" | "person">;
}

/** By pane that runs here. */
export const passwordAsks = new WeakMap<Pane, PasswordAsk>();

export class PasswordAsk {
  private tries = 0;
  private isPending = false;
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
  looked(state: SessionState): void {
    const { pane } = this.port;
    if (state !== "password") {
      this.withdraw();
      if (state !== "running") this.tries = 0;
      this.end = null;
      return;
    }
    const agent = this.drivenBy;
    const isOver = this.tries >= MOST_TRIES || (this.end !== null && this.end !== "answered");
    if (this.isPending || isOver || agent === null || pane.inputFrom === "person" || this.others().length > 0) return;
    this.tries++;
    void this.ask(agent);
  }

  /** The agent's message about the question; null: nothing was asked. */
  get words(): string | null {
    const { isPending, end } = this;
    if (isPending) {
      const isAttached = this.port.questions.person().people > 0;
      return isAttached
        ? "the person is asked for the password: wait for the command's end"
        : `nobody is attached: a person who attaches within ${LIFE_MS / 60_000} minutes is asked for the password`;
    }
    if (end === null || end === "answered") return null;
    const how = end === "timeout" ? `nobody has typed it within ${LIFE_MS / 60_000} minutes` : "the person has not";
    return `the password was asked for, and ${how}: stop the command, and do not ask for it another way`;
  }

  private async ask(agent: string): Promise<void> {
    const { pane, questions } = this.port;
    const program = pane.secrets.prompt()?.program ?? "A program";
    this.isPending = true;
    const asked: Ask = {
      question: `${quoted(program)} reads a password`,
      detail: `The agent ${quoted(agent)} has started it. Only this program receives what you type.`,
      kind: "secret",
      multiple: false,
      timeout_ms: LIFE_MS,
      max_wait_ms: LIFE_MS,
      wait_for_person: true,
    };
    const asker = { id: null, label: "wsh" };
    try {
      const { decided_by } = await questions.ask(asked, asker, pane.id, new AbortController().signal);
      this.end = decided_by ?? null;
    } catch {
      // The program no longer reads one, or too many questions are open.
      this.end = null;
    }
    this.isPending = false;
  }

  private withdraw(): void {
    if (!this.isPending) return;
    for (const { ask_id, asked_by } of this.others()) if (asked_by === "wsh") this.port.questions.cancel(ask_id);
  }

  /** Questions for a secret of this pane. */
  private others() {
    const { pane, questions } = this.port;
    return questions.list().filter(({ kind, pane_id }) => kind === "secret" && pane_id === pane.id);
  }
}
