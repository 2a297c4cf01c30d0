/**
 * Copy mode: a person moves, searches, selects and copies in a terminal's output, while output continues below.
 *
 * Owns one view for one terminal. Invariants: output never moves the view or changes the selection; copied text equals
 * the displayed text; no key reaches the program. Copy mode begun by a press of the mouse (`isPassing`) is a selection
 * as in any terminal: until it is scrolled, keys end it and go to the program. Ends with `close`.
 */

import type { RE2JS } from "re2js";
import { type CopyModeAction, copyModeActions, copyModeKeys, type ModeKeys } from "../../keys/copy-table.ts";
import { parseMouseReport } from "../../keys/mouse.ts";
import type { InputEvent, ParsedKey } from "../../keys/types.ts";
import type { CopyModeAct, CopyModeInput } from "../../protocol/copy-mode.ts";
import type { Grid } from "../../protocol/grid.ts";
import { compilePattern } from "../../protocol/pattern.ts";
import { nulKey, pastedLine } from "./input.ts";
import { Jumps } from "./jumps.ts";
import { CopyModePointer } from "./mouse.ts";
import { columnOf, moveBy, moveByCommand, moveByRows, rowsPerPage } from "./moves.ts";
import { Search, SearchedText, searchedWord } from "./search.ts";
import { outputAt, type Selection, type SelectionKind, selectedText, selectionKinds, swapEnds } from "./selection.ts";
import { type CopyModeSource, CopyModeText, isBefore, type Point } from "./text.ts";
import { copyModeLabel, drawCopyMode, passingLabel } from "./view.ts";

/** Maximum characters of a pattern. */
const MAX_PATTERN = 256;
/** Highest count before a key: a larger one is a mistake. */
const MAX_COUNT = 99_999;

interface CopyModePort {
  /** The display must change. */
  changed(): void;
  copied(text: string): void;
  /** Shows a temporary message. */
  showMessage(text: string): void;
  /** The person has left copy mode. */
  left(): void;
}

/** A pattern being typed. */
interface SearchPrompt {
  readonly isForward: boolean;
  typed: string;
  readonly origin: Point;
  readonly priorSearch: Search | null;
}

export class CopyMode {
  readonly text: CopyModeText;
  private top: Point;
  cursor: Point;
  /** The column that is kept when moving up and down. */
  private preferredCol: number;
  selection: Selection | null = null;
  private search: Search | null = null;
  private searchedText: SearchedText | null = null;
  private isForward = true;
  private prompt: SearchPrompt | null = null;
  /** Whether patterns are RE2 syntax instead of plain text. */
  private isRegex = false;
  private count = 0;
  private cachedPicture: { readonly grid: Grid; readonly news: number; readonly size: string } | null = null;
  private isClosed = false;
  private readonly keys: ReturnType<typeof copyModeKeys>;
  private readonly pointing: CopyModePointer;
  private readonly jumps = new Jumps();
  /** Whether scrolling to the end with the wheel leaves copy mode. */
  private readonly leavesAtEnd: boolean;
  private isPassing: boolean;
  /** Whether wsh's elements are drawn without colours. */
  private readonly isPlain: boolean;

  constructor(
    source: CopyModeSource,
    mode: ModeKeys,
    private readonly port: CopyModePort,
    { wheel, press, bound = {}, plain = false }: Omit<CopyModeInput, "keys"> = {},
  ) {
    this.isPlain = plain;
    this.text = new CopyModeText(source);
    this.keys = copyModeKeys(mode, bound);
    this.top = this.text.top;
    this.cursor = moveByRows(
      this.text,
      this.top,
      source.alternateRows === null ? source.cursor.row : 0,
      source.cursor.col,
    );
    this.preferredCol = columnOf(this.text, this.cursor);
    this.isPassing = press !== undefined;
    this.leavesAtEnd = this.isPassing || wheel !== undefined;
    this.pointing = new CopyModePointer(this);
    if (press !== undefined) this.pointing.press(press, press.clicks);
    if (wheel !== undefined) this.scroll(-wheel);
  }

  /** Whether a search is being typed, in the last row. */
  get isTyping(): boolean {
    return this.prompt !== null;
  }

  close(): void {
    this.isClosed = true;
    this.pointing.close();
  }

