/**
 * A session's window on the page: pictures in, bytes out. Framework-free; the page around it talks to this class alone.
 *
 * Owns the elements of one terminal: panes with their history, borders and overlays, the cursor, and the focused input.
 * Invariants: the panes show exactly the newest applied picture, unless a person is scrolled up in one; input is bytes
 * as a terminal would send them, from any source.
 */
import { type Frame, initialFrameModes } from "../../protocol/frame.ts";
import { applyFrame, type FrameUpdate } from "../../protocol/frame-codec.ts";
import type { Row } from "../../protocol/grid.ts";
import { cleanPaste, pasteBytes } from "../../protocol/pasted-text.ts";
import { type BorderDrag, Borders } from "./borders.ts";
import { type BoxGlyphs, cellClass } from "./box-glyphs.ts";
import type { CellMeasure } from "./cell-size.ts";
import { decodeBase64, joinRows, selectedParts } from "./copy.ts";
import { CursorView } from "./cursor.ts";
import { keyBytes, namedBytes } from "./keyboard.ts";
import { Layers } from "./layers.ts";
import { PaneView, rowsByElement } from "./pane-view.ts";
import { Pointer } from "./pointer.ts";
import { fillRow } from "./row.ts";
import { TerminalCells } from "./terminal-cells.ts";
import { TextInput } from "./text-input.ts";
import type { HistorySource, PanePlace, Tools } from "./types.ts";

interface TerminalEvents {
  input(bytes: Uint8Array): void;
  /** The available size has changed; in cells. */
  size(rows: number, cols: number): void;
  focus(on: boolean): void;
  /** Whether several lines may be typed into a program that cannot recognise a paste. */
  mayPaste(text: string): Promise<boolean>;
  clipboard(text: string): void;
  image(file: Blob): void;
  unreadable(): void;
  bell(): void;
  title(title: string): void;
  borderMoved: BorderDrag["onMoved"];
  scrolled(pane: PaneView): void;
  /** Keys of the page itself; @returns whether it took the key */
  pageKey(event: KeyboardEvent): boolean;
  /** The shown panes have changed. */
  panes(panes: readonly PaneView[]): void;
}

/** Smallest size that the page requests of a session. */
const MIN_SIZE = { rows: 2, cols: 10 } as const;
/** `platform` is deprecated, but the only property for this in all browsers. */
const isMac = navigator.platform.startsWith("Mac");

export class Terminal {
  readonly element = document.createElement("div");
  readonly input: TextInput;
  frame: Frame | null = null;
  /** Modifiers for the next key, set by a phone's key bar. */
  heldModifiers: { ctrl: boolean; alt: boolean } = { ctrl: false, alt: false };
  onModifiersReleased: () => void = () => {};
  private readonly grid = document.createElement("div");
  private readonly outsideElement = document.createElement("div");
  private readonly aroundRows: { readonly element: HTMLElement; cells: Row }[] = [];
  private readonly views = new Map<string, PaneView>();
  private readonly layers = new Layers();
  private readonly cursor = new CursorView();
  private readonly borders: Borders;
  private readonly cells: TerminalCells;
  private readonly tools: Tools;
  private readonly observer: ResizeObserver;
  private followsSession = false;
  private reportedSize = "";
  private consentEpoch = 0;

  constructor(
    { measure, glyphs }: { readonly measure: CellMeasure; readonly glyphs: BoxGlyphs },
    history: HistorySource,
    private readonly events: TerminalEvents,
  ) {
    const cells = new TerminalCells(this.element, measure);
    this.cells = cells;
    this.tools = {
      glyphs,
      history,
      get measure() {
        return cells.measure;
      },
    };
    this.element.className = "terminal";
    this.element.tabIndex = -1;
    this.grid.className = "grid";
    this.outsideElement.className = "around";
    this.borders = new Borders({ onMoved: events.borderMoved });
    this.input = new TextInput({
      key: (event) => this.key(event),
      text: (text) => this.type(text),
      namedKey: (name) => this.sendKey(name),
      paste: (text) => void this.paste(text),
      image: (file) => events.image(file),
      clipboardUnreadable: events.unreadable,
      focus: (on) => {
        this.element.classList.toggle("focused", on);
        events.focus(on);
      },
      composing: (on) => this.element.classList.toggle("composing", on),
    });
    this.grid.append(this.outsideElement, this.borders.element, this.cursor.element, this.input.element);
    this.element.append(this.grid);
    new Pointer(this.grid, {
      cellAt: (x, y) => this.cellAt(x, y),
      paneAt: (row, col) => this.placeAt(row, col),
      send: (bytes) => this.send(bytes),
      focus: () => this.input.focus(),
      arrows: (count) => {
        const name = count < 0 ? "Up" : "Down";
        this.send(
          namedBytes(
            Array.from({ length: Math.abs(count) }, () => name),
            this.modes,
          ),
        );
      },
      modes: () => this.modes,
    });
    this.element.addEventListener("keydown", (event) => this.keyOutsideInput(event));
    this.element.addEventListener("copy", (event) => this.copy(event));
    this.observer = new ResizeObserver(() => this.measureRoom());
    this.observer.observe(this.element);
  }

