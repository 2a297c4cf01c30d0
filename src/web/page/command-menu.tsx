/** The menu of a command: opened by its mark beside the prompt. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { OutputResult } from "../../protocol/commands.ts";
import { duration } from "../terminal/command-marks.ts";
import { type PaneView, rowsByElement } from "../terminal/pane-view.ts";
import type { CommandMark } from "../terminal/types.ts";
import type { Tile } from "./tile.ts";
import { showError, toast } from "./toasts.ts";
import type { Workspace } from "./workspace.ts";

/** Maximum copied bytes of an output: the operation's limit. */
const MAX_COPIED_BYTES = 1024 * 1024;

/** Minimum distance of the menu from the window's edges, in px. */
const EDGE = 4;

interface OpenMenu {
  readonly pane: PaneView;
  readonly command: CommandMark;
  readonly x: number;
  readonly y: number;
}

export function CommandMenu({ tile, workspace }: { readonly tile: Tile; readonly workspace: Workspace }) {
  const [openMenu, setMenu] = useState<OpenMenu | null>(null);
  useEffect(() => {
    const root = tile.terminal.element;
    const end = new AbortController();
    root.addEventListener(
      "click",
      (event) => {
        const found = commandAt(tile, event);
        setMenu(found);
        if (found !== null) event.stopPropagation();
      },
      { capture: true, signal: end.signal },
    );
    return () => end.abort();
  }, [tile]);
  const menu = useRef<HTMLDivElement>(null);
  // Above everything, and completely within the window, wherever the mark is.
  useLayoutEffect(() => {
    const element = menu.current;
    if (element === null || openMenu === null) return;
    const positionMenu = (): void => {
      const { offsetWidth: width, offsetHeight: height, style } = element;
      style.left = `${Math.max(EDGE, Math.min(openMenu.x, innerWidth - width - EDGE))}px`;
      style.top = `${Math.max(EDGE, Math.min(openMenu.y, innerHeight - height - EDGE))}px`;
    };
    element.showPopover();
    positionMenu();
    addEventListener("resize", positionMenu);
    return () => removeEventListener("resize", positionMenu);
  }, [openMenu]);
  if (openMenu === null) return null;
  const { pane, command } = openMenu;
  const done = (run: () => void) => () => {
    setMenu(null);
    run();
    tile.terminal.input.focus();
  };
  const output = async (): Promise<void> => {
    const { text = "", omitted_bytes } = await workspace.control.call<OutputResult>(
      "get_command_output",
      { id: command.id, max_bytes: MAX_COPIED_BYTES },
      pane.place.id,
    );
    await workspace.copy(text);
    if (omitted_bytes > 0) toast(`${omitted_bytes} bytes in the middle are omitted.`, { kind: "error" });
  };
  return (
    <div
      ref={menu}
      popover="manual"
      class="menu-of-command"
      role="menu"
      onKeyDown={({ key }) => key === "Escape" && setMenu(null)}
    >
      <p>
        <code>{command.command ?? "unknown command"}</code>
        <span>
          {command.isRunning ? "runs" : command.exitCode === null ? "ended, code unknown" : `exit ${command.exitCode}`}
          {command.durationMs !== null && ` · ${duration(command.durationMs)}`}
        </span>
      </p>
      <button type="button" role="menuitem" onClick={done(() => void output().catch(showError))}>
        Copy output
      </button>
      {command.command !== null && (
        <button type="button" role="menuitem" onClick={done(() => void workspace.copy(command.command ?? ""))}>
          Copy command
        </button>
      )}
      {command.lastLine !== null && command.lastLine >= command.firstLine && (
        <button type="button" role="menuitem" onClick={done(() => pane.fold(command.id))}>
          Fold or unfold output
        </button>
      )}
      {command.command !== null && tile.access.value !== "observe" && (
        <button type="button" role="menuitem" onClick={done(() => tile.terminal.type(command.command ?? ""))}>
          Type it again
        </button>
      )}
    </div>
  );
}

/** The command whose mark was clicked: left of its prompt, or at the words on the right. */
function commandAt(tile: Tile, event: MouseEvent): OpenMenu | null {
  const { target } = event;
  if (!(target instanceof HTMLElement) || !target.classList.contains("row") || target.dataset.state === undefined)
    return null;
  const box = target.getBoundingClientRect();
  const isMark =
    event.clientX < box.left + 3 ||
    (target.dataset.mark !== undefined && event.clientX > box.right - target.dataset.mark.length * 9);
  const row = rowsByElement.get(target);
  const pane = tile.terminal.panes.find(({ element }) => element.contains(target));
  if (!isMark || row?.line == null || pane === undefined) return null;
  const { line } = row;
  const command = pane.marks.commands.findLast(({ firstLine }) => firstLine - 1 === line);
  if (command === undefined) return null;
  return { pane, command, x: event.clientX, y: event.clientY };
}
