/**
 * The questions of a session to its person: one is shown at a time, the others queue in order of arrival.
 *
 * A question lives until it is answered, dismissed, cancelled or timed out, independent of the call that asked it. It
 * is shown only while a person who can answer is attached, and not while that person types: their keys go to the
 * program. A dialog takes keys only after a pause, since earlier ones were meant for the program below. A hand-over
 * has no deadline after it was taken: the agent must not continue while the person works. A secret is dropped as soon
 * as it has been typed; no result contains it. An answer by a call is marked as such, and never counts as the
 * person's.
 */
import { orUntil } from "../../base/deadline.ts";
import { type DialogContent, layoutDialog } from "../../compositor/dialog.ts";
import type { InputEvent } from "../../keys/types.ts";
import type { Answer, AskEnd } from "../../protocol/ask-result.ts";
import type { Ask, PendingQuestion, PersonThere } from "../../protocol/asking.ts";
import { callerText } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import { fittingAnswer, questionOf, shownOf } from "../../protocol/question.ts";
import type { SecretPrompt } from "../../protocol/secret.ts";
import type { Size } from "../../protocol/size.ts";
import { ViewerKeys } from "../viewer-keys.ts";
import { continuesTyping, dialogContent, dialogState, handleEvent } from "./dialog.ts";
import { GuardInterval } from "./guard-interval.ts";
import { OpenQuestions, type QuestionEnd } from "./open-questions.ts";
import type { Answers, OpenQuestion, Party, QuestionResult, QuestionsPort, ShownQuestion } from "./types.ts";

/** Pause in the person's typing before a dialog opens, in ms: longer than the pause between two keys. */
const PAUSE_MS = 600;
/** Longest wait for the program's state after a hand-over, in ms: its process may hang. */
const STATE_MS = 1_000;
/**
 * Time that a dialog is shown without a key before keys and clicks take effect, in ms: about the time to notice it.
 */
const GUARD_MS = 300;
/**
 * The same for a dialog after one that ended by itself while shown, in ms: the person's next key was meant for that
 * one.
 */
const REPLACED_GUARD_MS = 1_000;

export class Questions implements Answers {
  private readonly open: OpenQuestions;
  private shownQuestion: ShownQuestion | null = null;
  /** The hand-over during which the person works at the program. */
  private handedOverQuestion: OpenQuestion | null = null;
  private openTimer: Disposable | null = null;
  /** A question being completed: a secret on its way to the program, or a returned hand-over. */
  private completingQuestion: OpenQuestion | null = null;
  private lastKeyAt = Number.NEGATIVE_INFINITY;
  /** Time at which a dialog that was shown ended by itself. */
  private replacedAt = Number.NEGATIVE_INFINITY;
  /** Time of the last attach, key or click. */
  private lastActAt = Number.NEGATIVE_INFINITY;
  private peopleCount = 0;
  private readonly viewerKeys: ViewerKeys;
  private readonly guardInterval = new GuardInterval();
  /** The terminal whose keys are being handled. */
  private keySource: number | null = null;
  private size: Size = { rows: 1, cols: 1 };

  constructor(private readonly port: QuestionsPort) {
    this.open = new OpenQuestions(port.clock, (entry, end) => this.handleEnd(entry, end));
    this.viewerKeys = new ViewerKeys(port.clock, (events, viewer) => this.handleEvents(events, viewer));
  }

  /**
   * Asks, and waits for the answer as long as the caller does. Aborting does not close the question.
   * @param decided called once when the question ends, before the next one is shown
   * @throws WshError invalid_request, no_password_prompt, resource_limit_reached
   */
  async ask(
    ask: Ask,
    asker: Party,
    pane: string,
    signal: AbortSignal,
    decided?: (result: QuestionResult) => void,
  ): Promise<QuestionResult> {
    const question = questionOf(ask);
    if (question.kind === "secret" && (await this.port.secrets.prompt(pane)) === null) {
      throw await this.noPromptError(pane);
    }
    const waits = ask.wait_for_person || this.port.countPeople() > 0 || this.port.hasNotice();
    if (!waits) return { state: "closed", decided_by: "nobody_attached" };
    this.open.requireRoom(asker);
    const { clock } = this.port;
    const entry: OpenQuestion = {
      id: this.port.newId(),
      question,
      asker,
      pane,
      waiters: new Set(decided === undefined ? [] : [decided]),
      deadlineTimer: null,
      deadline: clock.now() + ask.timeout_ms,
    };
    this.open.add(entry);
    this.reportChange(entry, null);
    this.port.waiting(this.open.all.length);
    this.scheduleNext();
    if (this.shownQuestion !== null) this.port.changed();
    return this.open.awaitEnd(entry, ask.max_wait_ms, signal);
  }