  /** The same object until something changes. */
  grid(): Grid {
    const { rows, cols } = this.text.source;
    const size = `${rows}x${cols}`;
    const { newLineCount } = this.text;
    if (this.cachedPicture?.size !== size) this.scrollToCursor();
    const picture = this.cachedPicture;
    if (picture !== null && picture.news === newLineCount && picture.size === size) return picture.grid;
    const { text, top, cursor, selection, search, prompt, isPlain } = this;
    const label = this.isPassing ? passingLabel(newLineCount) : copyModeLabel({ text, cursor, search }, newLineCount);
    const typed =
      prompt === null ? null : `${this.isRegex ? "regex" : ""}${prompt.isForward ? "/" : "?"}${prompt.typed}`;
    const grid = drawCopyMode({ text, top, cursor, selection, search, label, prompt: typed, isPlain });
    this.cachedPicture = { grid, news: newLineCount, size };
    return grid;
  }

  /** Copy mode keeps the keys from now on, however it began. */
  keepKeys(): void {
    if (!this.isPassing) return;
    this.isPassing = false;
    this.invalidate();
  }

  /** @returns whether copy mode has handled it; otherwise it goes to the program */
  handleInput(event: InputEvent): boolean {
    if (this.isClosed) return false;
    const isTyped = event.kind === "key" || event.kind === "paste";
    if (this.isPassing && isTyped) {
      this.port.left();
      return event.parsed?.key === "Escape" && event.parsed.modifiers.length === 0;
    }
    if (event.kind === "mouse") {
      const report = parseMouseReport(event.raw);
      if (report !== null) this.pointing.report(report);
    } else if (event.kind === "paste") this.typeIntoPrompt(pastedLine(event.raw));
    else if (event.kind === "key") this.handleKey(event.parsed ?? nulKey(event.raw));
    this.invalidate();
    return true;
  }

  /**
   * Runs an action without its key, with the text that a person would type after it.
   * @returns whether the action exists
   */
  perform({ action, count, text }: CopyModeAct): boolean {
    if (!Object.hasOwn(copyModeActions, action)) return false;
    this.keepKeys();
    this.performAction(action as CopyModeAction, count, count > 1);
    if (this.prompt === null && text !== "") this.handleKey({ key: text, modifiers: [] });
    this.typeIntoPrompt(text);
    if (this.prompt !== null) this.handleKey({ key: "Enter", modifiers: [] });
    this.invalidate();
    return true;
  }

  /** The mouse button was released. */
  handleRelease(): void {
    if (this.selection !== null) this.copy();
    else if (this.isPassing) this.port.left();
  }

  /** Scrolls by rows; the cursor stays in view. */
  scroll(rows: number): void {
    const { text } = this;
    const end = this.lastTop();
    const next = moveByRows(text, this.top, rows, 0);
    this.top = isBefore(end, next) ? end : { ...next, col: text.starts(next.line)[text.rowOf(next)] ?? 0 };
    if (rows < 0 && isBefore(this.top, end)) this.isPassing = false;
    const { rows: height } = text.source;
    const last = moveByRows(text, this.top, height - 1, this.preferredCol);
    if (isBefore(this.cursor, this.top)) this.cursor = moveByRows(text, this.top, 0, this.preferredCol);
    else if (isBefore(last, this.cursor)) this.cursor = last;
    if (rows > 0 && this.leavesAtEnd && this.selection === null && !isBefore(this.top, end)) this.port.left();
    this.invalidate();
  }

  /** The position shown in a row and column. */
  positionAt(row: number, col: number): Point {
    return moveByRows(this.text, this.top, row, col);
  }

  /** Moves the cursor, and the view with it. */
  moveCursor(point: Point, keepsColumn = false): void {
    this.cursor = point;
    if (!keepsColumn) this.preferredCol = columnOf(this.text, point);
    if (this.selection !== null) this.selection = { ...this.selection, head: point };
    this.scrollToCursor();
    this.invalidate();
  }

  setSelection(selection: Selection | null): void {
    this.selection = selection;
    if (selection !== null) this.cursor = selection.head;
    this.scrollToCursor();
    this.invalidate();
  }

  /** Copies the selection; stays in copy mode. @returns whether there was one */
  copy(): boolean {
    if (this.selection === null) return false;
    const text = selectedText(this.text, this.selection);
    if (text === "") return false;
    this.port.copied(text);
    return true;
  }

