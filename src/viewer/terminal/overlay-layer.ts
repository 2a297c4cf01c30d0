/**
 * The overlay layer of one attached terminal, above the session's picture: the map of keys after the prefix, a
 * temporary message, and at most one dialog, which takes input while it is open.
 *
 * Owns the timer of a message, which ends with `close`.
 */
import { drawKeyMap } from "../../compositor/key-map.ts";
import { drawNotice, messageText } from "../../compositor/notices.ts";
import { bindingRows } from "../../keys/bindings.ts";
import type { KeyTables } from "../../keys/tables.ts";
import type { InputEvent } from "../../keys/types.ts";
import type { Frame, FrameModes } from "../../protocol/frame.ts";
import type { Grid } from "../../protocol/grid.ts";
import type { Size } from "../../protocol/size.ts";
import type { PaneCopyMode } from "./copy-mode.ts";
import { elementInputModes } from "./input-modes.ts";

/** Time for which a message is shown, in ms: long enough to read it. */
const MESSAGE_MS = 3_000;

/** A dialog of one terminal. */
export interface TerminalDialog {
  /** Draws it over the picture. @param ascii for a terminal without UTF-8 */
  draw(frame: Frame, ascii: boolean): Frame;
  /**
   * Handles a key, a click or a paste.
   * @returns whether the dialog stays open, closes, or closes and passes the event to the picture below
   */
  handleEvent(event: InputEvent, size: Size): "open" | "closed" | "passed";
  /** Queued input after its current operation. */
  readonly queuedInput?: readonly Uint8Array[];
  /** Called when it is closed, for any reason. */
  onClosed?(): void;
}

/** The overlay layer that a renderer draws for one terminal. */
export interface LayerPicture {
  /** Text that replaces the last row. */
  readonly lastRowText: string | null;
  /** Contents that replace the program's screen; null: it is shown. */
  readonly screen: { readonly grid: Grid; modes(program: FrameModes): FrameModes } | null;
  draw(frame: Frame, ascii: boolean): Frame;
}

export class OverlayLayer implements LayerPicture {
  /** The table whose keys are shown. */
  private keyTable: string | null = null;
  private messageText: string | null = null;
  private timer: Timer | null = null;
  private openDialog: TerminalDialog | null = null;

  constructor(
    private readonly port: {
      readonly person: { readonly prefix: string; readonly tables: KeyTables };
      readonly copyMode: PaneCopyMode;
      readonly mouse: { readonly isAllowed: boolean };
      changed(): void;
    },
  ) {}

  get isShown(): boolean {
    return this.keyTable !== null || this.messageText !== null || this.openDialog !== null || this.port.copyMode.isOn;
  }

  get screen(): LayerPicture["screen"] {
    const grid = this.port.copyMode.grid();
    return grid === null ? null : { grid, modes: (program) => this.port.copyMode.modes(program) };
  }

  /** While a search is typed in the last row, a message of an earlier key is not drawn over it. */
  get lastRowText(): string | null {
    return this.messageText === null || this.openDialog !== null || this.port.copyMode.isTyping
      ? null
      : messageText(this.messageText);
  }

  /** Whether a dialog or copy mode takes input. */
  get takesInput(): boolean {
    return this.openDialog !== null || this.port.copyMode.isOn;
  }

  get dialog(): TerminalDialog | null {
    return this.openDialog;
  }

  showKeyTable(table: string | null): void {
    this.keyTable = table;
    this.port.changed();
  }

  /** Shows a temporary message. */
  say(text: string): void {
    clearTimeout(this.timer ?? undefined);
    this.messageText = text;
    this.timer = setTimeout(() => this.clearMessage(), MESSAGE_MS);
    this.port.changed();
  }

  show(dialog: TerminalDialog): void {
    const before = this.openDialog;
    this.openDialog = dialog;
    before?.onClosed?.();
    this.clearMessage();
  }

  /** @param dialog closes only if this one is open */
  hide(dialog: TerminalDialog | null = this.openDialog): void {
    if (this.openDialog === null || this.openDialog !== dialog) return;
    this.openDialog = null;
    dialog.onClosed?.();
    this.port.changed();
  }

  /**
   * Handles input while a dialog is open.
   * @returns input for copy mode or the program
   */
  handleEvents(events: readonly InputEvent[], size: Size): InputEvent[] {
    const passed: InputEvent[] = [];
    for (const event of events) {
      const { openDialog } = this;
      const result = openDialog === null ? "passed" : openDialog.handleEvent(event, size);
      if (result === "passed") passed.push(event);
      if (result === "open") this.port.changed();
      else this.hide(openDialog);
    }
    return passed;
  }

  draw(frame: Frame, ascii: boolean): Frame {
    if (this.openDialog !== null) {
      const modes = elementInputModes(frame.modes, this.port.mouse.isAllowed ? 1000 : 0);
      const drawn = { ...this.openDialog.draw(frame, ascii), modes };
      return this.messageText === null ? drawn : drawNotice(drawn, messageText(this.messageText), ascii);
    }
    const keys = this.keyTable === null ? undefined : this.port.person.tables.get(this.keyTable);
    if (keys === undefined) return frame;
    const title = this.keyTable === "prefix" ? `${this.port.person.prefix} and` : `${this.keyTable}:`;
    return drawKeyMap(frame, bindingRows(keys), { title, moreHint: "? shows all keys", ascii });
  }

  close(): void {
    clearTimeout(this.timer ?? undefined);
    const { openDialog } = this;
    this.openDialog = null;
    openDialog?.onClosed?.();
  }

  private clearMessage(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    this.messageText = null;
    this.port.changed();
  }
}
