/**
 * Determines which session has a pane that moved between sessions. For a moment the checkpoints of both contain it, and
 * if both crash at that moment they keep it: the layout in which the pane has moved more often is right. The pane's own
 * state may still be in the folder of the session that it left.
 */
import fs from "node:fs";
import { checkpointsDir, type Instance } from "../../instance/paths.ts";
import { readLayout } from "./part-reader.ts";
import { ownFiles } from "./part-writer.ts";
import { panePart, sessionDir, sessionOfDir } from "./paths.ts";
import { movesIn } from "./tree.ts";

/** Numbers of all sessions with a folder. */
export function storedNumbers(instance: Instance): number[] {
  try {
    return fs.readdirSync(checkpointsDir(instance)).flatMap((name) => sessionOfDir(name) ?? []);
  } catch {
    return []; // none yet, or no permission
  }
}

/** How often each pane of a session's layout has moved; empty without a readable layout. */
export function claimsIn(directory: string): ReadonlyMap<number, number> {
  try {
    return movesIn(readLayout(directory).record);
  } catch {
    return new Map();
  }
}

/** The layouts of an instance, read when they are first needed. */
export class Claims {
  private read: ReadonlyMap<number, ReadonlyMap<number, number>> | null = null;

  constructor(private readonly instance: Instance) {}

  /** Whether another session has a pane of this one. */
  isElsewhere(session: number, pane: number): boolean {
    this.read ??= new Map(
      storedNumbers(this.instance).map((number) => [number, claimsIn(sessionDir(this.instance, number))]),
    );
    const own = this.read.get(session)?.get(pane) ?? 0;
    return [...this.read].some(([number, claims]) => number !== session && (claims.get(pane) ?? 0) > own);
  }

  /** The folder with the state of a session's pane. */
  folderOf(session: number, pane: number): string {
    const own = sessionDir(this.instance, session);
    // A file that its process could not finish writing has generation 0.
    const hasIt = (directory: string): boolean =>
      ownFiles(directory, panePart(pane)).some(({ kind, generation }) => kind === "state" && generation > 0);
    if (hasIt(own)) return own;
    return (
      storedNumbers(this.instance)
        .map((number) => sessionDir(this.instance, number))
        .find(hasIt) ?? own
    );
  }
}
