/** The effective settings of running sessions: requested from each session process, or reloaded there. */
import * as v from "valibot";
import { orUntil } from "../../base/deadline.ts";
import type { Instance } from "../../instance/paths.ts";
import { paneId, sessionId } from "../../protocol/names.ts";
import { listSessions } from "../../registry/registry.ts";
import { Connection } from "../../wire/connection.ts";
import { cliCaller } from "./client.ts";

/** Longest wait for a session process, in ms: a hanging one must not delay the others. */
const ANSWER_MS = 2_000;
const AnswerSchema = v.object({ fault: v.nullable(v.string()), settings: v.record(v.string(), v.unknown()) });

interface EffectiveSettings {
  readonly session: string;
  /** Null: it did not answer, or is of another version. */
  readonly answer: v.InferOutput<typeof AnswerSchema> | null;
}

/** @param reload reload the settings first */
export function effectiveSettings(instance: Instance, reload: boolean): Promise<EffectiveSettings[]> {
  const ask = async (socket: string): Promise<EffectiveSettings["answer"]> => {
    const { connection } = await Connection.open(socket, "cli");
    try {
      const context = { caller: cliCaller, access: "admin" } as const;
      return v.parse(AnswerSchema, await connection.request("peer.reload", { ask: !reload }, context));
    } finally {
      connection.close();
    }
  };
  return Promise.all(
    listSessions(instance).map(async ({ id, name, session, socket }) => {
      const answer = await orUntil<EffectiveSettings["answer"]>(
        ask(socket).catch(() => null),
        { ms: ANSWER_MS },
        () => null,
      );
      return { session: name ?? (session === null ? paneId(id) : sessionId(session)), answer };
    }),
  );
}
