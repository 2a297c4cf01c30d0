/** What questions need of their session, what their parts share, and their form between two processes. Types only. */
import type { Clock } from "../../base/clock.ts";
import type { AskResult } from "../../protocol/ask-result.ts";
import type { Question } from "../../protocol/asking.ts";
import type { SecretPrompt } from "../../protocol/secret.ts";
import type { SessionState } from "../../protocol/session.ts";
import type { PaneRef } from "../types.ts";
import type { DialogState } from "./dialog.ts";

export interface QuestionsPort {
  readonly clock: Clock;
  readonly newId: () => string;
  /** Terminals at which a person can answer. */
  people(): number;
  readonly secrets: PaneRef["secrets"];
  /** What the program in a pane does now. */
  programState(pane: string): SessionState | Promise<SessionState>;
  /** The person takes the program of a pane over: it is in view, and nobody else holds the keyboard. */
  takenOver(pane: string): void;
  /** What the terminals show of questions has changed. */
  changed(): void;
  /** So many questions are not over now. */
  waiting(count: number): void;
}

/** Who asks or answers by a call. */
export interface Party {
  /** Null where several programs share it: it tells nobody from anybody else. */
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

export interface Entry {
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
export interface Open {
  readonly entry: Entry;
  state: DialogState;
  /** Keys answer. */
  live: boolean;
  /** Who reads the secret. */
  readonly secret: SecretPrompt | null;
  /** Ends the guard. */
  timer: Disposable;
}
