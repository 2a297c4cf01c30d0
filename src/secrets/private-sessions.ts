/**
 * Sessions that have become private: earlier records about them remain the person's, even after their end. Sessions
 * that were private from the beginning have no records.
 */
import { join } from "node:path";
import * as v from "valibot";
import type { Instance } from "../instance/paths.ts";
import { type Owner, OwnerSchema } from "../protocol/owner.ts";
import { PrivateList } from "./private-list.ts";

const PrivateSessionSchema = v.object({ id: v.string(), owner: v.optional(OwnerSchema) });

/** Maximum sessions in the list; the newest stay. */
const MAX_SESSIONS = 10_000;

const privateSessions = new PrivateList<v.InferOutput<typeof PrivateSessionSchema>>(
  (instance) => join(instance.stateDir, `${instance.fileName}.private-sessions.json`),
  PrivateSessionSchema,
  "private sessions",
);

/** @param isPrivate false: the session runs and is no longer private */
export function rememberPrivate(
  instance: Instance,
  session: { readonly id: string; readonly owner?: Owner | undefined },
  isPrivate: boolean,
): Promise<void> {
  const { id, owner } = session;
  return privateSessions.change(instance, (known) => {
    const others = known.filter((each) => each.id !== id);
    const own = owner === undefined ? { id } : { id, owner };
    return isPrivate ? [...others, own].slice(-MAX_SESSIONS) : others;
  });
}

/** Ids with their owners. @throws WshError unsafe_path */
export function rememberedPrivate(instance: Instance): ReturnType<typeof privateSessions.read> {
  return privateSessions.read(instance);
}
