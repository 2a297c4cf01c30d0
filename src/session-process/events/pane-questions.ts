/** The questions of the session that has a pane: this process's session, or another one, which then shows them. */
import * as v from "valibot";
import type { Instance } from "../../instance/paths.ts";
import type { OperationName, OperationOutput } from "../../operations/table.ts";
import type { Ask } from "../../protocol/asking.ts";
import { parseTarget, sessionId } from "../../protocol/names.ts";
import { findSession } from "../../registry/registry.ts";
import type { Questions } from "../../session/questions/questions.ts";
import { Connection } from "../../wire/connection.ts";

/** Each rejects with the error of its operation, or when the session's process does not answer. */
export interface PaneQuestions {
  /** Resolves when the question ends. @returns how */
  ask(question: Ask, pane: string): Promise<string | null>;
  /** The open questions for a secret of a pane. */
  secretQuestions(pane: string): Promise<readonly { readonly ask_id: string; readonly asked_by: string }[]>;
  cancel(id: string): Promise<unknown>;
  /** Number of people who can answer. */
  countPeople(): Promise<number>;
}

const ASKER = "wsh";
const context = { caller: { kind: "cli", id: `password:${process.pid}`, name: ASKER, connected: true } } as const;

export function localQuestions(
  questions: Pick<Questions, "ask" | "cancel" | "list" | "personPresence">,
): PaneQuestions {
  return {
    async ask(question, pane) {
      const asker = { id: null, label: ASKER };
      return (await questions.ask(question, asker, pane, new AbortController().signal)).decided_by ?? null;
    },
    secretQuestions: async (pane) =>
      questions.list().filter(({ kind, pane_id }) => kind === "secret" && pane_id === pane),
    cancel: async (id) => questions.cancel(id),
    countPeople: async () => questions.personPresence().people,
  };
}

/** @param session number of the session */
export function questionsOfSession(instance: Instance, session: number): PaneQuestions {
  const call = async <N extends OperationName>(
    name: N,
    input: unknown,
    target = sessionId(session),
  ): Promise<OperationOutput<N>> => {
    // The table of all operations takes a tenth of a session's start, and few sessions ask another one.
    const { outputSchema } = await import("../../operations/table.ts");
    const { socket } = findSession(instance, parseTarget(sessionId(session)));
    const { connection } = await Connection.open(socket, "cli");
    try {
      const answer = await connection.request(name, input, { ...context, access: "admin", target });
      return v.parse(outputSchema(name), answer) as OperationOutput<N>;
    } finally {
      connection.close();
    }
  };
  return {
    ask: async (question, pane) => (await call("ask", question, pane)).decided_by ?? null,
    async secretQuestions(pane) {
      return (await call("ask.list", {})).filter(({ kind, pane_id }) => kind === "secret" && pane_id === pane);
    },
    cancel: (ask_id) => call("ask.cancel", { ask_id }),
    countPeople: async () => (await call("ask.person", {})).people,
  };
}

export function isOwnQuestion({ asked_by }: { readonly asked_by: string }): boolean {
  return asked_by === ASKER;
}
