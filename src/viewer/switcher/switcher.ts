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
import { type MouseReport, parseMouseReport, WHEEL_DOWN, WHEEL_UP } from "../../keys/mouse.ts";
import type { InputEvent } from "../../keys/types.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Frame } from "../../protocol/frame.ts";
import { fuzzyRanked } from "../../protocol/fuzzy.ts";
import { blankRow } from "../../protocol/grid.ts";
import { insertText, lineOf, pastedText, textOfLine } from "../../session/line-editor.ts";
import type { TerminalDialog } from "../terminal/overlay-layer.ts";
import type { SwitcherRow, SwitcherSource } from "./destinations.ts";

/** Interval between refreshes of the list and the preview, in ms. */
const REFRESH_MS = 1_000;
/** Terminals below this many columns have the list alone. */
const PREVIEW_COLS = 60;
/** Maximum keys queued during an action: more than anyone types during it. */
const MAX_QUEUED = 256;
/** The row on which the list begins. */
const LIST_ROW = 2;
/** Maximum characters of the typed line. */
const MAX_TYPED = 64;

interface SwitcherPort {
  /** The session that the terminal shows. */
  readonly currentSession: () => number;
  readonly readOnly: boolean;
  changed(): void;
  say(text: string): void;
  /** Switches this terminal to the place; later input is typed there. */
  go(place: SwitcherRow): void;
  /** Passes input on to the program below. */
  sendInput(bytes: Uint8Array): void;
  onClosed(): void;
}

/** The purpose of the typed line. */
type Mode = "filter" | "rename" | "create" | "close";

export class Switcher implements TerminalDialog {
  private rows: readonly SwitcherRow[] = [];
  private typedText = "";
  private mode: Mode = "filter";
  private selectedTarget = "";
  /** The object of a question or of a typed name, fixed while the line is open. */
  private subject: SwitcherRow | undefined;
  private preview: { readonly pane: string; readonly lines: readonly string[] | null } | null = null;
  /** The last drawing of the list: its first place, its rows and its columns. */
  private listArea = { from: 0, room: 0, left: 0 };
  private timer: Timer | null = null;
  private isClosed = false;
  private isBusy = false;
  /** Input typed during an action. */
  private readonly queuedEvents: InputEvent[] = [];
  private hasList = false;
  /** Whether Enter was pressed before the list arrived. */
  private acceptsOnceListed = false;

  constructor(
    private readonly source: SwitcherSource,
    private readonly port: SwitcherPort,
  ) {
    void this.refresh();
  }

