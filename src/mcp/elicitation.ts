/**
 * Asks through the MCP client when no person is at a terminal: the tool returns the SDK's "input required", and the
 * client returns with an answer, or, in earlier eras, the SDK fetches it.
 *
 * Invariants: never asks for a secret; an answer counts only with the state that this process signed for this question
 * and this caller; a client may answer without a person, so the result names the client as the source.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { AskResult } from "../protocol/ask-result.ts";
import { AskSchema } from "../protocol/asking.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { parse } from "../protocol/parse.ts";
import { fittingAnswer, type Question, questionOf } from "../protocol/question.ts";

/** Longest time for an answer, in s: the default life of a question. */
const TTL_SECONDS = 600;
const ANSWER = "answer";

/** Signed for the question and the caller. */
interface AskedState {
  readonly caller: string;
  readonly question: string;
}

/** Another process of the server accepts no answers to this process's questions. */
export const requestState = createRequestStateCodec<AskedState>({ key: randomBytes(32), ttlSeconds: TTL_SECONDS });

/** A field that the client shows for one value. */
type Field = Parameters<typeof inputRequired.elicit>[0]["requestedSchema"];

/**
 * Whether the client can be asked.
 * @param known its capabilities at connection; in the era without sessions each request states them
 */
export function mayElicit({ mcpReq }: ServerContext, known: object | undefined): boolean {
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope };
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] ?? known;
  if (typeof capabilities !== "object" || capabilities === null || !("elicitation" in capabilities)) return false;
  const { elicitation } = capabilities;
  // Without a mode, forms are supported; a client may support only URLs.
  return (
    typeof elicitation === "object" &&
    elicitation !== null &&
    (Object.keys(elicitation).length === 0 || "form" in elicitation)
  );
}

/** The question for the client; null: only a person at a terminal can answer it. */
export async function askClient(
  parameters: Readonly<Record<string, unknown>>,
  caller: string,
  context: ServerContext,
): Promise<InputRequiredResult | null> {
  const question = questionIn(parameters);
  const requestedSchema = formOf(question);
  if (requestedSchema === null) return null;
  const message = question.detail === "" ? question.question : `${question.question}\n\n${question.detail}`;
  return inputRequired({
    inputRequests: { [ANSWER]: inputRequired.elicit({ message, requestedSchema }) },
    requestState: await requestState.mint({ caller, question: digestOf(parameters) }, context),
  });
}

/**
 * The client's answer; null: this call has none yet.
 * @throws WshError invalid_request for an answer to another question, or an invalid one
 */
export function clientAnswer(
  parameters: Readonly<Record<string, unknown>>,
  caller: string,
  { mcpReq }: ServerContext,
): AskResult | null {
  const response = inputResponse(mcpReq.inputResponses, ANSWER);
  if (response.kind !== "elicit") return null;
  const state = mcpReq.requestState<AskedState>();
  if (state?.caller !== caller || state.question !== digestOf(parameters)) {
    throw new WshError("invalid_request", "the answer belongs to another question", { hint: "Ask again." });
  }
  const by = { session: null, answered_by: "mcp_client" } as const;
  if (response.action !== "accept") return { ...by, state: "closed", decided_by: "dismissed" };
  const answer = fittingAnswer(questionIn(parameters), response.content?.[ANSWER]);
  return { ...by, state: "answered", decided_by: "answered", answer };
}

function questionIn(parameters: Readonly<Record<string, unknown>>): Question {
  const { session: _session, ...ask } = parameters;
  return questionOf(parse(AskSchema, ask));
}

function digestOf(parameters: Readonly<Record<string, unknown>>): string {
  const sorted = Object.entries(parameters).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(sorted)).digest("base64url");
}

function formOf(question: Question): Field | null {
  const form = (field: object): Field =>
    ({ type: "object", properties: { [ANSWER]: field }, required: [ANSWER] }) as Field;
  switch (question.kind) {
    case "choice": {
      const { choices, chosen, multiple } = question;
      if (multiple)
        return form({
          type: "array",
          title: "Answer",
          items: { type: "string", enum: [...choices] },
          default: [...chosen],
        });
      const [prepared] = chosen;
      return form({
        type: "string",
        title: "Answer",
        enum: [...choices],
        ...defined({ default: prepared }),
      });
    }
    case "text":
      return form({
        type: "string",
        title: "Answer",
        ...(question.prepared === "" ? {} : { default: question.prepared }),
      });
    case "confirm":
      return form({ type: "boolean", title: "Yes", default: question.prepared });
    case "secret":
    case "hand_over":
      return null;
  }
}
