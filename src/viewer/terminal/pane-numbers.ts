/** Shows the number of each pane over it for a moment: a digit selects its pane, any other key goes to the program. */
import { Canvas } from "../../compositor/canvas.ts";
import { clusters } from "../../compositor/graphemes.ts";
import { theme } from "../../compositor/theme.ts";
import type { Session } from "../../session/session.ts";
import type { DisplayedContent } from "./displayed-content.ts";
import type { TerminalDialog } from "./overlay-layer.ts";

/** Time for which they are shown, in ms, as in tmux. */
const SHOWN_MS = 1_000;

/** @param onTimeout called when that time has passed */
export function paneNumbersDialog(
  {
    session,
    content,
  }: { readonly session: Pick<Session, "windows">; readonly content: Pick<DisplayedContent, "mouseTargets"> },
  onTimeout: () => void,
): TerminalDialog {
  const { mouseTargets } = content;
  const window = session.windows.find(({ panes }) => panes.some(({ id }) => id === mouseTargets.active));
  const panes = (window?.panes ?? []).filter(({ popup }) => popup !== true);
  const timer = setTimeout(onTimeout, SHOWN_MS);
  return {
    draw(frame) {
      const canvas = new Canvas(frame.rows, frame.cols);
      for (const [row, line] of frame.lines.entries()) canvas.putRow(row, line);
      for (const { id, index } of panes) {
        const box = mouseTargets.boxOf(id);
        if (box === null) continue;
        const text = ` ${index} `;
        const row = box.row + Math.floor(box.rows / 2);
        const col = box.col + Math.max(0, Math.floor((box.cols - text.length) / 2));
        const style = id === mouseTargets.active ? theme.dialog_choice : theme.dialog_bar;
        canvas.text(row, col, clusters(text), style, { row, col, height: 1, width: text.length });
      }
      return { ...frame, lines: canvas.finish() };
    },
    handleEvent({ kind, parsed }) {
      if (kind !== "key" || parsed === null) return kind === "paste" ? "passed" : "open";
      if (parsed.modifiers.length > 0 || !/^[0-9]$/.test(parsed.key))
        return parsed.key === "Escape" ? "closed" : "passed";
      const chosen = panes.find(({ index }) => String(index) === parsed.key);
      if (chosen !== undefined) mouseTargets.select(chosen.id);
      return "closed";
    },
    onClosed: () => clearTimeout(timer),
  };
}
