/**
 * The instance's link to a running ssh agent, at a path that never changes. A list beside it holds the agents of all
 * sessions' terminals, newest last: the link leads to the newest that runs, even if the session of its terminal knows
 * no other.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { readLink } from "../platform/readable.ts";
import { readOwnJson } from "./own-json.ts";
import { pointTo, replaceOwnFile } from "./owned-files.ts";
import { type Instance, prepareStateDir } from "./paths.ts";

/** Maximum agents in the list: more terminals than a person has. */
const MOST = 16;
const ListSchema = v.array(v.string());

export function agentLink({ stateDir, fileName }: Instance): string {
  return join(stateDir, `${fileName}.ssh-auth`);
}

/** @param brought the socket of a newly attached terminal; null: only checks whether the agent still runs */
export function linkAgent(instance: Instance, brought: string | null): void {
  const link = agentLink(instance);
  const list = `${link}s`;
  const known = readOwnJson(list, ListSchema) ?? [];
  const paths = brought === null || brought === link ? known : [...known.filter((path) => path !== brought), brought];
  if (paths !== known) {
    prepareStateDir(instance);
    replaceOwnFile(list, JSON.stringify(paths.slice(-MOST)));
  }
  const living = paths.findLast(isOwnSocket);
  if (living !== undefined && living !== readLink(link)) pointTo(link, living);
}

/** Another user's socket may have replaced one in /tmp. */
function isOwnSocket(path: string): boolean {
  try {
    const stat = fs.statSync(path);
    return stat.isSocket() && stat.uid === process.getuid?.();
  } catch {
    return false;
  }
}