  get modes(): Frame["modes"] {
    return this.frame?.modes ?? initialFrameModes;
  }

  get panes(): readonly PaneView[] {
    return [...this.views.values()];
  }

  get activePane(): PaneView | undefined {
    return this.panes.find(({ place }) => place.active) ?? this.panes[0];
  }

  dispose(): void {
    this.observer.disconnect();
    this.element.remove();
  }

  /** @throws Error when the update builds on a picture that is not here */
  apply(update: FrameUpdate): void {
    const { view, events } = applyFrame(this.frame, update);
    const before = this.frame;
    this.frame = view;
    this.draw(view, before);
    if (events.bell) this.events.bell();
    if (events.clipboard !== null) this.events.clipboard(decodeBase64(events.clipboard.base64));
    if (view.title !== null && view.title !== before?.title) this.events.title(view.title);
  }

  /** Sets whether the terminal shows the session at its own size instead of requesting one. */
  setFollowing(on: boolean): void {
    if (this.followsSession === on) return;
    this.followsSession = on;
    this.reportedSize = "";
    this.measureRoom();
  }

  /** The font or its size has changed. */
  restyle(): void {
    this.fit();
    this.refill();
    if (this.frame !== null) this.draw(this.frame, this.frame);
    this.measureRoom();
  }

  availableSize(): { readonly rows: number; readonly cols: number } {
    const { width, height } = this.cells.pageCells.size;
    const style = getComputedStyle(this.element);
    const across = Number.parseFloat(style.paddingLeft) + Number.parseFloat(style.paddingRight);
    const along = Number.parseFloat(style.paddingTop) + Number.parseFloat(style.paddingBottom);
    return {
      rows: Math.max(MIN_SIZE.rows, Math.floor((this.element.clientHeight - along) / height)),
      cols: Math.max(MIN_SIZE.cols, Math.floor((this.element.clientWidth - across) / width)),
    };
  }

  /** Types text like a keyboard. */
  type(text: string): void {
    const { ctrl, alt } = this.heldModifiers;
    if ((ctrl || alt) && [...text].length === 1) {
      this.sendKey(text === " " ? "Space" : text);
      return;
    }
    this.send(new TextEncoder().encode(text.replace(/\r?\n/g, "\r")));
  }

  /** Presses a key by its name, with the held modifiers. */
  sendKey(name: string): void {
    const { ctrl, alt } = this.heldModifiers;
    this.releaseModifiers();
    this.send(namedBytes([`${ctrl ? "Ctrl+" : ""}${alt ? "Alt+" : ""}${name}`], this.modes));
  }

  async paste(text: string): Promise<void> {
    const clean = cleanPaste(text);
    if (clean === "") return;
    const epoch = ++this.consentEpoch;
    if (needsConsent(clean, this.modes.bracketedPaste) && !(await this.events.mayPaste(clean))) return;
    // Another paste, or another session, arrived before the person decided.
    if (epoch === this.consentEpoch) this.send(pasteBytes(clean, this.modes.bracketedPaste));
  }

  /** The text of the selection, if it is in this terminal. */
  selectedText(): string {
    const selection = getSelection();
    if (selection === null || selection.isCollapsed || selection.rangeCount === 0) return "";
    const range = selection.getRangeAt(0);
    const start = range.startContainer;
    const root = (start instanceof Element ? start : start.parentElement)?.closest<HTMLElement>(".pane, .around");
    if (root == null || !this.element.contains(root)) return "";
    return joinRows(selectedParts(range, root, (element) => rowsByElement.get(element)));
  }

