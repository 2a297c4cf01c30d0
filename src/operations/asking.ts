/** Operations on questions to the person at a terminal (docs/protocol.md, Questions). */

import * as v from "valibot";
import { AskResultSchema } from "../protocol/ask-result.ts";
import {
  AnswerToSchema,
  AskIdSchema,
  AskSchema,
  PendingQuestionSchema,
  PersonThereSchema,
} from "../protocol/asking.ts";
import { questionOf } from "../protocol/question.ts";
import { operation } from "./define.ts";
import { NothingSchema } from "./sessions.ts";

export const askingOperations = [
  operation({
    name: "ask",
    scope: "session",
    access: "operate",
    forAgents: "any",
    grant: "ask",
    showsAnswer: true,
    summary: "Ask the person at the session's terminals: a choice, text, yes or no, a secret, or a hand-over",
    input: AskSchema,
    check: (input) => void questionOf(input),
    output: AskResultSchema,
    errors: ["session_ended", "no_password_prompt", "resource_limit_reached"],
    http: [{ method: "POST", path: "/sessions/:name/ask" }],
    ws: ["ask"],
  }),
  operation({
    name: "ask.list",
    scope: "session",
    access: "observe",
    summary: "Open questions of the session, in display order",
    input: NothingSchema,
    output: v.array(PendingQuestionSchema),
    http: [{ method: "GET", path: "/sessions/:name/ask" }],
    ws: ["list_asks"],
  }),
  operation({
    name: "ask.cancel",
    scope: "session",
    access: "operate",
    forAgents: "any",
    grant: "ask",
    showsAnswer: true,
    summary: "Close a question without an answer",
    input: v.object({ ask_id: AskIdSchema }),
    output: AskResultSchema,
    errors: ["question_not_found"],
    http: [{ method: "DELETE", path: "/sessions/:name/ask/:ask_id" }],
    ws: ["cancel_ask"],
  }),
  operation({
    name: "ask.answer",
    scope: "session",
    access: "admin",
    showsAnswer: true,
    summary:
      "Answer a choice, text or yes or no instead of the person at a terminal; the result records the caller. Refused to the caller that asked, and for secrets and hand-overs",
    input: AnswerToSchema,
    output: AskResultSchema,
    errors: ["question_not_found", "access_denied"],
    http: [{ method: "POST", path: "/sessions/:name/ask/:ask_id/answer" }],
    ws: ["answer_ask"],
  }),
  operation({
    name: "ask.person",
    scope: "session",
    access: "observe",
    forAgents: "any",
    summary: "Who can answer a question in the session",
    input: NothingSchema,
    output: PersonThereSchema,
  }),
  operation({
    name: "ask.any",
    scope: "server",
    access: "operate",
    forAgents: "own",
    showsAnswer: true,
    summary: "Ask the person at the terminal used last, in any session; if none is attached, by a notice",
    input: AskSchema,
    check: (input) => void questionOf(input),
    output: AskResultSchema,
    errors: ["no_password_prompt", "resource_limit_reached"],
    http: [{ method: "POST", path: "/ask" }],
    ws: ["ask_any"],
  }),
] as const;
