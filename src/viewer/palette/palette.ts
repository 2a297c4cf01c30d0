/**
 * The command palette: a line over the lower part of a terminal in which every operation can be called by name, with
 * completion of its parameters, errors and answers below it, and a history of lines.
 *
 * Invariants: only a line that is complete when Enter is pressed is called; a running call can be cancelled; only
 * Escape, Ctrl+C or a finished call closes it.
 */
import { toAscii } from "../../compositor/ascii.ts";
import { Canvas, type CanvasBox } from "../../compositor/canvas.ts";
import { visibleInput, wrap } from "../../compositor/dialog.ts";
import { cleanText, clusters } from "../../compositor/graphemes.ts";
import { theme } from "../../compositor/theme.ts";
import { splitWords } from "../../keys/line.ts";
import { type MouseReport, parseMouseReport, WHEEL_DOWN, WHEEL_UP } from "../../keys/mouse.ts";
import type { InputEvent } from "../../keys/types.ts";
import { MAX_LINE } from "../../protocol/attach.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Frame } from "../../protocol/frame.ts";
import type { Style } from "../../protocol/grid.ts";
import {
  type EditedLine,
  editLine,
  insertText,
  lineKey,
  lineOf,
  pastedText,
  textOfLine,
} from "../../session/line-editor.ts";
import type { TerminalDialog } from "../terminal/overlay-layer.ts";
import { resultLines } from "./result-text.ts";
import { type Completions, type PaletteEntries, type Suggestion, suggest } from "./suggest.ts";

/** Rows of the palette on a larger terminal; answers get more rows. */
const PALETTE_ROWS = 14;
const RESULT_ROWS = 20;
/** Maximum rows of an error, and of a line's description. */
const MAX_TEXT_ROWS = 3;
/** Cells of the widest column of names. */
const MAX_NAME_CELLS = 26;
/** Maximum keys queued while a call is running: more than anyone types during it. */
const MAX_QUEUED = 4096;
/** Lines that Page Up and Page Down move. */
const PAGE_LINES = 8;

interface PalettePort {
  /** Grows as targets are found. */
  readonly entries: PaletteEntries;
  changed(): void;
  /**
   * Executes a line.
   * @returns its answer, if the person should see it; null: there is none to show
   * @throws WshError
   */
  run(line: string, signal: AbortSignal): Promise<unknown>;
  /** Passes input on to the program below. */
  sendInput(bytes: Uint8Array): void;
  /** The palette has closed. @param notice a temporary notice in its place */
  onClosed(notice: string | null): void;
}

export class Palette implements TerminalDialog {
  private line: EditedLine = lineOf("");
  /** Index of the suggestion chosen with the arrows; null: none was chosen. */
  private chosenIndex: number | null = null;
  private error: string | null = null;
  private answer: { readonly lines: readonly string[]; readonly from: number } | null = null;
  private running: AbortController | null = null;
  private isClosed = false;
  /** Input during a call, for the program below if the call closes the palette. */
  private queued: Uint8Array[] = [];
  /** The list's position on the terminal, and the number of its items above. */
  private lastList = { row: 0, first: 0, height: 0 };

  constructor(private readonly port: PalettePort) {}

  get queuedInput(): readonly Uint8Array[] {
    return this.queued;
  }

  onClosed(): void {
    this.isClosed = true;
    this.running?.abort();
  }

  handleEvent(event: InputEvent): "open" | "closed" {
    const name = event.parsed === null ? "" : [...event.parsed.modifiers, event.parsed.key].join("+");
    const isEscape = event.kind === "key" && (name === "Escape" || name === "ctrl+c" || name === "ctrl+g");
    if (this.running !== null) {
      // A cancelled call's answer is not awaited.
      if (isEscape) {
        this.running.abort();
        this.queued = [];
      } else if ((event.kind === "key" || event.kind === "paste") && this.queued.length < MAX_QUEUED)
        this.queued.push(event.raw);
      return "open";
    }
    if (event.kind === "paste") this.edit(insertText(this.line, pastedText(event), MAX_LINE));
    if (event.kind === "mouse") this.handleClick(parseMouseReport(event.raw));
    if (event.kind !== "key" || event.parsed === null) return "open";
    if (isEscape) {
      if (this.answer === null) return "closed";
      this.answer = null;
    } else if (name === "ArrowUp" || name === "ctrl+p") this.move(-1);
    else if (name === "ArrowDown" || name === "ctrl+n") this.move(1);
    else if (name === "PageUp") this.move(-PAGE_LINES);
    else if (name === "PageDown") this.move(PAGE_LINES);
    else if (name === "Tab") this.complete();
    else if (name === "shift+Tab") this.move(-1);
    else if (lineKey(event.parsed) === "Enter") this.enter();
    else this.edit(editLine(this.line, lineKey(event.parsed), MAX_LINE));
    return "open";
  }