  /** If the picture is larger than the room, shows the part with the cursor. */
  showCursor(): void {
    if (this.followsSession) this.cursor.element.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  private send(bytes: Uint8Array): void {
    this.activePane?.scrollToEnd();
    this.showCursor();
    this.events.input(bytes);
  }

  private key(event: KeyboardEvent): boolean {
    if (this.events.pageKey(event)) return true;
    if (this.scrollKey(event)) return true;
    const { ctrl, alt } = this.heldModifiers;
    const bytes = keyBytes(
      {
        key: event.key,
        code: event.code,
        shiftKey: event.shiftKey,
        metaKey: event.metaKey,
        ctrlKey: event.ctrlKey || ctrl,
        altKey: event.altKey || alt,
        altGraph: event.getModifierState("AltGraph"),
        option: isMac && event.altKey && !event.ctrlKey,
        composing: event.isComposing || event.keyCode === 229,
      },
      this.modes,
    );
    if (bytes === null) return false;
    this.releaseModifiers();
    this.send(bytes);
    return true;
  }

  private releaseModifiers(): void {
    if (!this.heldModifiers.ctrl && !this.heldModifiers.alt) return;
    this.heldModifiers = { ctrl: false, alt: false };
    this.onModifiersReleased();
  }

  /** Shift with Page Up and the like scrolls, as in terminals, if there is history. */
  private scrollKey({ key, shiftKey, ctrlKey, altKey, metaKey }: KeyboardEvent): boolean {
    const pane = this.activePane;
    if (!shiftKey || ctrlKey || altKey || metaKey || pane === undefined || pane.place.first_line === null) return false;
    const page = pane.place.rows - 1;
    if (key === "PageUp") {
      void pane.loadAbove().then(() => pane.scrollRows(-page));
      return true;
    }
    if (key === "PageDown") pane.scrollRows(page);
    else return false;
    return true;
  }

  /**
   * A key typed while text is selected, or another part of the terminal has the focus, still belongs to the terminal.
   */
  private keyOutsideInput(event: KeyboardEvent): void {
    if (event.target === this.input.element || event.isComposing) return;
    const isCopy =
      (event.ctrlKey || event.metaKey) &&
      /^(c|Insert)$/i.test(event.key) &&
      (event.metaKey || event.shiftKey || event.key === "Insert");
    if (isCopy) {
      // Moving the focus would end the selection.
      if (this.events.pageKey(event)) event.preventDefault();
      return;
    }
    if (/^(Shift|Control|Alt|Meta|AltGraph)$/.test(event.key)) return;
    this.input.focus();
    if (this.key(event)) event.preventDefault();
  }

  private copy(event: ClipboardEvent): void {
    const text = this.selectedText();
    if (text === "") return;
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  }

  private draw(frame: Frame, before: Frame | null): void {
    const isResized = before === null || before.cols !== frame.cols || before.rows !== frame.rows;
    if (isResized && (this.fit() || before === null)) this.refill();
    const { measure } = this.tools;
    const { width, height } = measure.size;
    const places: readonly PanePlace[] = frame.places?.panes ?? [];
    this.grid.style.width = `${frame.cols * width}px`;
    this.grid.style.height = `${frame.rows * height}px`;
    this.layers.begin(frame, places);
    const removedIds = new Set(this.views.keys());
    let havePanesChanged = false;
    for (const place of places) {
      removedIds.delete(place.id);
      let view = this.views.get(place.id);
      if (view === undefined) {
        view = new PaneView(place, this.tools, { scrolled: (pane) => this.events.scrolled(pane) });
        this.views.set(place.id, view);
        this.grid.insertBefore(view.element, this.borders.element);
        havePanesChanged = true;
      }
      const { style, classList } = view.element;
      style.left = `${place.col * width}px`;
      style.top = `${place.row * height}px`;
      style.width = `${place.cols * width}px`;
      style.height = `${place.rows * height}px`;
      // Floating panes are above the handles of borders between tiled ones.
      style.zIndex = place.z === undefined ? "" : String(place.z);
      classList.toggle("active", place.active && places.length > 1);
      view.update(place, this.layers.paneRows(frame, place));
    }
    for (const id of removedIds) {
      this.views.get(id)?.element.remove();
      this.views.delete(id);
      havePanesChanged = true;
    }
    this.drawAround(this.layers.aroundRows(frame, places));
    this.borders.show(places, measure.size);
    this.drawCursor(frame);
    if (havePanesChanged) this.events.panes(this.panes);
    this.grid.classList.toggle("reversed", frame.modes.reverseVideo);
  }

  private drawAround(rows: readonly Row[]): void {
    while (this.aroundRows.length > rows.length) this.aroundRows.pop()?.element.remove();
    for (const [index, cells] of rows.entries()) {
      let row = this.aroundRows[index];
      if (row === undefined) {
        const element = document.createElement("div");
        element.className = "row";
        row = { element, cells: [] };
        rowsByElement.set(element, { element, cells, line: null, col: 0, wrapped: false });
        this.aroundRows.push(row);
        this.outsideElement.append(element);
      }
      if (row.cells === cells) continue;
      fillRow(row.element, cells, this.tools);
      rowsByElement.set(row.element, { element: row.element, cells, line: null, col: 0, wrapped: false });
      row.cells = cells;
    }
  }

  private drawCursor({ cursor, lines }: Frame): void {
    const { size } = this.tools.measure;
    const place = this.placeAt(cursor.row, cursor.col) ?? this.placeAt(cursor.row, cursor.col - 1);
    const view = place === undefined ? undefined : this.views.get(place.id);
    const cell = lines[cursor.row]?.[cursor.col];
    const home = view?.screen ?? this.grid;
    if (this.cursor.element.parentElement !== home) home.append(this.cursor.element);
    const row = view === undefined || place === undefined ? cursor.row : cursor.row - place.row;
    // A cursor after the last column waits there until the next character wraps.
    const last = place === undefined ? cursor.col : Math.min(cursor.col - place.col, place.cols - 1);
    this.cursor.show({ ...cursor, row, col: last }, cell, size);
    if (view?.marks.hasFolds === true) {
      const top = view.shownRows[row]?.element.offsetTop;
      if (top !== undefined) this.cursor.element.style.transform = `translate(${last * size.width}px, ${top}px)`;
    }
    const { style } = this.input.element;
    style.left = `${cursor.col * size.width}px`;
    style.top = `${cursor.row * size.height}px`;
    style.height = `${size.height}px`;
    style.lineHeight = `${size.height}px`;
  }

  private cellAt(x: number, y: number): { readonly row: number; readonly col: number } {
    const frame = this.frame;
    const { left, top, width, height } = this.grid.getBoundingClientRect();
    if (frame === null || width === 0 || height === 0) return { row: 0, col: 0 };
    const within = (at: number, count: number): number => Math.min(Math.max(Math.floor(at), 0), count - 1);
    return {
      row: within(((y - top) / height) * frame.rows, frame.rows),
      col: within(((x - left) / width) * frame.cols, frame.cols),
    };
  }

  private placeAt(row: number, col: number): PanePlace | undefined {
    return this.frame?.places?.panes.findLast(
      (place) => row >= place.row && row < place.row + place.rows && col >= place.col && col < place.col + place.cols,
    );
  }

  private measureRoom(): void {
    if (!this.element.isConnected || this.element.clientWidth === 0) return;
    if (this.fit()) {
      this.refill();
      if (this.frame !== null) this.draw(this.frame, this.frame);
      this.showCursor();
    }
    const { rows, cols } = this.availableSize();
    const reported = `${rows} ${cols} ${this.followsSession}`;
    if (reported === this.reportedSize) return;
    this.reportedSize = reported;
    this.events.size(rows, cols);
  }

  /** A followed session keeps its size: its cells shrink. @returns whether they have changed */
  private fit(): boolean {
    if (!this.element.isConnected || this.element.clientWidth === 0) return false;
    return this.cells.fit(this.followsSession && this.frame !== null ? this.frame.cols : null);
  }

  private refill(): void {
    this.grid.className = `grid ${cellClass(this.tools.measure.size)}`;
    for (const view of this.views.values()) view.refill();
    for (const { element, cells } of this.aroundRows) fillRow(element, cells, this.tools);
  }
}

/** Whether pasting runs something unseen: several lines, and a program that cannot recognise a paste. */
function needsConsent(clean: string, bracketed: boolean): boolean {
  return !bracketed && clean.trimEnd().includes("\r");
}
