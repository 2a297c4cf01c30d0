/** What `wsh grant` lends to a sandbox: some rights at a socket of its own (docs/grants.md). */

export const grantRights = ["ask", "notify", "hook", "own-panes"] as const;
export type GrantRight = (typeof grantRights)[number];

/** Names the socket to the programs that have it. */
export const GRANT_VARIABLE = "WSH_GRANT";