  /** @throws WshError question_not_found, resource_limit_reached */
  answer(id: string, maxWaitMs: number, signal: AbortSignal): Promise<QuestionResult> {
    return this.open.answer(id, maxWaitMs, signal);
  }

  /**
   * @param by the agent that cancels; null: a person or a program
   * @throws WshError question_not_found, also for an ended one; access_denied for another's question
   */
  cancel(id: string, by: string | null = null): QuestionResult {
    const entry = this.open.find(id);
    const { agent = null, label } = entry.asker;
    if (by !== null && by !== agent)
      throw new WshError("access_denied", `an agent cancels only its own questions: ${label} asked '${id}'`, {
        hint: "Leave it to the person.",
      });
    return this.open.close(entry, { state: "closed", decided_by: "cancelled" });
  }

  /** The asking party no longer needs an answer. @param asker the object with which it asked */
  retract(asker: Party): void {
    const entry = this.open.all.find((each) => each.asker === asker);
    if (entry !== undefined) this.open.close(entry, { state: "closed", decided_by: "cancelled" });
  }

  /**
   * A call answers instead of the person at a terminal; the result reports this, and names the caller.
   * @throws WshError question_not_found, access_denied for the asking party, invalid_request for an unsuitable answer
   */
  answerBy(id: string, given: unknown, by: Party & { readonly isNotice?: boolean }): QuestionResult {
    const entry = this.open.find(id);
    const { question, asker } = entry;
    if (by.id !== null && by.id === asker.id) {
      throw new WshError("access_denied", "the caller that asked cannot answer");
    }
    if (question.kind === "secret" || question.kind === "hand_over") {
      const why = question.kind === "secret" ? "secrets are typed" : "hand-overs happen";
      throw new WshError("invalid_request", `${why} only at a terminal, not by a call`, { field: "ask_id" });
    }
    const answer = fittingAnswer(question, given);
    const answeredBy = { answered_by: by.isNotice === true ? "notice" : "call", answered_as: by.label } as const;
    return this.open.close(entry, { state: "answered", decided_by: "answered", ...answeredBy, answer });
  }

  list(): PendingQuestion[] {
    const now = this.port.clock.now();
    return this.open.all.map((entry) => ({
      ask_id: entry.id,
      ...shownOf(entry.question),
      pane_id: entry.pane,
      asked_by: entry.asker.label,
      state:
        entry === this.handedOverQuestion ? "handed_over" : entry === this.shownQuestion?.entry ? "open" : "queued",
      remaining_ms: entry.deadline === null ? null : Math.max(0, Math.round(entry.deadline - now)),
    }));
  }

  /** The dialog for the terminals; null: there is none. Composed once per frame. */
  get dialog(): DialogContent | null {
    const { shownQuestion } = this;
    if (shownQuestion === null) return null;
    const { entry, state, acceptsKeys, secret } = shownQuestion;
    const count = this.open.all.length;
    const more = count > 1 ? ` (1 of ${count})` : "";
    return dialogContent(entry.question, state, {
      title: `${callerText(entry.asker.label)} asks${more}`,
      acceptsKeys,
      secret,
    });
  }

  /** Whether terminals show a part of questions. */
  get isShown(): boolean {
    return this.shownQuestion !== null || this.handedOverQuestion !== null;
  }

  /** The person's task at the program during a hand-over; else null. */
  get handedOver(): string | null {
    return this.handedOverQuestion?.question.question ?? null;
  }

  /**
   * A person typed or clicked at a terminal.
   * @returns whether the input belonged to a dialog
   */
  type(viewer: number, bytes: Uint8Array, size: Size): boolean {
    this.lastActAt = this.port.clock.now();
    if (this.shownQuestion === null) {
      this.lastKeyAt = this.lastActAt;
      return this.guardInterval.swallows(viewer, bytes, this.lastActAt);
    }
    this.guardInterval.noteDialogKey(viewer, this.lastActAt);
    this.size = size;
    this.viewerKeys.push(viewer, bytes);
    return true;
  }

