/** What happened to a question, for those who only hear of it. Types only. */
import type { AskEnd } from "../../protocol/ask-result.ts";
import type { Question } from "../../protocol/question.ts";

export interface QuestionChange {
  readonly id: string;
  readonly question: Question;
  /** The asking party, in words. */
  readonly askedBy: string;
  /** The pane that it is about. */
  readonly pane: string;
  /** Null: it was asked, and is open. */
  readonly end: AskEnd | null;
}
