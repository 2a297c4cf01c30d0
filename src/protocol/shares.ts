/**
 * Limits that several callers have in common leave room for the account itself: one token takes at most half of the places,
 * all tokens together three quarters (docs/security.md, Limits). Tokens of access admin are the account's own. Pure.
 */
import type { Access, Caller } from "./caller.ts";
import { WshError } from "./errors.ts";

/** The token whose part a place is; null: the account's own programs, terminals and browsers. */
export type Share = string | null;

/** Ids of what is never another's: a read-only MCP client over the Unix socket, for one. */
const ofAccount: ReadonlySet<string> = new Set(["own", "socket", "none"]);
type Admitted = { readonly caller: Pick<Caller, "via" | "only">; readonly access: Access };
const PART_OF_ONE = 1 / 2;
const PART_OF_ALL = 3 / 4;

export function shareOf({ caller: { via, only }, access }: Admitted): Share {
  if (via === undefined || (access === "admin" && only === undefined)) return null;
  const id = via.id ?? via.token;
  return ofAccount.has(id) ? null : id;
}

/**
 * @param taken whose the places are that are taken
 * @param what plural of a place: "tickets are unused"
 * @throws WshError resource_limit_reached when the caller may not have one more
 */
export function requireRoom(limit: number, share: Share, taken: Iterable<Share>, what: string): void {
  let all = 0;
  let others = 0;
  let own = 0;
  for (const each of taken) {
    all++;
    if (each !== null) others++;
    if (each === share) own++;
  }
  if (all >= limit) throw new WshError("resource_limit_reached", `${limit} ${what} already`);
  if (share === null) return;
  const part = own >= partOf(limit, PART_OF_ONE) ? own : others >= partOf(limit, PART_OF_ALL) ? others : null;
  if (part === null) return;
  const whose = part === own ? "of this token" : "of tokens";
  throw new WshError(
    "resource_limit_reached",
    `${part} ${what} already ${whose}: the rest is kept for the account itself`,
  );
}

function partOf(limit: number, part: number): number {
  return Math.max(1, Math.floor(limit * part));
}