  forgetViewer(viewer: number): void {
    this.viewerKeys.forget(viewer);
    this.guardInterval.forget(viewer);
  }

  /** The number of attached people changed. */
  handlePeopleChange(): void {
    const before = this.peopleCount;
    this.peopleCount = this.port.countPeople();
    if (this.peopleCount > before) this.lastActAt = this.port.clock.now();
    if (this.peopleCount > 0) this.scheduleNext();
    else this.withdraw();
  }

  personPresence(): PersonThere {
    const since = this.port.clock.now() - this.lastActAt;
    return {
      people: this.port.countPeople(),
      acted_ms: Number.isFinite(since) ? Math.round(since) : null,
      noticed: this.port.hasNotice(),
    };
  }

  /** The person has finished at the program. Idempotent. */
  async endHandOver(): Promise<void> {
    const { handedOverQuestion } = this;
    if (handedOverQuestion === null || this.completingQuestion !== null) return;
    this.completingQuestion = handedOverQuestion;
    try {
      const state = Promise.resolve(this.port.programState(handedOverQuestion.pane));
      const limits = { clock: this.port.clock, ms: STATE_MS };
      const program_state = await orUntil(state, limits, () => "unresponsive" as const).catch(() => "exited" as const);
      this.open.close(handedOverQuestion, {
        state: "answered",
        decided_by: "answered",
        answered_by: "terminal",
        program_state,
      });
    } finally {
      this.completingQuestion = null;
      this.scheduleNext();
    }
  }

  /** A pane's program has ended, and with it any reader of a secret there; one being typed reports its own end. */
  handleProgramEnd(pane: string): void {
    for (const entry of this.open.all)
      if (entry.pane === pane && entry.question.kind === "secret" && entry !== this.completingQuestion)
        this.open.close(entry, secretNotTaken("the program that read the password has ended"));
  }

  /** Ends all questions; none can be asked afterwards. */
  endAll(): void {
    for (const entry of this.open.all) this.open.close(entry, { state: "closed", decided_by: "session_ended" });
  }

  dispose(): void {
    this.endAll();
    this.openTimer?.[Symbol.dispose]();
    this.openTimer = null;
    this.viewerKeys.dispose();
  }

  /** A question has ended. */
  private handleEnd(entry: OpenQuestion, end: AskEnd): void {
    this.reportChange(entry, end);
    if (this.shownQuestion?.entry === entry) {
      if (this.keySource === null) this.replacedAt = this.port.clock.now();
      this.closeDialog();
    }
    if (this.handedOverQuestion === entry) this.handedOverQuestion = null;
    this.port.waiting(this.open.all.length);
    this.scheduleNext();
    this.port.changed();
  }

  private reportChange({ id, question, asker, pane }: OpenQuestion, end: AskEnd | null): void {
    this.port.happened({ id, question, askedBy: asker.label, pane, end });
  }

  private async noPromptError(pane: string): Promise<WshError> {
    const others = ((await this.port.secrets.readers?.()) ?? []).filter((each) => each !== pane);
    const [first] = others;
    if (first === undefined)
      return new WshError("no_password_prompt", "no program in the session is reading a password");
    return new WshError("no_password_prompt", `no program in pane '${pane}' is reading a password`, {
      hint: `The program in pane '${first}' is: name that pane instead of the session.`,
    });
  }

  private closeDialog(): void {
    this.guardInterval.noteClosed(this.port.clock.now(), this.keySource);
    this.shownQuestion?.guardTimer[Symbol.dispose]();
    this.shownQuestion = null;
    this.viewerKeys.dispose();
  }

  /** Nobody can answer any more: the question waits, and typed text is discarded. */
  private withdraw(): void {
    this.openTimer?.[Symbol.dispose]();
    this.openTimer = null;
    if (this.shownQuestion === null) return;
    this.closeDialog();
    this.port.changed();
  }

  /** Opens the next question when the person pauses. */
  private scheduleNext(): void {
    const { clock } = this.port;
    if (this.completingQuestion !== null) return;
    if (this.shownQuestion !== null || this.handedOverQuestion !== null || this.openTimer !== null) return;
    const [entry] = this.open.all;
    if (entry === undefined || this.port.countPeople() === 0) return;
    const rest = Math.max(this.lastKeyAt, this.replacedAt) + PAUSE_MS - clock.now();
    if (rest > 0) {
      this.openTimer = clock.after(rest, () => {
        this.openTimer = null;
        this.scheduleNext();
      });
      return;
    }
    if (entry.question.kind === "secret") void this.prepareDialog(entry);
    else this.show(entry, null);
  }

