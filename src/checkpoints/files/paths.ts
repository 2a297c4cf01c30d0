/**
 * Paths of checkpoints: a folder for each session, `s3`, with the files of its panes (`p7.12.state`, `p7.10.history`)
 * and of its layout (`layout.4.state`); the number is a generation. The writing process holds the lock of a `.lock`
 * file. Only names; nothing is read.
 */
import { join } from "node:path";
import { checkpointsDir, type Instance } from "../../instance/paths.ts";

export { checkpointsDir };

/** The owner of files: a pane, or the layout of a session with several. */
export type PartName = `p${number}` | "layout";

export function sessionDir(instance: Instance, session: number): string {
  return join(checkpointsDir(instance), `s${session}`);
}

/** The session whose folder has this name; null for anything else. */
export function parseSessionDir(name: string): number | null {
  const [, session] = /^s([1-9]\d{0,8})$/.exec(name) ?? [];
  return session === undefined ? null : Number(session);
}

export function panePart(pane: number): PartName {
  return `p${pane}`;
}

export function stateFile(part: PartName, generation: number): string {
  return `${part}.${generation}.state`;
}

export function historyFile(part: PartName, generation: number): string {
  return `${part}.${generation}.history`;
}

/** Names the checkpoint from which the user chose not to restore the session. */
export function declinedFile(directory: string): string {
  return join(directory, "declined");
}

/** File beside a named checkpoint with the numbers that its pane had issued at its end. */
export function numbersFile(pane: number): string {
  return `p${pane}.numbers`;
}

/** File beside a named checkpoint with its note and the repositories of its panes. */
export const FACTS_FILE = "facts.json";

export function lockFile(part: PartName): string {
  return `${part}.lock`;
}

const filePattern = /^(p[1-9]\d{0,8}|layout)\.([1-9]\d{0,14})\.(state|history)$/;

export interface PartFile {
  readonly part: PartName;
  readonly generation: number;
  readonly kind: "state" | "history";
}

/** Parses the name of a file in a session's folder; null: another file. */
export function parsePartFile(name: string): PartFile | null {
  const [, part, generation, kind] = filePattern.exec(name) ?? [];
  if (part === undefined || generation === undefined) return null;
  return {
    part: part as PartName,
    generation: Number(generation),
    kind: kind === "history" ? "history" : "state",
  };
}
