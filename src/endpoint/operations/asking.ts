/** Session operations on questions to the person. */
import { callerLabel } from "../../protocol/caller.ts";
import type { SessionHandlers } from "./context.ts";

export const askingHandlers: Pick<SessionHandlers, "ask" | "ask.list" | "ask.cancel" | "ask.person"> = {
  ask: async (session, input, { caller, signal }) => {
    session.requireRunning();
    const result = await session.questions.ask(input, callerLabel(caller), signal);
    return { session: session.name, ...result };
  },
  "ask.list": ({ questions }) => questions.list(),
  "ask.cancel": ({ name, questions }, { ask_id }) => ({ session: name, ...questions.cancel(ask_id) }),
  "ask.person": ({ questions }) => questions.person(),
};
