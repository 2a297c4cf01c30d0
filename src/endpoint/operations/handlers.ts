/** Handlers of the operations on a session as a whole, whichever process serves it; a missing one does not compile. */
import { requireAllSessions } from "../../operations/rights.ts";
import { type Caller, callerIdentity, callerLabel, NOTICE_TOKEN } from "../../protocol/caller.ts";
import { agentOfCaller, ownerOf } from "../../protocol/owner.ts";
import type { Party } from "../../session/questions/types.ts";
import type { SessionHandlers } from "./context.ts";
import { elementHandlers } from "./drawing.ts";
import { findRunningPrograms } from "./running.ts";

export const sessionHandlers: SessionHandlers = {
  "session.get": (session) => session.info(),
  "session.environment": ({ terminalVariables }) => ({ variables: terminalVariables.variables }),
  "session.update": async (session, input) => {
    await session.update(input);
    return session.info();
  },
  "session.kill": async (session, { reason }) => {
    const ended = findRunningPrograms(session.info().windows.flatMap(({ panes }) => panes));
    await session.lifetime.kill(reason);
    return { ended };
  },
  "session.detach": (session, { which, client }) => ({ detached: session.detach(client ?? which) }),
  "session.clients": ({ viewers: { all, inUse } }) =>
    all.map(({ id, device, page, size, readOnly, since, focus }) => ({
      client: id,
      terminal: device,
      page,
      ...size,
      read_only: readOnly,
      used: id === inUse,
      since,
      last_key: focus.lastKey,
    })),
  "terminal.show": async ({ viewers }, { message, client, ...view }, context) => {
    // The session would be found with the person's rights, not with the caller's.
    if (view.view === "go") requireAllSessions(context, "terminal.show");
    return {
      terminals: message === undefined ? await viewers.openView(view, client) : viewers.showMessage(message, client),
    };
  },
  "session.resize": async (session, { force, ...size }) => {
    session.requireRunning();
    await session.setSize(size, force);
    return { ...session.size };
  },
  "session.restart": async (session) => {
    await session.lifetime.restart();
    return session.info();
  },
  ...elementHandlers,
  ask: async (session, input, { caller, signal, pane }) => {
    session.requireRunning();
    const result = await session.questions.ask(input, partyOf(caller), pane(), signal);
    return { session: session.name, ...result };
  },
  "ask.list": ({ questions }) => questions.list(),
  "ask.cancel": ({ name, questions }, { ask_id }, { caller }) => ({
    session: name,
    ...questions.cancel(ask_id, agentOfCaller(caller)),
  }),
  "ask.answer": ({ name, questions }, { ask_id, answer }, { caller }) => ({
    session: name,
    ...questions.answerBy(ask_id, answer, { ...partyOf(caller), isNotice: caller.via?.token === NOTICE_TOKEN }),
  }),
  "ask.person": ({ questions, isPrivate, exit }) => {
    const person = questions.personPresence();
    // A question that nobody sees soon is kept by another session than a private or an ended one.
    return { ...person, noticed: person.noticed === true && !isPrivate && exit === null };
  },
  "buffer.list": ({ buffers }) => buffers.list(),
  "buffer.get": ({ buffers }, { buffer }, { caller }) => buffers.get(buffer, caller),
  "buffer.set": ({ buffers }, { buffer: name, text, append }, { caller }) =>
    buffers.set({ text, name, append, owner: ownerOf(caller) }),
  "buffer.rename": ({ buffers }, { buffer, new_name }, { caller }) => buffers.rename(buffer, new_name, caller),
  "buffer.delete": ({ buffers }, { buffer, all }, { caller }) =>
    all === true ? buffers.clear() : buffers.remove(buffer, caller),
};

function partyOf(caller: Caller): Party {
  const agent = agentOfCaller(caller);
  return { id: callerIdentity(caller), label: agent ?? callerLabel(caller), agent };
}
