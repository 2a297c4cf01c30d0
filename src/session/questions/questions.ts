/**
 * The questions of a session to its person: one is shown at a time, the others queue in the order in which they came.
 *
 * A question lives until it is answered, dismissed, cancelled or over, whatever becomes of the call that asked it. It is
 * shown only while somebody is attached who can answer, and not while that person types: their keys are for the
 * program. For a moment after a dialog came, keys do nothing, since they were meant for what it covers. A hand-over has
 * no deadline once it was taken: nobody else may go on while the person works. A secret is dropped as soon as it was
 * typed; no result holds it. Pending questions, waits and kept results are limited.
 */
import { Wait } from "../../base/deadline.ts";
import { type DialogContent, layoutDialog } from "../../compositor/dialog.ts";
import type { InputEvent } from "../../keys/types.ts";
import type { SecretPrompt } from "../../pane/secret-prompt.ts";
import type { Answer, AskEnd, AskResult } from "../../protocol/ask-result.ts";
import { type Ask, type PendingQuestion, type Question, questionOf } from "../../protocol/asking.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Size } from "../../protocol/size.ts";
import { ViewerKeys } from "../viewer-keys.ts";
import { act, type DialogState, dialogContent, dialogState } from "./dialog.ts";
import type { QuestionsPort } from "./types.ts";

/** Questions that wait to be answered at once: more than a person goes through. */
const MAX_PENDING = 32;
/** Results kept for callers that ask again. */
const MAX_KEPT = 64;
/** Waits for answers at once. */
const MAX_WAITS = 256;
/** How long the person has typed nothing before a dialog opens, in ms: longer than the pause between two keys. */
const PAUSE_MS = 600;
/** How long after a dialog opened keys and clicks do nothing, in ms: about the time to notice it. */
const GUARD_MS = 300;

/** A result without the session's name, which may change meanwhile. */
export type QuestionResult = Omit<AskResult, "session">;

interface Entry {
  readonly id: string;
  readonly question: Question;
  readonly askedBy: string;
  /** Ends its life; disposed of when a hand-over is taken. */
  life: Disposable | null;
  /** Clock time at which its life ends; null without a deadline. */
  until: number | null;
  readonly waits: Set<(result: QuestionResult) => void>;
}

interface Open {
  readonly entry: Entry;
  state: DialogState;
  live: boolean;
  /** Who reads the secret. */
  readonly secret: SecretPrompt | null;
  readonly timer: Disposable;
}

export class Questions {
  private readonly pending: Entry[] = [];
  private readonly results = new Map<string, QuestionResult>();
  private open: Open | null = null;
  /** The hand-over during which the person works at the program. */
  private given: Entry | null = null;
  private opening: Disposable | null = null;
  private typedAt = Number.NEGATIVE_INFINITY;
  /** When somebody attached, typed or clicked last. */
  private actedAt = Number.NEGATIVE_INFINITY;
  private people = 0;
  private waiting = 0;
  private readonly keys: ViewerKeys;
  private size: Size = { rows: 1, cols: 1 };

  constructor(private readonly port: QuestionsPort) {
    this.keys = new ViewerKeys(port.clock, (events) => this.pressed(events));
  }

  /**
   * Asks, and waits for the answer as long as the caller does. Aborting leaves the question.
   * @throws WshError invalid_request, no_password_prompt, resource_limit_reached
   */
  async ask(ask: Ask, askedBy: string, signal: AbortSignal): Promise<QuestionResult> {
    const question = questionOf(ask);
    if (question.kind === "secret" && this.port.secrets.prompt() === null) {
      throw new WshError("no_password_prompt", "no program in the session reads a password");
    }
    if (this.port.people() === 0 && !ask.wait_for_person) return { state: "closed", decided_by: "nobody_attached" };
    if (this.pending.length >= MAX_PENDING) {
      throw new WshError("resource_limit_reached", `${MAX_PENDING} questions wait for the person already`);
    }
    const { clock } = this.port;
    const entry: Entry = {
      ...{ id: this.port.newId(), question, askedBy, waits: new Set() },
      life: clock.after(ask.timeout_ms, () => this.close(entry, { state: "closed", decided_by: "timeout" })),
      until: clock.now() + ask.timeout_ms,
    };
    this.pending.push(entry);
    this.next();
    if (this.open !== null) this.port.changed();
    return this.awaitEnd(entry, ask.max_wait_ms, signal);
  }

