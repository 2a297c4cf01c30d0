/** Changes of questions, for observers. Types only. */
import type { AskEnd } from "../../protocol/ask-result.ts";
import type { Question } from "../../protocol/question.ts";

export interface QuestionChange {
  readonly id: string;
  readonly question: Question;
  /** The asking party, as text. */
  readonly askedBy: string;
  /** The pane that the question is about. */
  readonly pane: string;
  /** Null: it was asked, and is open. */
  readonly end: AskEnd | null;
}
