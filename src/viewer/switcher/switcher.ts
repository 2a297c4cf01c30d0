/**
 * The switcher: the sessions, windows and panes of the instance over a terminal, filtered by typed text, with a preview
 * of the chosen one. Enter switches to it in the same terminal; keys rename, close (after a question) and create.
 *
 * Owns the timer that refreshes list and preview, which ends when it is closed.
 */
import { toAscii } from "../../compositor/ascii.ts";
import { Canvas } from "../../compositor/canvas.ts";
import { visibleInput } from "../../compositor/dialog.ts";
import { cleanText, clusters } from "../../compositor/graphemes.ts";
import { theme } from "../../compositor/theme.ts";
import { type MouseReport, parseMouseReport } from "../../keys/mouse.ts";
import type { InputEvent } from "../../keys/types.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Frame } from "../../protocol/frame.ts";
import { fuzzyRanked } from "../../protocol/fuzzy.ts";
import { blankRow } from "../../protocol/grid.ts";
import { insertText, lineOf, pastedText, textOfLine } from "../../session/line-editor.ts";
import type { OwnDialog } from "../terminal/overlay-layer.ts";
import type { SwitcherRow, SwitcherSource } from "./destinations.ts";

/** Interval between refreshes of the list and the preview, in ms. */
const RENEW_MS = 1_000;
/** Terminals below this many columns have the list alone. */
const PREVIEW_COLS = 60;
/** Maximum keys queued during an action: more than anyone types during it. */
const MAX_HELD = 256;
/** The row on which the list begins. */
const LIST_ROW = 2;
/** Mouse button for the wheel turned up; the next number is down. */
const WHEEL_UP = 64;
/** Characters that can be typed. */
const MAX_TYPED = 64;

interface SwitcherPort {
  /** The session that the terminal shows. */
  readonly here: () => number;
  readonly readOnly: boolean;
  changed(): void;
  say(text: string): void;
  /** Switches this terminal to the place; later input is typed there. */
  go(place: SwitcherRow): void;
  /** Passes input on to the program below. */
  typed(bytes: Uint8Array): void;
  /** The switcher has closed. */
  onClosed(): void;
}

/** The purpose of the typed line. */
type Mode = "filter" | "rename" | "create" | "close";

export class Switcher implements OwnDialog {
  private all: readonly SwitcherRow[] = [];
  private typed = "";
  private mode: Mode = "filter";
  private chosen = "";
  /** The object of a question or of a typed name, fixed while the line is open. */
  private about: SwitcherRow | undefined;
  private lines: { readonly pane: string; readonly lines: readonly string[] | null } | null = null;
  /** The last drawing of the list: its first place, its rows and its columns. */
  private lastDrawn = { from: 0, room: 0, left: 0 };
  private timer: Timer | null = null;
  private isClosed = false;
  private isBusy = false;
  /** Input typed during an action. */
  private readonly heldEvents: InputEvent[] = [];
  private isLoaded = false;
  /** Whether Enter was pressed before the list arrived. */
  private entersThen = false;

  constructor(
    private readonly source: SwitcherSource,
    private readonly port: SwitcherPort,
  ) {
    void this.renew();
  }

  closed(): void {
    this.isClosed = true;
    clearTimeout(this.timer ?? undefined);
  }

  draw(frame: Frame, ascii: boolean): Frame {
    const { rows, cols } = frame;
    const sign = ascii ? toAscii : (line: string): string => line;
    const canvas = new Canvas(rows, cols);
    for (let row = 0; row < rows; row++) canvas.putRow(row, blankRow(cols));
    const box = { row: 0, col: 0, height: rows, width: cols };
    const text = (row: number, col: number, content: string, style = theme.dialog, within = box): void =>
      canvas.text(row, col, clusters(cleanText(content).replaceAll("\n", " ")), style, within);
    canvas.fill(box, theme.dialog);
    canvas.fill({ ...box, height: 1 }, theme.dialog_bar);
    text(0, 1, this.source.title, theme.dialog_bar);
    // The end of the input stays visible.
    const input = visibleInput({ before: this.prompt(), after: "" }, cols - 1);
    text(1, 1, input.text, theme.dialog_strong);
    const left = cols < PREVIEW_COLS || this.source.preview === undefined ? cols : Math.min(46, Math.floor(cols / 2));
    const shown = this.matchingRows();
    const room = Math.max(1, rows - 3);
    const index = Math.max(
      0,
      shown.findIndex(({ target }) => target === this.chosen),
    );
    const from = Math.max(0, Math.min(index - Math.floor(room / 2), shown.length - room));
    this.lastDrawn = { from, room, left };
    for (const [at, place] of shown.slice(from, from + room).entries()) {
      const row = 2 + at;
      const isChosen = place.target === this.chosen;
      const style = isChosen ? theme.dialog_choice : place.kind === "session" ? theme.dialog_strong : theme.dialog;
      const cell = { row, col: 0, height: 1, width: left };
      if (isChosen) canvas.fill(cell, theme.dialog_choice);
      const name = `${isChosen ? ">" : " "}${"  ".repeat(place.depth)}${place.depth === 0 && place.kind === "pane" ? `${place.session} ` : ""}${place.name}`;
      text(row, 0, name, style, cell);
      if (place.description !== "")
        text(row, Math.max(0, left - place.description.length - 1), ` ${place.description}`, style, cell);
    }
    if (shown.length === 0) text(2, 1, this.timer === null ? sign("…") : this.nothing(), theme.dialog_hint);
    if (left < cols) {
      const view = { row: 2, col: left + 1, height: rows - 3, width: cols - left - 1 };
      for (let row = 2; row < rows - 1; row++) text(row, left, sign("│"), theme.dialog_hint);
      const { lines } = this;
      if (lines !== null && lines.pane === shown[index]?.pane) {
        if (lines.lines === null) text(2, left + 2, "does not answer", theme.dialog_hint);
        for (const [at, line] of (lines.lines ?? []).slice(0, rows - 3).entries())
          text(2 + at, left + 1, line, theme.dialog, view);
      }
    }
    canvas.fill({ row: rows - 1, col: 0, height: 1, width: cols }, theme.dialog_bar);
    text(rows - 1, 1, sign(this.hints(cols)), theme.dialog_bar);
    const col = Math.min(cols - 1, 1 + input.caret);
    return {
      ...frame,
      lines: canvas.finish(),
      cursor: { row: Math.min(1, rows - 1), col, visible: true, shape: "bar", blink: false },
    };
  }