  /** @throws WshError question_not_found, resource_limit_reached */
  async answer(id: string, maxWaitMs: number, signal: AbortSignal): Promise<QuestionResult> {
    const result = this.results.get(id);
    return result ?? this.awaitEnd(this.find(id), maxWaitMs, signal);
  }

  /** @throws WshError question_not_found for one that is over, too */
  cancel(id: string): QuestionResult {
    const entry = this.find(id);
    this.close(entry, { state: "closed", decided_by: "cancelled" });
    return this.results.get(id) ?? { ask_id: id, state: "closed", decided_by: "cancelled" };
  }

  list(): PendingQuestion[] {
    const now = this.port.clock.now();
    return this.pending.map((entry) => ({
      ask_id: entry.id,
      kind: entry.question.kind,
      question: entry.question.question,
      asked_by: entry.askedBy,
      state: entry === this.given ? "handed_over" : entry === this.open?.entry ? "open" : "queued",
      remaining_ms: entry.until === null ? null : Math.max(0, Math.round(entry.until - now)),
    }));
  }

  /** The dialog that terminals show; null when there is none. Made once per frame. */
  get dialog(): DialogContent | null {
    const { open } = this;
    if (open === null) return null;
    const { entry, state, live, secret } = open;
    const more = this.pending.length > 1 ? ` (1 of ${this.pending.length})` : "";
    return dialogContent(entry.question, state, { title: `${entry.askedBy} asks${more}`, live, secret });
  }

  /** Whether terminals show anything of questions. */
  get isShown(): boolean {
    return this.open !== null || this.given !== null;
  }

  /** What the person was asked to do at the program, while they do; else null. */
  get handedOver(): string | null {
    return this.given?.question.question ?? null;
  }

  /**
   * A person typed or clicked at a terminal.
   * @returns whether a dialog took it
   */
  type(viewer: number, bytes: Uint8Array, size: Size): boolean {
    this.actedAt = this.port.clock.now();
    if (this.open === null) {
      this.typedAt = this.actedAt;
      return false;
    }
    this.size = size;
    this.keys.push(viewer, bytes);
    return true;
  }

  viewerGone(viewer: number): void {
    this.keys.forget(viewer);
  }

  /** Somebody attached or left. */
  peopleChanged(): void {
    const before = this.people;
    this.people = this.port.people();
    if (this.people > before) this.actedAt = this.port.clock.now();
    if (this.people > 0) this.next();
    else this.withdraw();
  }

  /** Who could answer, and the time since one of them last acted, in ms; null when nobody did. */
  person(): { people: number; acted_ms: number | null } {
    const since = this.port.clock.now() - this.actedAt;
    return { people: this.port.people(), acted_ms: Number.isFinite(since) ? Math.round(since) : null };
  }

  /** The person is done at the program. Idempotent. */
  giveBack(): void {
    const { given } = this;
    if (given === null) return;
    const program_state = this.port.programState();
    this.close(given, { state: "answered", decided_by: "answered", answered_by: "terminal", program_state });
  }

  /** Nothing can be asked any more: every question ends. */
  end(): void {
    for (const entry of [...this.pending]) this.close(entry, { state: "closed", decided_by: "session_ended" });
  }

  dispose(): void {
    this.end();
    this.opening?.[Symbol.dispose]();
    this.opening = null;
    this.keys.dispose();
  }

  private find(id: string): Entry {
    const entry = this.pending.find((each) => each.id === id);
    if (entry !== undefined) return entry;
    const ended = this.results.get(id)?.decided_by;
    const what = ended === undefined ? "is none of this session's questions" : `is over already (${ended})`;
    throw new WshError("question_not_found", `'${id}' ${what}`);
  }

  private awaitEnd(entry: Entry, ms: number, signal: AbortSignal): Promise<QuestionResult> {
    const pending: QuestionResult = { ask_id: entry.id, state: "pending" };
    if (ms === 0) return Promise.resolve(pending);
    if (this.waiting >= MAX_WAITS) {
      throw new WshError("resource_limit_reached", `${MAX_WAITS} calls wait for answers in this session`);
    }
    this.waiting++;
    const wait = new Wait<QuestionResult>({ clock: this.port.clock, ms, signal }, () => pending);
    const ended = (result: QuestionResult): void => wait.end(result);
    entry.waits.add(ended);
    wait.own(() => {
      entry.waits.delete(ended);
      this.waiting--;
    });
    return wait.promise;
  }

