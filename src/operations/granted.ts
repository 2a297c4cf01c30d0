/**
 * The right of a grant that opens each operation, for what is the grant's (cli/grant/rules.ts). What does not stand here
 * no grant does. Pure.
 */
import { type GrantRight, grantRights } from "../protocol/grants.ts";
import type { OperationName } from "./table.ts";

const operationsOf: Readonly<Record<GrantRight, readonly OperationName[]>> = {
  ask: ["ask", "ask.cancel"],
  notify: ["terminal.show"],
  hook: ["agent.report"],
  "own-panes": [
    ...(["pane.list", "window.list", "pane.split", "pane.close", "pane.update"] as const),
    ...(["input.send", "run", "exec", "process.wait", "commands.stop", "session.signal"] as const),
    ...(["screen.get", "scrollback.get", "lines.get", "lines.search", "output.get", "status.get"] as const),
    ...(["wait", "idle.await", "commands.list", "commands.get", "commands.output", "commands.result"] as const),
  ],
};

const rights = new Map<string, GrantRight>(
  grantRights.flatMap((right) => operationsOf[right].map((name) => [name, right] as const)),
);

/** Null: no grant opens it. */
export function grantRightOf(operation: string): GrantRight | null {
  return rights.get(operation) ?? null;
}
