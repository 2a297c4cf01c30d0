/** The session's only pane as its attached terminals show it: its program's own bytes, or the emulator's screen. */
import { toFrameModes } from "../compositor/frame-modes.ts";
import { withColors } from "../terminal/profile.ts";
import { rowLines } from "../terminal/rows/row-lines.ts";
import type { DisplayedContent } from "../viewer/terminal/displayed-content.ts";
import type { MouseTargets } from "../viewer/terminal/pointer.ts";
import { copyModeSource } from "./copy-mode-source.ts";
import type { PaneSession } from "./pane-session.ts";

export function displayedPane(session: PaneSession): DisplayedContent {
  const { pane } = session;
  const { terminal } = pane;
  return {
    get rows() {
      return terminal.rows;
    },
    get cols() {
      return terminal.cols;
    },
    get epoch() {
      return terminal.epoch;
    },
    get alternate() {
      return terminal.alternate;
    },
    get modes() {
      return toFrameModes(terminal.modes, terminal.alternate);
    },
    shows: (id) => id === pane.id,
    rings: (id) => id === pane.id,
    get title() {
      return terminal.title;
    },
    get isSynchronized() {
      return terminal.modes.synchronizedOutput;
    },
    get endsWithPrompt() {
      return pane.commands.log.endsWithPrompt;
    },
    grid: () => terminal.grid(),
    framePlaces() {
      const { rows, cols, title, alternate } = terminal;
      const place = { id: session.pane.id, row: 0, col: 0, rows, cols, active: true, title, alternate };
      const { mouse } = toFrameModes(terminal.modes, alternate);
      return { window: session.window.id, panes: [{ ...place, mouse, ...rowLines(terminal.storedSource) }] };
    },
    whenAtRest: (make) => terminal.whenAtRest(make),
    listen(listener) {
      const { events } = pane;
      const unsubscribers = [
        events.on("ahead", (bytes) => listener.ahead(bytes)),
        events.on("chunk", ({ bytes }) => listener.chunk(bytes)),
        events.on("resizing", () => listener.resizing()),
        events.on("reset", () => listener.reset()),
        events.on("bell", () => listener.bell()),
        events.on("clipboard", (copied) => listener.clipboard(copied)),
      ];
      return () => {
        for (const unsubscribe of unsubscribers) unsubscribe();
      };
    },
    learnColors: (colors) => terminal.setProfile(withColors(terminal.profile, colors)),
    hasSeveralPanes: false,
    mouseTargets: mouseTargetsOf(session),
    input: pane,
    copyModeSource: copyModeSource(terminal, () => pane.commands.log.list()),
    get pictures() {
      return terminal.pictures === null ? [] : [terminal.pictures];
    },
    program: terminal,
    fullWidthPrograms: [terminal],
  };
}

/** The only pane fills the picture; mouse reports for it are typed like any input. */
function mouseTargetsOf({ pane }: PaneSession): MouseTargets {
  const { terminal } = pane;
  return {
    active: pane.id,
    get isInPixels() {
      return terminal.modes.mouseEncoding === "sgr-pixels";
    },
    paneAt: (row, col) => (row >= 0 && row < terminal.rows && col >= 0 && col < terminal.cols ? pane.id : null),
    boxOf: () => ({ row: 0, col: 0, rows: terminal.rows, cols: terminal.cols }),
    modesOf: () => toFrameModes(terminal.modes, terminal.alternate),
    isInCopyMode: () => false,
    sendTo: (_, bytes) => bytes,
    select: () => {},
    borderAt: () => null,
    drag: () => {},
  };
}