  pressed(event: InputEvent): "open" | "closed" {
    const { kind, parsed } = event;
    if (this.isBusy || this.entersThen) {
      // Input during an action is handled after it.
      if ((kind === "key" || kind === "paste") && this.heldEvents.length < MAX_HELD) this.heldEvents.push(event);
      return "open";
    }
    if (kind === "mouse") this.clicked(parseMouseReport(event.raw));
    if (kind === "paste") this.pasted(event);
    if (kind !== "key" || parsed === null) return "open";
    const { key, modifiers } = parsed;
    const before = this.typed;
    const name = [...modifiers, key].join("+");
    if (name === "Escape" || name === "ctrl+c" || name === "ctrl+g") {
      if (this.mode === "filter") return "closed";
      this.enter("filter");
    } else if (this.mode === "close") {
      // As in every question before an end, only yes confirms.
      if (key === "y" || key === "Y") this.accept();
      else this.enter("filter");
    } else if (name === "Enter") this.accept();
    else if (name === "ArrowUp" || name === "ctrl+p") this.move(-1);
    else if (name === "ArrowDown" || name === "ctrl+n" || name === "Tab") this.move(1);
    else if (name === "PageUp") this.move(-10);
    else if (name === "PageDown") this.move(10);
    else if (name === "Backspace" || name === "ctrl+h") this.typed = Array.from(this.typed).slice(0, -1).join("");
    else if (name === "ctrl+u") this.typed = "";
    else if (this.mode === "filter" && modifiers.join() === "ctrl") this.command(key);
    else if (modifiers.length === 0 && (key.length === 1 || !/^[A-Z]/.test(key)) && this.typed.length < MAX_TYPED)
      this.typed += key;
    if (this.mode === "filter" && this.typed !== before) this.chosen = this.matchingRows()[0]?.target ?? "";
    this.settle();
    return "open";
  }

  private pasted(event: InputEvent): void {
    if (this.mode === "close") return;
    const line = insertText(lineOf(this.typed), pastedText(event), MAX_TYPED);
    if (line === null) return;
    this.typed = textOfLine(line);
    if (this.mode === "filter") this.chosen = this.matchingRows()[0]?.target ?? "";
    this.settle();
  }

  private hints(cols: number): string {
    if (this.mode === "close") return "y confirms · any other key cancels";
    if (this.mode !== "filter") return "Enter confirms · Esc cancels";
    const { rename, create } = this.source;
    const long = ["Enter selects", rename && "Ctrl+R renames", "Ctrl+X closes", create && "Ctrl+T new session", "Esc"];
    const short = ["Enter", rename && "^R name", "^X close", create && "^T new"];
    const [said, less] = [long, short].map((hints) => hints.filter((hint) => hint !== undefined).join(" · "));
    return (said ?? "").length < cols ? (said ?? "") : (less ?? "");
  }

  /** A click selects a place, or switches to the selected one; the wheel moves the selection. */
  private clicked(report: MouseReport | null): void {
    if (report === null || report.release || this.mode !== "filter") return;
    const { button, row, col } = report;
    const { from, room, left } = this.lastDrawn;
    const at = row - 1 - LIST_ROW;
    if (button === WHEEL_UP || button === WHEEL_UP + 1) this.move(button === WHEEL_UP ? -1 : 1);
    else if (button === 0 && at >= 0 && at < room && col <= left) {
      const place = this.matchingRows()[from + at];
      if (place === undefined) return;
      if (place.target === this.chosen) this.accept();
      else this.chosen = place.target;
    } else return;
    this.settle();
  }

