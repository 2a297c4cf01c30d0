/**
 * Chooses the machine for a session: takes two at random of those that accept placed sessions and have every
 * requested tag, the less loaded first. So many requests load all machines evenly, without exact knowledge of
 * any. The other machines follow if both refuse. Pure.
 */
import { createHash } from "node:crypto";
import type { MachineHealth } from "../protocol/machines.ts";

/** The sessions that a machine lets others start: none, those that name it, or placed ones too. */
export type Acceptance = "none" | "named" | "placed";

/** A machine as input for the placement. */
export interface Candidate {
  readonly name: string;
  readonly health: MachineHealth;
  readonly tags: readonly string[];
  readonly accept: Acceptance;
  /** One-minute load average per processor. */
  readonly load: number;
  readonly sessions: number;
}

/** Maximum machines asked for one session: if more refuse, the fleet is full. */
const MAX_ASKED = 8;

export function isSuitable({ health, accept, tags }: Candidate, wanted: readonly string[]): boolean {
  return health === "healthy" && accept === "placed" && wanted.every((tag) => tags.includes(tag));
}

/** The machines to ask, in this order. @param random like Math.random */
export function placementOrder(
  candidates: readonly Candidate[],
  wanted: readonly string[],
  random: () => number,
): readonly string[] {
  const left = candidates.filter((each) => isSuitable(each, wanted));
  const order: Candidate[] = [];
  while (left.length > 0 && order.length < MAX_ASKED) {
    const pair = [...takeRandom(left, random), ...takeRandom(left, random)];
    order.push(...pair.toSorted(byLoad));
  }
  return order.slice(0, MAX_ASKED).map(({ name }) => name);
}

/**
 * The same for a request with a caller's id, which another server may repeat: the order derives from the id and the
 * machines' names alone, so that the same machine executes it.
 */
export function orderOf(candidates: readonly Candidate[], wanted: readonly string[], id: string): readonly string[] {
  const ranked = candidates
    .filter((each) => isSuitable(each, wanted))
    .map(({ name }) => ({ name, rank: createHash("sha256").update(`${id} ${name}`).digest("hex") }));
  return ranked
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, MAX_ASKED)
    .map(({ name }) => name);
}

function takeRandom(from: Candidate[], random: () => number): Candidate[] {
  return from.splice(Math.floor(random() * from.length), 1);
}

/** The session count represents load that the average does not contain yet. */
function byLoad(a: Candidate, b: Candidate): number {
  return a.load - b.load || a.sessions - b.sessions;
}
