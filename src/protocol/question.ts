/** A validated question to the person, and the answers that fit it. Pure. */
import type { Answer } from "./ask-result.ts";
import type { Ask, PendingQuestion } from "./asking.ts";
import { defined } from "./defined.ts";
import { WshError } from "./errors.ts";
import { MAX_QUESTION } from "./question-length.ts";

interface Common {
  readonly question: string;
  readonly detail: string;
}
/** A validated question, by kind. */
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

/** A question in the form for lists. */
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

/** @param given value from outside, as JSON @throws WshError invalid_request */
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
