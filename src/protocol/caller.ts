/** Who calls an operation, and what that caller may do: the same terms in every transport. */

/** What a caller may do: read, act, administer. Each includes the ones before. */
export type Access = "observe" | "operate" | "admin";

/** Shown to the person at the terminal while the caller holds the keyboard, and written to the audit log. */
export interface Caller {
  readonly kind: "http" | "ws" | "mcp" | "cli";
  /** Stable for the life of the connection or MCP session; a stateless caller has none of its own. */
  readonly id: string;
  /** What a person calls it ("Claude Code"). */
  readonly name?: string;
  /** Whether `id` ends with a connection, and with it what the caller owns. */
  readonly connected: boolean;
}

const accessOrder: readonly Access[] = ["observe", "operate", "admin"];

export function accessCovers(held: Access, needed: Access): boolean {
  return accessOrder.indexOf(held) >= accessOrder.indexOf(needed);
}
