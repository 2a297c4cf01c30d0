/**
 * The open questions in order of arrival; their deadlines, their waiting callers, and the last results. A question
 * ends once, together with its deadline and waits. All numbers are limited.
 */
import type { Clock } from "../../base/clock.ts";
import { Wait } from "../../base/deadline.ts";
import { setNewest } from "../../base/newest.ts";
import type { AskEnd } from "../../protocol/ask-result.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Answers, OpenQuestion, Party, QuestionResult } from "./types.ts";

/** Maximum open questions: more than a person can handle. */
const MAX_OPEN = 32;
/** Those of one agent, which waits for their answers: more at once are an error or a flood. */
const MAX_PER_AGENT = 4;
/** Those of all agents together, so that people's programs always find room: names of agents cost nothing. */
const MAX_ALL_AGENTS = 24;
/** Results stored for callers that ask again. */
const MAX_RESULTS = 64;
/** Maximum concurrent waits for answers. */
const MAX_WAITS = 256;

export type QuestionEnd = { readonly decided_by: AskEnd } & Omit<QuestionResult, "ask_id">;

export class OpenQuestions implements Answers {
  private entries: OpenQuestion[] = [];
  private readonly results = new Map<string, QuestionResult>();
  private waitCount = 0;

  /** @param onEnd called when a question has ended, after its waiting callers got the result */
  constructor(
    private readonly clock: Clock,
    private readonly onEnd: (entry: OpenQuestion, end: AskEnd) => void,
  ) {}

  get all(): readonly OpenQuestion[] {
    return this.entries;
  }

  has(entry: OpenQuestion): boolean {
    return this.entries.includes(entry);
  }

  /** @throws WshError resource_limit_reached */
  requireRoom({ agent = null }: Pick<Party, "agent">): void {
    if (this.entries.length >= MAX_OPEN) throw limitError(`${MAX_OPEN} questions`);
    if (agent === null) return;
    const agents = this.entries.flatMap(({ asker }) => asker.agent ?? []);
    if (agents.filter((each) => each === agent).length >= MAX_PER_AGENT)
      throw limitError(`${MAX_PER_AGENT} questions of ${agent}`);
    if (agents.length >= MAX_ALL_AGENTS) throw limitError(`${MAX_ALL_AGENTS} questions of agents`);
  }

  /** Adds a question, which ends at its deadline. */
  add(entry: OpenQuestion): void {
    this.entries.push(entry);
    if (entry.deadline === null) return;
    const rest = Math.max(0, entry.deadline - this.clock.now());
    entry.deadlineTimer = this.clock.after(rest, () => this.close(entry, { state: "closed", decided_by: "timeout" }));
  }

  /** Its deadline remains, but no longer ends the question. */
  disarmDeadline(entry: OpenQuestion): void {
    entry.deadlineTimer?.[Symbol.dispose]();
    entry.deadlineTimer = null;
  }

  /** @returns its result; no effect on an ended question */
  close(entry: OpenQuestion, end: QuestionEnd): QuestionResult {
    const earlier = this.results.get(entry.id);
    if (!this.has(entry)) return earlier ?? { ask_id: entry.id, ...end };
    this.entries = this.entries.filter((each) => each !== entry);
    this.disarmDeadline(entry);
    const result = { ask_id: entry.id, ...end };
    this.storeResult(result);
    for (const resolve of [...entry.waiters]) resolve(result);
    this.onEnd(entry, end.decided_by);
    return result;
  }

  private storeResult(result: QuestionResult): void {
    if (result.ask_id !== undefined) setNewest(this.results, result.ask_id, result, MAX_RESULTS);
  }

  /** @throws WshError question_not_found, also for an ended one */
  find(id: string): OpenQuestion {
    const entry = this.entries.find((each) => each.id === id);
    if (entry !== undefined) return entry;
    const ended = this.results.get(id)?.decided_by;
    const what = ended === undefined ? "is not a question of this session" : `is already closed (${ended})`;
    throw new WshError("question_not_found", `'${id}' ${what}`);
  }

  async answer(id: string, maxWaitMs: number, signal: AbortSignal): Promise<QuestionResult> {
    return this.results.get(id) ?? this.awaitEnd(this.find(id), maxWaitMs, signal);
  }

  /** @throws WshError resource_limit_reached */
  awaitEnd(entry: OpenQuestion, ms: number, signal: AbortSignal): Promise<QuestionResult> {
    const pending: QuestionResult = { ask_id: entry.id, state: "pending" };
    if (ms === 0) return Promise.resolve(pending);
    if (this.waitCount >= MAX_WAITS) {
      throw new WshError(
        "resource_limit_reached",
        `${MAX_WAITS} calls are already waiting for answers in this session`,
      );
    }
    this.waitCount++;
    const wait = new Wait<QuestionResult>({ clock: this.clock, ms, signal }, () => pending);
    const ended = (result: QuestionResult): void => wait.end(result);
    entry.waiters.add(ended);
    wait.own(() => {
      entry.waiters.delete(ended);
      this.waitCount--;
    });
    return wait.promise;
  }
}

function limitError(what: string): WshError {
  return new WshError("resource_limit_reached", `${what} are already pending`, {
    hint: "Wait for an answer, or cancel a question.",
  });
}