  private command(key: string): void {
    if (this.port.readOnly) this.port.say("this terminal is read-only");
    else if (key === "r" && this.source.rename !== undefined && this.selectedRow() !== undefined) this.enter("rename");
    else if (key === "x" && this.selectedRow() !== undefined) this.enter("close");
    else if (key === "t" && this.source.create !== undefined) this.enter("create", this.typed);
  }

  private enter(mode: Mode, typed = ""): void {
    this.mode = mode;
    this.about = this.selectedRow();
    this.typed = typed;
  }

  private prompt(): string {
    const what = this.about === undefined ? "" : described(this.about);
    switch (this.mode) {
      case "filter":
        return `> ${this.typed}`;
      case "rename":
        return `new name of ${what}: ${this.typed}`;
      case "create":
        return `name of the new session: ${this.typed}`;
      case "close":
        return `${this.about === undefined ? "" : this.source.closes(this.about)} y or n `;
    }
  }

  private nothing(): string {
    return this.typed === "" ? this.source.nothing : "no match";
  }

  private matchingRows(): SwitcherRow[] {
    const query = this.mode === "filter" ? this.typed : "";
    return fuzzyRanked(this.all, query, ({ session, name, description }) => `${session} ${name} ${description}`);
  }

  private selectedRow(): SwitcherRow | undefined {
    return this.all.find(({ target }) => target === this.chosen);
  }

  private move(by: number): void {
    const shown = this.matchingRows();
    const index = shown.findIndex(({ target }) => target === this.chosen);
    this.chosen = shown[Math.max(0, Math.min(shown.length - 1, index + by))]?.target ?? "";
  }

  /** Ensures that the selected place is displayed. */
  private settle(): void {
    if (this.mode !== "filter") return;
    const shown = this.matchingRows();
    if (!shown.some(({ target }) => target === this.chosen)) this.chosen = shown[0]?.target ?? "";
    if (this.lines?.pane !== this.selectedRow()?.pane) void this.loadRows();
  }

  private accept(): void {
    const { mode, typed, about } = this;
    const place = this.selectedRow();
    if (mode !== "filter") this.enter("filter");
    if (mode === "filter" && !this.isLoaded) this.entersThen = true;
    else if (mode === "filter" && place !== undefined) this.leaveFor(place);
    else if (mode === "rename" && about !== undefined && typed !== "")
      void this.act(async () => this.source.rename?.(about, typed));
    else if (mode === "close" && about !== undefined) void this.act(() => this.source.close(about));
    else if (mode === "create")
      void this.act(async () => {
        const made = await this.source.create?.(typed.trim());
        if (made !== undefined) this.leaveFor(made);
      });
  }

  private leaveFor(place: SwitcherRow): void {
    if (this.isClosed) return;
    this.port.go(place);
    this.port.onClosed();
  }

  private async act(make: () => Promise<void>): Promise<void> {
    this.isBusy = true;
    await make().catch((error) => this.port.say(WshError.from(error).message));
    if (!this.isClosed) await this.renew();
    this.isBusy = false;
    this.replay();
  }

  /** Handles the queued input. */
  private replay(): void {
    for (const event of this.heldEvents.splice(0)) {
      if (this.isClosed) this.port.typed(event.raw);
      else if (this.pressed(event) === "closed") this.port.onClosed();
    }
  }

  private async renew(): Promise<void> {
    clearTimeout(this.timer ?? undefined);
    const listed = await this.source.list().catch(() => null);
    if (this.isClosed) return;
    if (listed !== null) this.all = listed;
    if (this.chosen === "") {
      const here = this.matchingRows().filter(({ number }) => number === this.port.here());
      this.chosen =
        (here.find(({ description }) => description === "shown") ?? here[0] ?? this.matchingRows()[0])?.target ?? "";
      if (this.typed !== "") this.chosen = this.matchingRows()[0]?.target ?? "";
    }
    clearTimeout(this.timer ?? undefined);
    this.timer = setTimeout(() => void this.renew(), RENEW_MS);
    this.settle();
    this.isLoaded = true;
    if (this.entersThen) {
      this.entersThen = false;
      this.accept();
      this.replay();
    }
    void this.loadRows();
  }

  private async loadRows(): Promise<void> {
    const place = this.selectedRow();
    if (this.isClosed) return;
    if (place !== undefined && this.source.preview !== undefined) {
      const lines = await this.source.preview(place);
      if (this.isClosed) return;
      if (this.selectedRow()?.pane === place.pane) this.lines = { pane: place.pane, lines };
    }
    this.port.changed();
  }
}

function described({ kind, session, name }: SwitcherRow): string {
  return kind === "session" ? `session '${session}'` : `${kind} ${name}`;
}
