/** The rights that `wsh grant` lends to a sandbox, at a socket of its own (docs/grants.md). */

export const grantRights = ["ask", "notify", "hook", "own-panes"] as const;
export type GrantRight = (typeof grantRights)[number];

/** Variable with the socket, for the programs that have it. */
export const GRANT_VARIABLE = "WSH_GRANT";
