/** Ports of questions to their session, types of their parts, and their form between two processes. Types only. */
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
  /** Terminals at which a person can answer. */
  people(): number;
  readonly secrets: PaneRef["secrets"];
  /** The state of the program in a pane. */
  programState(pane: string): SessionState | Promise<SessionState>;
  /** The person takes over the program of a pane: it is brought into view, and a keyboard capture ends. */
  takenOver(pane: string): void;
  /** The terminals' view of questions has changed. */
  changed(): void;
  /** The number of pending questions. */
  waiting(count: number): void;
  /** A question was asked, or is over. */
  happened(change: QuestionChange): void;
}

/** The party that asks or answers by a call. */
export interface Party {
  /** Null when several programs share it and cannot be distinguished. */
  readonly id: string | null;
  readonly label: string;
}

/** A result without the session's name, which may change meanwhile. */
export type QuestionResult = Omit<AskResult, "session">;

/** Ends when a question does. */
export interface Answers {
  /** @returns its result, or that it is pending @throws WshError question_not_found, resource_limit_reached */
  answer(id: string, maxWaitMs: number, signal: AbortSignal): Promise<QuestionResult>;
}

export interface OpenQuestion {
  readonly id: string;
  readonly question: Question;
  readonly asker: Party;
  /** The pane that it is about. */
  readonly pane: string;
  /** Ends its life; null once a hand-over was taken. */
  life: Disposable | null;
  /** Clock time at which its life ends; null without a deadline. */
  until: number | null;
  readonly waits: Set<(result: QuestionResult) => void>;
}

/** A question whose dialog is open. */
export interface ShownQuestion {
  readonly entry: OpenQuestion;
  state: DialogState;
  /** Keys answer. */
  live: boolean;
  /** The reader of the secret. */
  readonly secret: SecretPrompt | null;
  /** Ends the guard. */
  timer: Disposable;
}