  /** A click selects an item, or runs the selected one; the wheel moves the selection. */
  private handleClick(report: MouseReport | null): void {
    if (report === null || report.release) return;
    const { row, first, height } = this.lastList;
    const listRow = report.row - 1 - row;
    if (report.button === WHEEL_UP || report.button === WHEEL_DOWN) this.move(report.button === WHEEL_UP ? -1 : 1);
    else if (report.button === 0 && listRow >= 0 && listRow < height && this.answer === null) {
      const { completions } = this;
      const index = first + listRow;
      if (index >= completions.items.length) return;
      if (index === this.selectedIndex(completions)) this.enter();
      else this.chosenIndex = index;
    }
  }

  private edit(line: EditedLine | null): void {
    if (line === null) return;
    this.line = line;
    this.chosenIndex = null;
    this.error = null;
    this.answer = null;
  }

  private get completions(): Completions {
    const { typed, caret } = this.line;
    return suggest(textOfLine(this.line), typed.slice(0, caret).join("").length, this.port.entries);
  }

  private selectedIndex({ items, selectsFirst }: Completions): number {
    return this.chosenIndex === null
      ? selectsFirst && items.length > 0
        ? 0
        : -1
      : Math.min(this.chosenIndex, items.length - 1);
  }

  private move(step: number): void {
    const { answer } = this;
    if (answer !== null) {
      const last = answer.lines.length - this.lastList.height;
      const from = Math.max(0, Math.min(last, answer.from + step));
      this.answer = { ...answer, from };
      return;
    }
    const { completions } = this;
    const last = completions.items.length - 1;
    this.chosenIndex = Math.max(0, Math.min(last, this.selectedIndex(completions) + step));
    this.error = null;
  }

  /** Inserts the selected suggestion into the line, or the first one. */
  private complete(): void {
    const { completions } = this;
    const item = completions.items[Math.max(0, this.selectedIndex(completions))];
    if (item !== undefined) this.accept(completions, item);
  }

  private accept({ from, to }: Completions, { text, kind }: Suggestion): void {
    const line = textOfLine(this.line);
    const before = kind === "recent" ? "" : line.slice(0, from);
    const after = kind === "recent" ? "" : line.slice(to).trimStart();
    const blank = kind === "parameter" || kind === "recent" ? "" : " ";
    const front = lineOf(before + text + blank);
    this.edit({ typed: [...front.typed, ...lineOf(after).typed], caret: front.caret });
  }

  private enter(): void {
    if (this.answer !== null) {
      this.answer = null;
      return;
    }
    const { completions } = this;
    const item = completions.items[this.selectedIndex(completions)];
    if (item !== undefined) this.accept(completions, item);
    if (item?.kind === "parameter" || this.insertMissing() || (item !== undefined && this.isIncomplete())) return;
    const line = textOfLine(this.line).trim();
    if (line === "" || this.running !== null) return;
    void this.run(line);
  }

  /** Asks for missing parameters before anything is refused. @returns whether any were missing */
  private insertMissing(): boolean {
    const needed = this.missing.map((name) => `${name}=`);
    const { completions } = this;
    const next = completions.items.find(({ text }) => needed.includes(text));
    if (next !== undefined) this.accept(completions, next);
    return next !== undefined;
  }

  /** Whether the line lacks something that the person must fill in. */
  private isIncomplete(): boolean {
    return this.missing.length > 0 || splitWords(textOfLine(this.line)).words.some(({ text }) => text.endsWith("="));
  }

  /** Required parameters that are not in the line. */
  private get missing(): string[] {
    const [operation, ...given] = splitWords(textOfLine(this.line)).words.map(({ text }) => text);
    const needed = this.port.entries.parameters(operation ?? "")?.filter(({ required }) => required) ?? [];
    return needed.map(({ name }) => name).filter((name) => !given.some((word) => word.startsWith(`${name}=`)));
  }

  private async run(line: string): Promise<void> {
    const running = new AbortController();
    this.running = running;
    this.chosenIndex = null;
    this.error = null;
    try {
      const answer = await this.port.run(line, running.signal);
      if (answer === null) {
        if (!this.isClosed) this.port.onClosed(`done: ${line.split(/\s/)[0]}`);
        for (const bytes of this.queued) this.port.sendInput(bytes);
      } else this.answer = { lines: resultLines(answer), from: 0 };
    } catch (thrown) {
      this.error = describeError(WshError.from(thrown));
    } finally {
      this.running = null;
      this.queued = [];
      if (!this.isClosed) this.port.changed();
    }
  }

