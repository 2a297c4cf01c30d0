/** Shows the terminals of a script in panes beside the person who started it. */
import type { Call, Terminal } from "../client/terminal/language.ts";

export interface ShownBeside {
  opened(terminal: Terminal): Promise<void>;
  /** Closes the panes; their terminals go on. */
  close(): Promise<void>;
}

/** @param beside pane of the person; it keeps the focus */
export function besides(call: Call, beside: string): ShownBeside {
  const panes: string[] = [];
  return {
    async opened({ target }) {
      const { pane } = await call("pane.split", { view: target, direction: "right", focus: false }, beside);
      panes.push(pane);
    },
    async close() {
      for (const pane of panes) await call("pane.close", {}, pane).catch(() => {});
    },
  };
}
