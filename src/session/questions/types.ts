/** The questions' port to their session, and the types of their parts. Types only. */
import type { Clock } from "../../base/clock.ts";
import type { AskResult } from "../../protocol/ask-result.ts";
import type { Question } from "../../protocol/question.ts";
import type { SecretPrompt } from "../../protocol/secret.ts";
import type { SessionState } from "../../protocol/session.ts";
import type { PaneRef } from "../types.ts";
import type { QuestionChange } from "./change.ts";
import type { DialogState } from "./dialog.ts";

export interface QuestionsPort {
  readonly clock: Clock;
  readonly newId: () => string;
  /** Number of terminals at which a person can answer. */
  countPeople(): number;
  /** Whether a notice of a question reaches a person who is elsewhere. */
  hasNotice(): boolean;
  readonly secrets: PaneRef["secrets"];
  /** State of the program in a pane. */
  programState(pane: string): SessionState | Promise<SessionState>;
  /** The person takes over the program of a pane: it is brought into view, and a keyboard capture ends. */
  takenOver(pane: string): void;
  /** The questions shown at terminals have changed. */
  changed(): void;
  /** The number of open questions has changed. */
  waiting(count: number): void;
  /** A question was asked or has ended. */
  happened(change: QuestionChange): void;
}

/** The party that asks or answers by a call. */
export interface Party {
  /** Null: several programs share it and cannot be distinguished. */
  readonly id: string | null;
  readonly label: string;
  /** The AI agent that it is or acts for, if any. */
  readonly agent?: string | null;
}

/** A result without the session's name, which may change meanwhile. */
export type QuestionResult = Omit<AskResult, "session">;

/** Ends when a question does. */
export interface Answers {
  /** @returns its result, or that it is still open @throws WshError question_not_found, resource_limit_reached */
  answer(id: string, maxWaitMs: number, signal: AbortSignal): Promise<QuestionResult>;
}

export interface OpenQuestion {
  readonly id: string;
  readonly question: Question;
  readonly asker: Party;
  /** The pane that the question is about. */
  readonly pane: string;
  /** Timer that ends it; null: a hand-over that was taken. */
  deadlineTimer: Disposable | null;
  /** Clock time of its deadline; null: none. */
  deadline: number | null;
  readonly waiters: Set<(result: QuestionResult) => void>;
}

/** A question whose dialog is open. */
export interface ShownQuestion {
  readonly entry: OpenQuestion;
  state: DialogState;
  /** Whether keys answer. */
  acceptsKeys: boolean;
  /** Time without a key until keys answer, in ms. */
  readonly guardMs: number;
  /** The reader of the secret. */
  readonly secret: SecretPrompt | null;
  /** Timer that ends the guard. */
  guardTimer: Disposable;
}