  draw(frame: Frame, ascii: boolean): Frame {
    const { rows, cols } = frame;
    const sign = ascii ? toAscii : (text: string): string => text;
    const height = Math.min(rows, this.answer === null ? PALETTE_ROWS : RESULT_ROWS);
    const top = rows - height;
    const canvas = Canvas.over(frame);
    const box: CanvasBox = { row: top, col: 0, height, width: cols };
    canvas.fill(box, theme.dialog);
    const text = (row: number, col: number, content: string, style: Style, within: CanvasBox = box): void =>
      canvas.text(row, col, clusters(cleanText(content).replaceAll("\n", " ")), style, within);
    const hasTitle = height > 3;
    if (hasTitle) {
      canvas.fill({ ...box, height: 1 }, theme.dialog_bar);
      text(top, 1, sign(this.hints(cols)), theme.dialog_bar);
    }
    const inputRow = hasTitle ? top + 1 : top;
    const { typed, caret } = this.line;
    const input = visibleInput(
      { before: typed.slice(0, caret).join(""), after: typed.slice(caret).join("") },
      cols - 3,
    );
    text(inputRow, 1, `: ${input.text}`, theme.dialog_strong);
    const { completions } = this;
    const descriptionRows = this.descriptionLines(
      completions,
      cols - 2,
      Math.min(MAX_TEXT_ROWS, height - (hasTitle ? 3 : 2)),
    );
    const room = rows - inputRow - 1 - descriptionRows.length;
    for (const [row, line] of descriptionRows.entries())
      text(
        rows - descriptionRows.length + row,
        1,
        sign(line),
        this.error === null ? theme.dialog_hint : theme.dialog_strong,
      );
    const list: CanvasBox = { row: inputRow + 1, col: 0, height: room, width: cols };
    this.lastList = { row: list.row, first: 0, height: room };
    if (this.answer !== null) {
      const from = Math.max(0, Math.min(this.answer.from, this.answer.lines.length - room));
      for (const [at, line] of this.answer.lines.slice(from, from + room).entries())
        text(list.row + at, 1, line, theme.dialog, list);
    } else this.drawItems(canvas, list, completions, sign);
    return {
      ...frame,
      lines: canvas.finish(),
      cursor: { row: inputRow, col: Math.min(cols - 1, 3 + input.caret), visible: true, shape: "bar", blink: false },
    };
  }

  private drawItems(canvas: Canvas, list: CanvasBox, completions: Completions, sign: (text: string) => string): void {
    const index = this.selectedIndex(completions);
    const first = Math.max(0, Math.min(index - Math.floor(list.height / 2), completions.items.length - list.height));
    this.lastList = { ...this.lastList, first };
    const visibleItems = completions.items.slice(first, first + list.height);
    const widest = Math.max(
      0,
      ...visibleItems.map(({ label, description }) => (description === "" ? 0 : clusters(label).length)),
    );
    const column = Math.min(MAX_NAME_CELLS, widest);
    for (const [at, { label, description, keys }] of visibleItems.entries()) {
      const row = list.row + at;
      const isSelected = first + at === index;
      const style = isSelected ? theme.dialog_choice : theme.dialog;
      const line: CanvasBox = { ...list, row, height: 1 };
      if (isSelected) canvas.fill(line, theme.dialog_choice);
      const put = (col: number, content: string, baseStyle: Style, within: CanvasBox): void =>
        canvas.text(
          row,
          col,
          clusters(sign(cleanText(content).replaceAll("\n", " "))),
          isSelected ? style : baseStyle,
          within,
        );
      put(
        0,
        `${isSelected ? ">" : " "}${label}`,
        theme.dialog_strong,
        description === "" ? line : { ...line, width: column + 2 },
      );
      const right = keys === "" ? list.width : list.width - keys.length - 2;
      put(column + 3, description, theme.dialog, { ...line, width: Math.max(column + 3, right) });
      if (keys !== "" && right > column + 3) put(right + 1, keys, theme.dialog_strong, line);
    }
  }

  private hints(cols: number): string {
    if (this.answer !== null) return "Up and Down scroll · Esc back";
    if (cols < 60) return "Tab · Enter · Up Down · Esc";
    return "Command palette · Tab completes · Enter runs · Up and Down select · Esc";
  }

  /** Lines below the list: an error, or the line's description. */
  private descriptionLines(completions: Completions, cells: number, maxLines: number): string[] {
    if (this.running !== null) return ["running…  Esc cancels"].slice(0, maxLines);
    if (this.error !== null)
      return wrap(cleanText(this.error).replaceAll("\n", " "), Math.max(1, cells)).slice(0, maxLines);
    if (this.answer !== null || completions.note === "") return [];
    return wrap(completions.note, Math.max(1, cells)).slice(0, Math.min(1, maxLines));
  }
}

/** Includes the error's hint, if it has one. */
function describeError(error: WshError): string {
  return typeof error.details.hint === "string" ? `${error.message}. ${error.hintAt("cli")}` : error.message;
}
