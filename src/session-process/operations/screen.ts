/** The screen of a pane in the form that operations return. */
import type { Pane } from "../../pane/pane.ts";
import { isPlainShell } from "../../pane/state/classify.ts";
import type { Format, Screen } from "../../protocol/screen.ts";
import { selectedPart } from "../../protocol/screen-selection.ts";
import { hidesTypedText } from "../../pty/port.ts";
import type { TerminalModel } from "../../terminal/model.ts";

/** Maximum characters of a selected part: a longer one is a bar, and tells nothing. */
const MAX_SELECTED_LENGTH = 120;

/**
 * Plain text does not show a program's selection, so it is returned separately.
 * @param tail only the newest rows, ending with the last one that is not blank
 */
export function screenWithSelection(terminal: TerminalModel, format: Format, tail?: number): Screen {
  const screen = terminal.screen(format);
  const lines = tail === undefined ? screen.lines : lastLines(screen.lines, tail);
  if (format === "styled" || !screen.alternate_active) return { ...screen, lines };
  const rows = terminal.screen("styled").lines.map((line) => (typeof line === "string" ? [{ text: line }] : line));
  const selection = selectedPart(rows, screen.cursor);
  if (selection === null) return { ...screen, lines };
  const { text, row, col } = selection;
  return { ...screen, lines, selected: { text: text.slice(0, MAX_SELECTED_LENGTH), row, col } };
}

function lastLines<L extends string | readonly unknown[]>(lines: readonly L[], count: number): L[] {
  const end = lines.findLastIndex((line) => line.length > 0) + 1;
  return lines.slice(Math.max(0, end - count), end);
}

/** The end of a shell's prompt, before the cursor. */
const PROMPT_END = /[$#%>]\s*$/;
export const NO_ECHO = "no echo";

/**
 * Modes that disturb the text. Programs that draw a screen need them; at a prompt, and where a line is read, they
 * are leftovers.
 */
export function disorderOf(pane: Pane): { disorder?: string[] } {
  const { terminal } = pane;
  if (terminal.alternate && pane.commands.state().state !== "prompt") return {};
  const disorder = [...terminal.disruptiveModes, ...(lacksEcho(pane) ? [NO_ECHO] : [])];
  return disorder.length === 0 ? {} : { disorder };
}

/**
 * Whether a shell shows its prompt while its terminal does not echo: a program that reads a password shows no prompt.
 */
function lacksEcho(pane: Pane): boolean {
  const { commands } = pane;
  return commands.isAtPrompt ? commands.lostEcho.isLost : lacksPlainEcho(pane);
}

/** The same for a shell without a line editor of its own. */
export function lacksPlainEcho(pane: Pane): boolean {
  const { text, commands } = pane;
  if (!hidesTypedText(pane.flags())) return false;
  const { state, foreground } = commands.state();
  if (state !== "password" || foreground === null || !isPlainShell(foreground)) return false;
  const { line, index } = text.position();
  return PROMPT_END.test((text.line(line) ?? "").slice(0, index));
}

/** No reason for a warning: programs that read lines hide the cursor too, and menus request the mouse. */
const ORDINARY_DISORDER: ReadonlySet<string> = new Set([
  "hidden cursor",
  "mouse reports",
  "focus reports",
  "synchronized output",
]);

/** Warnings for output that the terminal shows incorrectly. */
export function disorderWarnings(pane: Pane): string[] {
  const { disorder = [] } = disorderOf(pane);
  if (disorder.every((name) => ORDINARY_DISORDER.has(name))) return [];
  return [`the terminal was left with ${disorder.join(", ")}: its text may be wrong until it is reset`];
}
