/** Shows the terminals of a script in panes beside the pane of the person who started it. */
import type { Call, Terminal } from "../client/terminal/language.ts";

interface BesidePanes {
  /** Shows a terminal that the script has opened. */
  show(terminal: Terminal): Promise<void>;
  /** Closes the panes; their terminals continue. */
  close(): Promise<void>;
}

/** @param beside the person's pane; it keeps the focus */
export function besidePanes(call: Call, beside: string): BesidePanes {
  const panes: string[] = [];
  return {
    async show({ target }) {
      const { pane } = await call("pane.split", { view: target, direction: "right", focus: false }, beside);
      panes.push(pane);
    },
    async close() {
      for (const pane of panes) await call("pane.close", {}, pane).catch(() => {});
    },
  };
}
