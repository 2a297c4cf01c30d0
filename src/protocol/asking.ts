/**
 * A question to the person at a terminal, and its answer (docs/protocol.md, Questions). A question belongs to a session
 * and outlives the call that asked it: `ask_id` names it until it ends, and its result for a while afterwards.
 */
import * as v from "valibot";
import { AnswerSchema } from "./ask-result.ts";
import { described, optional } from "./fields.ts";
import { MAX_QUESTION } from "./question-length.ts";
import { DEFAULT_WAIT_MS, WaitMsSchema } from "./wait-times.ts";

const DEFAULT_LIFE_MS = 600_000;
/** Longest life of a question, in ms: a day. */
const MAX_LIFE_MS = 86_400_000;
/** Longest detail, in characters: some screens, which the person scrolls. */
const MAX_DETAIL = 8_000;
/** Maximum choices; a longer list needs a separate program. */
const MAX_CHOICES = 100;

export const questionKinds = ["choice", "text", "confirm", "secret", "hand_over"] as const;
export type QuestionKind = (typeof questionKinds)[number];

const LineSchema = v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_QUESTION));
const clampLife = (ms: number): number => Math.min(MAX_LIFE_MS, ms);

export const AskIdSchema = described(v.pipe(v.string(), v.minLength(1), v.maxLength(64)), "ask_id of a question");

export const AnswerToSchema = v.object({
  ask_id: AskIdSchema,
  answer: described(AnswerSchema, "the text, the choice or choices, or true or false"),
});

export const AskSchema = v.object({
  question: described(LineSchema, "the question"),
  detail: optional(v.pipe(v.string(), v.maxLength(MAX_DETAIL)), "details, shown below the question"),
  kind: optional(v.picklist(questionKinds), "default: choice with choices, else text"),
  choices: optional(v.pipe(v.array(LineSchema), v.minLength(1), v.maxLength(MAX_CHOICES)), "the choices"),
  multiple: optional(v.boolean(), "whether several choices may be selected", false),
  default: optional(
    v.union([v.pipe(v.string(), v.maxLength(MAX_QUESTION)), v.array(LineSchema), v.boolean()]),
    "the preselected answer",
  ),
  timeout_ms: optional(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.transform(clampLife)),
    "lifetime of the question, at most a day",
    DEFAULT_LIFE_MS,
  ),
  max_wait_ms: optional(WaitMsSchema, "longest wait of this call; afterwards the result is pending", DEFAULT_WAIT_MS),
  wait_for_person: optional(v.boolean(), "ask even if no terminal is attached yet", false),
});
export type Ask = v.InferOutput<typeof AskSchema>;

export const PendingQuestionSchema = v.object({
  ask_id: described(v.string(), "id of the question"),
  kind: described(v.picklist(questionKinds), "kind of answer"),
  question: described(v.string(), "the question"),
  asked_by: described(v.string(), "the caller that asks"),
  detail: optional(v.string(), "details"),
  choices: optional(v.array(v.string()), "the choices"),
  multiple: optional(v.boolean(), "whether several choices may be selected"),
  default: optional(AnswerSchema, "the preselected answer"),
  pane_id: described(v.string(), "the pane that the question concerns"),
  /** queued: another is shown, or no person is attached. open: shown. handed_over: the person works at the program. */
  state: v.picklist(["queued", "open", "handed_over"]),
  remaining_ms: described(v.nullable(v.number()), "remaining lifetime; null: unlimited"),
});
export type PendingQuestion = v.InferOutput<typeof PendingQuestionSchema>;

export const PersonThereSchema = v.object({
  people: described(v.number(), "people who can answer at the session's terminals"),
  acted_ms: described(v.nullable(v.number()), "time since one of them last acted, in ms; null: never"),
  noticed: optional(v.boolean(), "whether a notice of a question reaches a person; absent: false"),
});
export type PersonThere = v.InferOutput<typeof PersonThereSchema>;

/**
 * Chooses the session for a question that names none: one with a person at a terminal, else one whose notices reach a
 * person. Among several it prefers the one where a person acted last.
 * @returns null when nobody can be asked
 */
export function sessionToAsk<Candidate extends PersonThere>(sessions: readonly Candidate[]): Candidate | null {
  const attached = sessions.filter(({ people }) => people > 0);
  const asked = attached.length > 0 ? attached : sessions.filter(({ noticed }) => noticed === true);
  return asked.toSorted((a, b) => (a.acted_ms ?? Infinity) - (b.acted_ms ?? Infinity))[0] ?? null;
}