  private close(entry: Entry, end: { readonly decided_by: AskEnd } & Omit<QuestionResult, "ask_id">): void {
    const at = this.pending.indexOf(entry);
    if (at < 0) return;
    this.pending.splice(at, 1);
    entry.life?.[Symbol.dispose]();
    if (this.open?.entry === entry) this.shut();
    if (this.given === entry) this.given = null;
    const result = { ask_id: entry.id, ...end };
    this.results.set(entry.id, result);
    const [oldest] = this.results.keys();
    if (this.results.size > MAX_KEPT && oldest !== undefined) this.results.delete(oldest);
    for (const ended of [...entry.waits]) ended(result);
    this.next();
    this.port.changed();
  }

  private shut(): void {
    this.open?.timer[Symbol.dispose]();
    this.open = null;
    this.keys.dispose();
  }

  /** Nobody is left who could answer: the question waits, without what was typed so far. */
  private withdraw(): void {
    this.opening?.[Symbol.dispose]();
    this.opening = null;
    if (this.open === null) return;
    this.shut();
    this.port.changed();
  }

  /** Opens the next question, once the person types nothing. */
  private next(): void {
    const { clock } = this.port;
    if (this.open !== null || this.given !== null || this.opening !== null) return;
    const [entry] = this.pending;
    if (entry === undefined || this.port.people() === 0) return;
    const rest = this.typedAt + PAUSE_MS - clock.now();
    if (rest > 0) {
      this.opening = clock.after(rest, () => {
        this.opening = null;
        this.next();
      });
      return;
    }
    this.show(entry);
  }

  private show(entry: Entry): void {
    const { question } = entry;
    const secret = question.kind === "secret" ? this.port.secrets.prompt() : null;
    if (question.kind === "secret" && secret === null) {
      this.close(entry, notTaken("the program did not read a password any more when the question was to be shown"));
      return;
    }
    const timer = this.port.clock.after(GUARD_MS, () => {
      if (this.open?.entry !== entry) return;
      this.open.live = true;
      this.port.changed();
    });
    this.open = { entry, state: dialogState(question), live: false, secret, timer };
    this.port.changed();
  }

  private pressed(events: readonly InputEvent[]): void {
    for (const event of events) {
      const { open } = this;
      const content = this.dialog;
      if (open === null || content === null || !open.live) continue;
      const step = act(open.entry.question, open.state, event, layoutDialog(content, this.size));
      switch (step.type) {
        case "changed":
          open.state = step.state;
          this.port.changed();
          break;
        case "answered":
          this.answered(open.entry, step.answer);
          break;
        case "secret":
          void this.hand(open, step.typed);
          break;
        case "taken_over":
          this.takenOver(open.entry);
          break;
        case "dismissed":
          this.close(open.entry, { state: "closed", decided_by: "dismissed", answered_by: "terminal" });
      }
    }
  }

  private answered(entry: Entry, answer: Answer): void {
    this.close(entry, { state: "answered", decided_by: "answered", answered_by: "terminal", answer });
  }

  /** Types the secret where it was meant to go, or nowhere. */
  private async hand({ entry, secret }: Open, typed: string): Promise<void> {
    this.shut();
    const bytes = new TextEncoder().encode(`${typed}\r`);
    const taken = secret !== null && (await this.port.secrets.type(secret, bytes));
    if (taken) this.close(entry, { state: "answered", decided_by: "answered", answered_by: "terminal" });
    else
      this.close(entry, notTaken("the program that was named no longer read a password: what was typed was discarded"));
  }

  private takenOver(entry: Entry): void {
    this.shut();
    this.given = entry;
    entry.life?.[Symbol.dispose]();
    entry.life = null;
    entry.until = null;
    this.port.releaseKeyboard();
    this.port.changed();
  }
}

function notTaken(reason: string): { decided_by: AskEnd; state: "closed"; reason: string } {
  return { state: "closed", decided_by: "secret_not_taken", reason };
}
