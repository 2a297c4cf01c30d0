/**
 * Ids used by checkpoints on disk, from file names alone (checkpoints/files/paths.ts): `s3` and `s3.label` of session
 * 3, containing `p7.12.state` of pane 7.
 */
import { join } from "node:path";
import { checkpointsDir, type Instance } from "../instance/paths.ts";
import { namesIn } from "../platform/readable.ts";

/** @param living sessions whose panes are known from the registry */
export function keptIds(
  instance: Instance,
  living: ReadonlySet<number>,
): { readonly sessions: readonly number[]; readonly panes: readonly number[] } {
  const sessions: number[] = [];
  const panes: number[] = [];
  const root = checkpointsDir(instance);
  for (const folder of namesIn(root)) {
    const session = idIn(/^s([1-9]\d{0,7})(?:[.~]|$)/, folder);
    if (session === null) continue;
    sessions.push(session);
    if (living.has(session)) continue;
    panes.push(...namesIn(join(root, folder)).map((file) => idIn(/^p([1-9]\d{0,7})\./, file) ?? 0));
  }
  return { sessions, panes };
}

function idIn(pattern: RegExp, name: string): number | null {
  const id = pattern.exec(name)?.[1];
  return id === undefined ? null : Number(id);
}
