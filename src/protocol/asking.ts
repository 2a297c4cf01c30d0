/**
 * A question to the person at a terminal, and its answer (docs/protocol.md, Questions). A question belongs to a session
 * and outlives the call that asked it: `ask_id` names it until it is over, and its result for a while after.
 */
import * as v from "valibot";
import { type Answer, AnswerSchema } from "./ask-result.ts";
import { DEFAULT_WAIT_MS, WaitMsSchema } from "./conditions.ts";
import { defined } from "./defined.ts";
import { WshError } from "./errors.ts";
import { described, optional } from "./fields.ts";

const DEFAULT_LIFE_MS = 600_000;
/** Longest life of a question, in ms: a day. */
const MAX_LIFE_MS = 86_400_000;
/** Longest question, choice and prepared answer, in characters: fits on a screen. */
const MAX_QUESTION = 1_000;
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

interface Common {
  readonly question: string;
  readonly detail: string;
}
/** A checked question, by kind. */
export type Question =
  | (Common & {
      readonly kind: "choice";
      readonly choices: readonly string[];
      readonly multiple: boolean;
      readonly chosen: readonly string[];
    })
  | (Common & { readonly kind: "text"; readonly prepared: string })
  | (Common & { readonly kind: "confirm"; readonly prepared: boolean })
  | (Common & { readonly kind: "secret" | "hand_over" });

/** @throws WshError invalid_request for an inconsistent question */
export function questionOf(ask: Ask): Question {
  const { question, detail = "", choices, multiple, default: prepared } = ask;
  const kind = ask.kind ?? (choices === undefined ? "text" : "choice");
  const common = { question, detail };
  if (kind !== "choice" && choices !== undefined) throw misfit("choices", `cannot be used with kind '${kind}'`);
  if (kind !== "choice" && multiple) throw misfit("multiple", `cannot be used with kind '${kind}'`);
  switch (kind) {
    case "choice": {
      if (choices === undefined) throw misfit("choices", "is missing: a choice needs at least one option");
      if (new Set(choices).size < choices.length) throw misfit("choices", "contains the same choice twice");
      const chosen = prepared === undefined ? [] : [prepared].flat();
      const unknown = chosen.find((each) => typeof each !== "string" || !choices.includes(each));
      if (unknown !== undefined) throw misfit("default", `is not one of the choices: ${JSON.stringify(unknown)}`);
      if (!multiple && chosen.length > 1)
        throw misfit("default", "names several choices, but only one may be selected");
      return { ...common, kind, choices, multiple, chosen: chosen.map(String) };
    }
    case "text":
      if (prepared !== undefined && typeof prepared !== "string")
        throw misfit("default", "must be text for kind 'text'");
      return { ...common, kind, prepared: prepared ?? "" };
    case "confirm":
      if (prepared !== undefined && typeof prepared !== "boolean")
        throw misfit("default", "must be true or false for kind 'confirm'");
      return { ...common, kind, prepared: prepared ?? false };
    default:
      if (prepared !== undefined) throw misfit("default", `cannot be used with kind '${kind}'`);
      return { ...common, kind };
  }
}

/** A question as lists show it. */
export function shownOf(
  question: Question,
): Pick<PendingQuestion, "kind" | "question" | "detail" | "choices" | "multiple" | "default"> {
  const { kind, question: text, detail } = question;
  const shown = { kind, question: text, ...(detail === "" ? {} : { detail }) };
  switch (question.kind) {
    case "choice": {
      const { choices, multiple, chosen } = question;
      const [first] = chosen;
      const prepared = multiple ? { default: [...chosen] } : defined({ default: first });
      return { ...shown, choices: [...choices], multiple, ...prepared };
    }
    case "text":
    case "confirm":
      return { ...shown, default: question.prepared };
    default:
      return shown;
  }
}

/** @param given from outside, as JSON @throws WshError invalid_request */
export function fittingAnswer(question: Question, given: unknown): Answer {
  switch (question.kind) {
    case "confirm":
      if (typeof given === "boolean") return given;
      throw misfit("answer", "must be true or false");
    case "text":
      if (typeof given === "string" && given.length <= MAX_QUESTION) return given;
      throw misfit("answer", `must be text of at most ${MAX_QUESTION} characters`);
    case "choice": {
      const { choices, multiple } = question;
      if (multiple !== Array.isArray(given)) {
        throw misfit("answer", multiple ? "must be a list of the choices" : "must be one of the choices");
      }
      const unknown = [given].flat().find((each) => typeof each !== "string" || !choices.includes(each));
      if (unknown !== undefined) throw misfit("answer", `is not one of the choices: ${JSON.stringify(unknown)}`);
      if (multiple) return choices.filter((choice) => [given].flat().includes(choice));
      return String(given);
    }
    default:
      throw misfit("answer", `cannot be used with kind '${question.kind}'`);
  }
}

function misfit(field: string, what: string): WshError {
  return new WshError("invalid_request", `'${field}' ${what}`, { field });
}