  private invalidate(): void {
    this.cachedPicture = null;
    this.port.changed();
  }

  /** The lowest position at which the view may begin. */
  private lastTop(): Point {
    const { text } = this;
    const bottom = { line: text.last, col: Math.max(0, text.cells(text.last).length - 1) };
    const top = moveByRows(text, bottom, 1 - text.source.rows, 0);
    return isBefore(top, text.top) ? text.top : top;
  }

  /** Moves the view so that it contains the cursor. */
  private scrollToCursor(): void {
    const { text, cursor } = this;
    // A pattern being typed covers the last row.
    const rows = Math.max(1, text.source.rows - (this.prompt === null ? 0 : 1));
    // After a change of width, the top is moved to the beginning of a row.
    this.top = { line: this.top.line, col: text.starts(this.top.line)[text.rowOf(this.top)] ?? 0 };
    const row = { line: cursor.line, col: text.starts(cursor.line)[text.rowOf(cursor)] ?? 0 };
    if (isBefore(row, this.top)) this.top = row;
    else if (isBefore(moveByRows(text, this.top, rows - 1, Number.MAX_SAFE_INTEGER), row))
      this.top = moveByRows(text, row, 1 - rows, 0);
  }

  private handleKey(parsed: ParsedKey | null): void {
    if (parsed === null) return;
    const name = [...parsed.modifiers, parsed.key].join("+");
    if (this.prompt !== null) {
      this.handlePromptKey(name, parsed);
      return;
    }
    const jumped = this.jumps.handleKey(this.text, this.cursor, parsed);
    if (jumped !== null) {
      this.moveCursor(jumped);
      return;
    }
    if (/^[0-9]$/.test(name) && (name !== "0" || this.count > 0)) {
      this.count = Math.min(MAX_COUNT, this.count * 10 + Number(name));
      return;
    }
    const count = Math.max(1, this.count);
    const isCounted = this.count > 0;
    this.count = 0;
    const action = this.keys[name];
    if (action != null) this.performAction(action, count, isCounted);
  }

  private performAction(action: CopyModeAction, count: number, isCounted: boolean): void {
    const { text, cursor } = this;
    const page = rowsPerPage(action, text.source.rows);
    if (page !== 0) {
      this.scroll(page * count);
      this.moveCursor(moveByRows(text, cursor, page * count, this.preferredCol), true);
      return;
    }
    const moved =
      this.jumps.perform(action, text, cursor, count) ??
      moveBy(action, text, {
        from: cursor,
        count,
        preferredCol: this.preferredCol,
        rowStart: (row) => this.positionAt(row, 0),
      });
    if (moved !== null) {
      this.moveCursor(moved, action === "up" || action === "down");
      return;
    }
    const kind = selectionKinds[action];
    if (kind !== undefined) {
      this.toggleSelection(kind);
      return;
    }
    const numbered = isCounted ? Math.min(text.last, text.first + count - 1) : null;
    switch (action) {
      case "scroll_up":
        this.scroll(-count);
        break;
      case "scroll_down":
        this.scroll(count);
        break;
      case "top":
        this.moveCursor({ line: numbered ?? text.first, col: 0 });
        break;
      case "bottom":
        text.refresh();
        this.searchedText = null;
        if (this.search !== null) this.search = this.searchFor(this.search.pattern, this.search.compiled);
        this.moveCursor({ line: numbered ?? text.last, col: 0 });
        break;
      case "command_back":
      case "command_forth":
        this.moveToCommand(action === "command_forth", count);
        break;
      case "search_forth":
      case "search_back":
        this.isForward = action === "search_forth";
        this.searchedText ??= new SearchedText(this.text);
        this.prompt = { isForward: this.isForward, typed: "", origin: cursor, priorSearch: this.search };
        break;
      case "match_forth":
      case "match_back":
        for (let repetition = 0; repetition < count; repetition++)
          this.moveToMatch(this.isForward === (action === "match_forth"));
        break;
      case "word_search_forth":
      case "word_search_back":
        this.isForward = action === "word_search_forth";
        this.search = this.searchFor(searchedWord(text, cursor));
        this.moveToMatch(this.isForward);
        break;
      case "select_output": {
        const output = outputAt(text, cursor);
        if (typeof output === "string") this.port.showMessage(output);
        else this.setSelection(output);
        break;
      }
      case "other_end":
        this.setSelection(swapEnds(this.selection));
        break;
      case "copy":
        if (this.selection === null) this.port.showMessage("no selection: v starts one, V selects lines");
        else if (this.copy()) this.port.left();
        break;
      case "copy_line":
        this.selection = { kind: "lines", anchor: cursor, head: cursor };
        if (this.copy()) this.port.left();
        break;
      case "cancel":
        if (this.selection === null) this.port.left();
        else this.setSelection(null);
        break;
      case "leave":
        this.port.left();
    }
  }