  onClosed(): void {
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
    const input = visibleInput({ before: this.promptText(), after: "" }, cols - 1);
    text(1, 1, input.text, theme.dialog_strong);
    const left = cols < PREVIEW_COLS || this.source.preview === undefined ? cols : Math.min(46, Math.floor(cols / 2));
    const matching = this.matchingRows();
    const room = Math.max(1, rows - 3);
    const index = Math.max(
      0,
      matching.findIndex(({ target }) => target === this.selectedTarget),
    );
    const from = Math.max(0, Math.min(index - Math.floor(room / 2), matching.length - room));
    this.listArea = { from, room, left };
    for (const [at, place] of matching.slice(from, from + room).entries()) {
      const row = 2 + at;
      const isSelected = place.target === this.selectedTarget;
      const style = isSelected ? theme.dialog_choice : place.kind === "session" ? theme.dialog_strong : theme.dialog;
      const cell = { row, col: 0, height: 1, width: left };
      if (isSelected) canvas.fill(cell, theme.dialog_choice);
      const name = `${isSelected ? ">" : " "}${"  ".repeat(place.depth)}${place.depth === 0 && place.kind === "pane" ? `${place.session} ` : ""}${place.name}`;
      text(row, 0, name, style, cell);
      if (place.description !== "")
        text(row, Math.max(0, left - place.description.length - 1), ` ${place.description}`, style, cell);
    }
    if (matching.length === 0) text(2, 1, this.timer === null ? sign("…") : this.emptyListText(), theme.dialog_hint);
    if (left < cols) {
      const view = { row: 2, col: left + 1, height: rows - 3, width: cols - left - 1 };
      for (let row = 2; row < rows - 1; row++) text(row, left, sign("│"), theme.dialog_hint);
      const { preview } = this;
      if (preview !== null && preview.pane === matching[index]?.pane) {
        if (preview.lines === null) text(2, left + 2, "does not answer", theme.dialog_hint);
        for (const [at, line] of (preview.lines ?? []).slice(0, rows - 3).entries())
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

  handleEvent(event: InputEvent): "open" | "closed" {
    const { kind, parsed } = event;
    if (this.isBusy || this.acceptsOnceListed) {
      // Input during an action is handled after it.
      if ((kind === "key" || kind === "paste") && this.queuedEvents.length < MAX_QUEUED) this.queuedEvents.push(event);
      return "open";
    }
    if (kind === "mouse") this.handleClick(parseMouseReport(event.raw));
    if (kind === "paste") this.handlePaste(event);
    if (kind !== "key" || parsed === null) return "open";
    const { key, modifiers } = parsed;
    const before = this.typedText;
    const name = [...modifiers, key].join("+");
    if (name === "Escape" || name === "ctrl+c" || name === "ctrl+g") {
      if (this.mode === "filter") return "closed";
      this.setMode("filter");
    } else if (this.mode === "close") {
      // As in every question before an end, only yes confirms.
      if (key === "y" || key === "Y") this.accept();
      else this.setMode("filter");
    } else if (name === "Enter") this.accept();
    else if (name === "ArrowUp" || name === "ctrl+p") this.move(-1);
    else if (name === "ArrowDown" || name === "ctrl+n" || name === "Tab") this.move(1);
    else if (name === "PageUp") this.move(-10);
    else if (name === "PageDown") this.move(10);
    else if (name === "Backspace" || name === "ctrl+h")
      this.typedText = Array.from(this.typedText).slice(0, -1).join("");
    else if (name === "ctrl+u") this.typedText = "";
    else if (this.mode === "filter" && modifiers.join() === "ctrl") this.handleShortcut(key);
    else if (modifiers.length === 0 && (key.length === 1 || !/^[A-Z]/.test(key)) && this.typedText.length < MAX_TYPED)
      this.typedText += key;
    if (this.mode === "filter" && this.typedText !== before) this.selectedTarget = this.matchingRows()[0]?.target ?? "";
    this.ensureSelection();
    return "open";
  }

  private handlePaste(event: InputEvent): void {
    if (this.mode === "close") return;
    const line = insertText(lineOf(this.typedText), pastedText(event), MAX_TYPED);
    if (line === null) return;
    this.typedText = textOfLine(line);
    if (this.mode === "filter") this.selectedTarget = this.matchingRows()[0]?.target ?? "";
    this.ensureSelection();
  }

  private hints(cols: number): string {
    if (this.mode === "close") return "y confirms · any other key cancels";
    if (this.mode !== "filter") return "Enter confirms · Esc cancels";
    const { rename, create } = this.source;
    const long = ["Enter selects", rename && "Ctrl+R renames", "Ctrl+X closes", create && "Ctrl+T new session", "Esc"];
    const short = ["Enter", rename && "^R name", "^X close", create && "^T new"];
    const [longText, shortText] = [long, short].map((hints) => hints.filter((hint) => hint !== undefined).join(" · "));
    return (longText ?? "").length < cols ? (longText ?? "") : (shortText ?? "");
  }

  /** A click selects a place, or switches to the selected one; the wheel moves the selection. */
  private handleClick(report: MouseReport | null): void {
    if (report === null || report.release || this.mode !== "filter") return;
    const { button, row, col } = report;
    const { from, room, left } = this.listArea;
    const listRow = row - 1 - LIST_ROW;
    if (button === WHEEL_UP || button === WHEEL_DOWN) this.move(button === WHEEL_UP ? -1 : 1);
    else if (button === 0 && listRow >= 0 && listRow < room && col <= left) {
      const place = this.matchingRows()[from + listRow];
      if (place === undefined) return;
      if (place.target === this.selectedTarget) this.accept();
      else this.selectedTarget = place.target;
    } else return;
    this.ensureSelection();
  }

  private handleShortcut(key: string): void {
    if (this.port.readOnly) this.port.say("this terminal is read-only");
    else if (key === "r" && this.source.rename !== undefined && this.selectedRow() !== undefined)
      this.setMode("rename");
    else if (key === "x" && this.selectedRow() !== undefined) this.setMode("close");
    else if (key === "t" && this.source.create !== undefined) this.setMode("create", this.typedText);
  }

  private setMode(mode: Mode, typed = ""): void {
    this.mode = mode;
    this.subject = this.selectedRow();
    this.typedText = typed;
  }

  private promptText(): string {
    const subjectText = this.subject === undefined ? "" : describeRow(this.subject);
    switch (this.mode) {
      case "filter":
        return `> ${this.typedText}`;
      case "rename":
        return `new name of ${subjectText}: ${this.typedText}`;
      case "create":
        return `name of the new session: ${this.typedText}`;
      case "close":
        return `${this.subject === undefined ? "" : this.source.closeQuestion(this.subject)} y or n `;
    }
  }

  private emptyListText(): string {
    return this.typedText === "" ? this.source.emptyText : "no match";
  }

  private matchingRows(): SwitcherRow[] {
    const query = this.mode === "filter" ? this.typedText : "";
    return fuzzyRanked(this.rows, query, ({ session, name, description }) => `${session} ${name} ${description}`);
  }

  private selectedRow(): SwitcherRow | undefined {
    return this.rows.find(({ target }) => target === this.selectedTarget);
  }

  private move(step: number): void {
    const matching = this.matchingRows();
    const index = matching.findIndex(({ target }) => target === this.selectedTarget);
    this.selectedTarget = matching[Math.max(0, Math.min(matching.length - 1, index + step))]?.target ?? "";
  }

  /** Ensures that the selected place is displayed. */
  private ensureSelection(): void {
    if (this.mode !== "filter") return;
    const matching = this.matchingRows();
    if (!matching.some(({ target }) => target === this.selectedTarget)) this.selectedTarget = matching[0]?.target ?? "";
    if (this.preview?.pane !== this.selectedRow()?.pane) void this.loadPreview();
  }

  private accept(): void {
    const { mode, typedText, subject } = this;
    const place = this.selectedRow();
    if (mode !== "filter") this.setMode("filter");
    if (mode === "filter" && !this.hasList) this.acceptsOnceListed = true;
    else if (mode === "filter" && place !== undefined) this.goTo(place);
    else if (mode === "rename" && subject !== undefined && typedText !== "")
      void this.runAction(async () => this.source.rename?.(subject, typedText));
    else if (mode === "close" && subject !== undefined) void this.runAction(() => this.source.close(subject));
    else if (mode === "create")
      void this.runAction(async () => {
        const created = await this.source.create?.(typedText.trim());
        if (created !== undefined) this.goTo(created);
      });
  }

  private goTo(place: SwitcherRow): void {
    if (this.isClosed) return;
    this.port.go(place);
    this.port.onClosed();
  }

  private async runAction(action: () => Promise<void>): Promise<void> {
    this.isBusy = true;
    await action().catch((error) => this.port.say(WshError.from(error).message));
    if (!this.isClosed) await this.refresh();
    this.isBusy = false;
    this.replayQueued();
  }

  /** Handles the queued input. */
  private replayQueued(): void {
    for (const event of this.queuedEvents.splice(0)) {
      if (this.isClosed) this.port.sendInput(event.raw);
      else if (this.handleEvent(event) === "closed") this.port.onClosed();
    }
  }

  private async refresh(): Promise<void> {
    clearTimeout(this.timer ?? undefined);
    const newRows = await this.source.list().catch(() => null);
    if (this.isClosed) return;
    if (newRows !== null) this.rows = newRows;
    if (this.selectedTarget === "") {
      const currentRows = this.matchingRows().filter(({ number }) => number === this.port.currentSession());
      this.selectedTarget =
        (currentRows.find(({ description }) => description === "shown") ?? currentRows[0] ?? this.matchingRows()[0])
          ?.target ?? "";
      if (this.typedText !== "") this.selectedTarget = this.matchingRows()[0]?.target ?? "";
    }
    clearTimeout(this.timer ?? undefined);
    this.timer = setTimeout(() => void this.refresh(), REFRESH_MS);
    this.ensureSelection();
    this.hasList = true;
    if (this.acceptsOnceListed) {
      this.acceptsOnceListed = false;
      this.accept();
      this.replayQueued();
    }
    void this.loadPreview();
  }

  private async loadPreview(): Promise<void> {
    const place = this.selectedRow();
    if (this.isClosed) return;
    if (place !== undefined && this.source.preview !== undefined) {
      const lines = await this.source.preview(place);
      if (this.isClosed) return;
      if (this.selectedRow()?.pane === place.pane) this.preview = { pane: place.pane, lines };
    }
    this.port.changed();
  }
}

function describeRow({ kind, session, name }: SwitcherRow): string {
  return kind === "session" ? `session '${session}'` : `${kind} ${name}`;
}
