/**
 * Determines which session has a pane that moved between sessions. For a moment the checkpoints of both contain
 * it, and they keep it if both crash then: the layout in which the pane has moved more often is right. The pane's
 * own state may still be in the folder of the session that it left.
 */
import { checkpointsDir, type Instance } from "../../instance/paths.ts";
import { namesIn } from "../../platform/readable.ts";
import { readLayout } from "./part-reader.ts";
import { listPartFiles } from "./part-writer.ts";
import { panePart, parseSessionDir, sessionDir } from "./paths.ts";
import { readMoves } from "./tree.ts";

/** Numbers of all sessions with a folder. */
export function listStoredSessions(instance: Instance): number[] {
  return namesIn(checkpointsDir(instance)).flatMap((name) => parseSessionDir(name) ?? []);
}

/** How often each pane of a session's layout has moved; empty without a readable layout. */
export function readPaneMoves(directory: string): ReadonlyMap<number, number> {
  try {
    return readMoves(readLayout(directory).record);
  } catch {
    return new Map();
  }
}

/** The layouts of an instance, read when they are first needed. */
export class PaneOwnership {
  private movesBySession: ReadonlyMap<number, ReadonlyMap<number, number>> | null = null;

  constructor(private readonly instance: Instance) {}

  /** Whether another session has a pane of this one. */
  hasMovedAway(session: number, pane: number): boolean {
    this.movesBySession ??= new Map(
      listStoredSessions(this.instance).map((number) => [number, readPaneMoves(sessionDir(this.instance, number))]),
    );
    const ownMoves = this.movesBySession.get(session)?.get(pane) ?? 0;
    return [...this.movesBySession].some(([number, moves]) => number !== session && (moves.get(pane) ?? 0) > ownMoves);
  }

  /** The folder with the state of a session's pane. */
  findStateFolder(session: number, pane: number): string {
    const ownFolder = sessionDir(this.instance, session);
    // A file that its process could not finish writing has generation 0.
    const hasState = (directory: string): boolean =>
      listPartFiles(directory, panePart(pane)).some(({ kind, generation }) => kind === "state" && generation > 0);
    if (hasState(ownFolder)) return ownFolder;
    return (
      listStoredSessions(this.instance)
        .map((number) => sessionDir(this.instance, number))
        .find(hasState) ?? ownFolder
    );
  }
}
