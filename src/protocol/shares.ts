/**
 * Limits that several callers share leave room for the account itself: one token may take at most half of the
 * places, all tokens together three quarters (docs/security.md, Limits). Tokens with access admin count as
 * the account's own, and the account's AI agents count as tokens, so that they leave room for a person. Of
 * the places that another machine takes by its token, one token of that machine may take at most half. Pure.
 */
import type { Access, Caller } from "./caller.ts";
import { WshError } from "./errors.ts";

/**
 * The token or agent that uses a place, and after a `/` the token of that token's machine; null: the account's own
 * programs, terminals and browsers.
 */
export type Share = string | null;

/** Ids of the account's own access: a read-only MCP client over the Unix socket, for example. */
const ofAccount: ReadonlySet<string> = new Set(["own", "socket", "none"]);
type Admitted = { readonly caller: Pick<Caller, "via" | "only" | "agent">; readonly access: Access };
/** Begins the share of an agent: no token's id has a blank. */
const AGENT = "agent ";
const PART_OF_ONE = 1 / 2;
const PART_OF_ALL = 3 / 4;

export function shareOf(admitted: Admitted): Share {
  const own = ownShare(admitted);
  const there = admitted.caller.via?.share;
  return there === undefined ? own : own === null ? there : `${own}/${there}`;
}

function ownShare({ caller: { via, only, agent }, access }: Admitted): Share {
  const id = via?.id ?? via?.token;
  const isOwn = id === undefined || ofAccount.has(id) || (access === "admin" && only === undefined);
  if (!isOwn) return id;
  return agent === undefined ? null : `${AGENT}${encodeURIComponent(agent)}`;
}

/**
 * @param taken the shares of used places
 * @param what plural of a place: "tickets are unused"
 * @throws WshError resource_limit_reached when the caller may not have another
 */
export function requireRoom(limit: number, share: Share, taken: Iterable<Share>, what: string): void {
  const all = [...taken];
  if (all.length >= limit) throw new WshError("resource_limit_reached", `${limit} ${what} already`);
  if (share === null) return;
  const others = all.filter((each) => each !== null);
  const names = share.split("/");
  const own = names.map((_, depth) => {
    const name = names.slice(0, depth + 1).join("/");
    return others.filter((each) => each === name || each.startsWith(`${name}/`)).length;
  });
  const full = own.find((count, depth) => count >= partOf(limit, PART_OF_ONE ** (depth + 1)));
  const part = full ?? (others.length >= partOf(limit, PART_OF_ALL) ? others.length : null);
  if (part === null) return;
  const one = share.startsWith(AGENT) ? "of this agent" : "of this token";
  const whose = part === full ? one : "of tokens and agents";
  throw new WshError(
    "resource_limit_reached",
    `${part} ${what} already ${whose}: the rest is reserved for the account itself`,
  );
}

function partOf(limit: number, part: number): number {
  return Math.max(1, Math.floor(limit * part));
}
