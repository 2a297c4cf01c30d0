/** Session operations on questions to the person. */
import { type Caller, callerIdentity, callerLabel, NOTICE_TOKEN } from "../../protocol/caller.ts";
import type { Party } from "../../session/questions/types.ts";
import type { SessionHandlers } from "./context.ts";

type AskingOperation = "ask" | "ask.list" | "ask.cancel" | "ask.answer" | "ask.person";

export const askingHandlers: Pick<SessionHandlers, AskingOperation> = {
  ask: async (session, input, { caller, signal, pane }) => {
    session.requireRunning();
    const result = await session.questions.ask(input, partyOf(caller), pane(), signal);
    return { session: session.name, ...result };
  },
  "ask.list": ({ questions }) => questions.list(),
  "ask.cancel": ({ name, questions }, { ask_id }) => ({ session: name, ...questions.cancel(ask_id) }),
  "ask.answer": ({ name, questions }, { ask_id, answer }, { caller }) => ({
    session: name,
    ...questions.answerBy(ask_id, answer, { ...partyOf(caller), isNotice: caller.via?.token === NOTICE_TOKEN }),
  }),
  "ask.person": ({ questions }) => questions.person(),
};

function partyOf(caller: Caller): Party {
  return { id: callerIdentity(caller), label: callerLabel(caller) };
}