  /** Finds the reader of a secret, and shows the question. */
  private async prepareDialog(entry: OpenQuestion): Promise<void> {
    const looking = new AbortController();
    const opening = { [Symbol.dispose]: () => looking.abort() };
    this.openTimer = opening;
    const secret = await Promise.resolve(this.port.secrets.prompt(entry.pane)).catch(() => null);
    if (this.openTimer === opening) this.openTimer = null;
    if (looking.signal.aborted) return;
    if (!this.open.has(entry)) this.scheduleNext();
    else if (secret !== null) this.show(entry, secret);
    else this.open.close(entry, secretNotTaken("the program stopped reading a password before the question was shown"));
  }

  private show(entry: OpenQuestion, secret: SecretPrompt | null): void {
    const state = dialogState(entry.question);
    const isReplacing = this.port.clock.now() - this.replacedAt < PAUSE_MS + REPLACED_GUARD_MS;
    const guardMs = isReplacing ? REPLACED_GUARD_MS : GUARD_MS;
    this.shownQuestion = {
      entry,
      state,
      acceptsKeys: false,
      secret,
      guardMs,
      guardTimer: this.startGuard(entry, guardMs),
    };
    this.port.changed();
  }

  /** Ends the guard of a dialog after a pause. */
  private startGuard(entry: OpenQuestion, guardMs: number): Disposable {
    return this.port.clock.after(guardMs, () => {
      if (this.shownQuestion?.entry !== entry) return;
      this.shownQuestion.acceptsKeys = true;
      this.port.changed();
    });
  }

  private handleEvents(events: readonly InputEvent[], viewer: number): void {
    this.keySource = viewer;
    for (const event of events) this.handleEvent(event);
    this.keySource = null;
  }

  private handleEvent(event: InputEvent): void {
    const { shownQuestion } = this;
    const content = this.dialog;
    if (shownQuestion === null || content === null) return;
    if (!shownQuestion.acceptsKeys) {
      if (!continuesTyping(event)) return;
      shownQuestion.guardTimer[Symbol.dispose]();
      shownQuestion.guardTimer = this.startGuard(shownQuestion.entry, shownQuestion.guardMs);
      return;
    }
    const step = handleEvent(
      shownQuestion.entry.question,
      shownQuestion.state,
      event,
      layoutDialog(content, this.size),
    );
    switch (step.type) {
      case "changed":
        shownQuestion.state = step.state;
        this.port.changed();
        break;
      case "answered":
        this.closeAnswered(shownQuestion.entry, step.answer);
        break;
      case "secret":
        void this.typeSecret(shownQuestion, step.typed);
        break;
      case "taken_over":
        this.handOver(shownQuestion.entry);
        break;
      case "dismissed":
        this.open.close(shownQuestion.entry, { state: "closed", decided_by: "dismissed", answered_by: "terminal" });
    }
  }

  private closeAnswered(entry: OpenQuestion, answer: Answer): void {
    this.open.close(entry, { state: "answered", decided_by: "answered", answered_by: "terminal", answer });
  }

  /** Types the secret to its intended reader, or discards it. */
  private async typeSecret({ entry, secret }: ShownQuestion, typed: string): Promise<void> {
    this.closeDialog();
    this.completingQuestion = entry;
    // The result reports whether the secret was typed.
    this.open.disarmDeadline(entry);
    this.port.changed();
    const bytes = new TextEncoder().encode(`${typed}\r`);
    const taken = secret !== null && (await this.port.secrets.type(secret, bytes).catch(() => false));
    this.completingQuestion = null;
    if (taken) this.open.close(entry, { state: "answered", decided_by: "answered", answered_by: "terminal" });
    else
      this.open.close(
        entry,
        secretNotTaken("the program no longer reads a password, or hangs; the typed text was discarded"),
      );
    // Also if it was cancelled meanwhile.
    this.scheduleNext();
  }

  private handOver(entry: OpenQuestion): void {
    this.closeDialog();
    this.handedOverQuestion = entry;
    this.open.disarmDeadline(entry);
    entry.deadline = null;
    this.port.takenOver(entry.pane);
    this.port.changed();
  }
}

function secretNotTaken(reason: string): QuestionEnd {
  return { state: "closed", decided_by: "secret_not_taken", reason };
}