  private toggleSelection(kind: SelectionKind): void {
    const { selection, cursor } = this;
    if (selection?.kind === kind) this.setSelection(null);
    else this.setSelection({ kind, anchor: selection?.anchor ?? cursor, head: cursor });
  }

  private moveToCommand(forth: boolean, count: number): void {
    const line = moveByCommand(this.text, this.cursor.line, forth, count);
    if (line === this.cursor.line) {
      this.port.showMessage(forth ? "no command below" : "no command above");
      return;
    }
    // The command moves to the top of the view, its output below.
    this.moveCursor({ line, col: 0 });
    this.top = this.cursor;
    const end = this.lastTop();
    if (isBefore(end, this.top)) this.top = end;
    this.invalidate();
  }

  private moveToMatch(forth: boolean): void {
    const { search, text } = this;
    if (search === null) {
      this.port.showMessage("no search yet: / searches");
      return;
    }
    const match = search.nextMatch(text, this.cursor, forth);
    if (match === null) this.port.showMessage("no match");
    else this.moveCursor({ line: match.line, col: match.col });
  }

  private handlePromptKey(name: string, { key, modifiers }: ParsedKey): void {
    const { prompt } = this;
    if (prompt === null) return;
    if (name === "Escape" || name === "ctrl+c" || name === "ctrl+g") {
      this.prompt = null;
      this.search = prompt.priorSearch;
      this.moveCursor(prompt.origin);
    } else if (name === "Enter") {
      this.prompt = null;
      if (prompt.typed === "") this.search = prompt.priorSearch;
      if (prompt.typed === "" && prompt.priorSearch !== null) this.moveToMatch(prompt.isForward);
    } else if (name === "Backspace" || name === "ctrl+h")
      this.editPrompt(Array.from(prompt.typed).slice(0, -1).join(""));
    else if (name === "ctrl+u") this.editPrompt("");
    else if (name === "ctrl+r" || name === "alt+r") {
      this.isRegex = !this.isRegex;
      this.editPrompt(prompt.typed);
    } else if (modifiers.length === 0 && (key.length === 1 || !/^[A-Z]/.test(key))) this.typeIntoPrompt(key);
  }

  /** Typed or pasted text: a part of a pattern. */
  private typeIntoPrompt(typed: string): void {
    if (this.prompt !== null) this.editPrompt((this.prompt.typed + typed).slice(0, MAX_PATTERN));
  }

  private editPrompt(typed: string): void {
    const { prompt } = this;
    if (prompt === null) return;
    prompt.typed = typed;
    if (!this.isRegex || typed === "") {
      this.applySearch(this.searchFor(typed), prompt);
      return;
    }
    compilePattern(typed, typed === typed.toLowerCase() ? "i" : "").then(
      (compiled) => {
        if (this.isClosed || this.prompt !== prompt || prompt.typed !== typed) return;
        this.applySearch(this.searchFor(typed, compiled), prompt);
        this.invalidate();
      },
      // An incomplete pattern is ignored: earlier matches remain.
      () => {},
    );
  }

  private searchFor(pattern: string, compiled: RE2JS | null = null): Search {
    this.searchedText ??= new SearchedText(this.text);
    return new Search(this.searchedText, pattern, compiled);
  }

  /** The view shows the first match after the search's origin. */
  private applySearch(search: Search, prompt: SearchPrompt): void {
    this.search = search;
    const match = search.nextMatch(this.text, prompt.origin, prompt.isForward, true);
    this.moveCursor(match === null ? prompt.origin : { line: match.line, col: match.col });
  }
}
