/**
 * Operations on windows and panes of a session that has one pane: what can be said or done without a layout process.
 * Everything else starts one first (promotion.ts).
 */
import type { Handlers } from "../../endpoint/operations/context.ts";
import type { OperationNameOf } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Arrangement } from "../../protocol/layout.ts";
import { placePanes } from "../../session/layout/cells.ts";
import { writeTmuxLayout } from "../../session/layout/tmux-layout.ts";
import { leaf } from "../../session/layout/tree.ts";
import type { Session } from "../session.ts";

type LayoutOperation = OperationNameOf<"layout">;

/** Those that one pane needs no layout for: reading, ending, and what changes nothing where there is no other pane. */
const known: ReadonlySet<string> = new Set<LayoutOperation>([
  "pane.list",
  "window.list",
  "layout.get",
  "pane.close",
  "window.close",
  "pane.select",
  "window.select",
  "pane.resize",
  "pane.zoom",
  "layout.preset",
  "layout.equalise",
  "layout.rotate",
]);

export function isOfOnePane(operation: string, input: unknown): boolean {
  if (operation === "pane.respawn") return typeof input === "object" && Object.keys(input ?? {}).length === 0;
  return known.has(operation);
}

export const onePaneHandlers: Handlers<"layout", Session> = {
  "pane.list": (session) =>
    session.info().windows.flatMap(({ id, panes }) => panes.map((pane) => ({ ...pane, window: id }))),
  "window.list": (session) => session.info().windows,
  "layout.get": (session) => ({
    session: session.name,
    windows: session.info().windows.map(({ id, index, name }) => {
      const tree = leaf(session.pane.id);
      const { ptyRows: rows, ptyCols: cols } = session.layout;
      return {
        id,
        index,
        name,
        tree: { pane: session.pane.id, ...(session.startedWith === undefined ? {} : { env: session.startedWith }) },
        tmux: writeTmuxLayout(placePanes(tree, { rows, cols }), paneNumber),
      };
    }),
  }),
  "pane.close": async (session) => {
    await session.lifetime.kill("killed");
    return { closed: session.pane.id };
  },
  "window.close": async (session) => {
    const [window] = session.info().windows;
    await session.lifetime.kill("killed");
    return { closed: window?.id ?? session.id };
  },
  "pane.select": arrangement,
  "window.select": (session, { index }) => {
    if (index !== undefined && index !== 0) throw new WshError("pane_not_found", `the session has no window ${index}`);
    return arrangement(session);
  },
  "pane.resize": arrangement,
  "pane.zoom": arrangement,
  "layout.preset": arrangement,
  "layout.equalise": arrangement,
  "layout.rotate": arrangement,
  "pane.respawn": async (session) => {
    await session.lifetime.restart();
    return arrangement(session);
  },
  "pane.split": needed,
  "pane.swap": needed,
  "pane.move": needed,
  "pane.update": needed,
  "window.create": needed,
  "window.update": needed,
  "layout.set": needed,
};

/** tmux's number for a pane. */
function paneNumber(id: string): number {
  return Number(id.slice(1));
}

function arrangement(session: Session): Arrangement {
  const { name, id, windows } = session.info();
  return { session: name, session_id: id, window: windows[0]?.id ?? "", pane: session.pane.id, windows };
}

function needed(): never {
  throw new WshError("internal_error", "a layout process is needed, and was not started");
}
