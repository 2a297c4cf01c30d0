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
import { ownModes } from "./own-modes.ts";

/** Time for which a message is shown, in ms: long enough to read it. */
const MESSAGE_MS = 3_000;

/** A dialog of one terminal. */
export interface OwnDialog {
  /** Draws it over the picture. @param ascii for a terminal without UTF-8 */
  draw(frame: Frame, ascii: boolean): Frame;
  /**
   * Handles a key, a click or a paste.
   * @returns whether the dialog stays open, is closed, or is closed and the event goes to the picture below
   */
  pressed(event: InputEvent, size: Size): "open" | "closed" | "passed";
  /** Queued input after its current operation. */
  readonly rest?: readonly Uint8Array[];
  /** Called when it is closed, for any reason. */
  closed?(): void;
}

/** The overlay layer that a renderer draws for one terminal. */
export interface LayerPicture {
  /** Text that replaces the last row. */
  readonly sign: string | null;
  /** Contents that replace the program's screen; null: it is shown. */
  readonly screen: { readonly grid: Grid; modes(program: FrameModes): FrameModes } | null;
  draw(frame: Frame, ascii: boolean): Frame;
}

export class OverlayLayer implements LayerPicture {
  /** The table whose keys are shown. */
  private map: string | null = null;
  private text: string | null = null;
  private timer: Timer | null = null;
  private open: OwnDialog | null = null;

  constructor(
    private readonly port: {
      readonly person: { readonly prefix: string; readonly tables: KeyTables };
      readonly copyMode: PaneCopyMode;
      readonly mouse: { readonly isAllowed: boolean };
      changed(): void;
    },
  ) {}

  get isShown(): boolean {
    return this.map !== null || this.text !== null || this.open !== null || this.port.copyMode.isOn;
  }

  get screen(): LayerPicture["screen"] {
    const grid = this.port.copyMode.grid();
    return grid === null ? null : { grid, modes: (program) => this.port.copyMode.modes(program) };
  }

  /** While a search is typed in the last row, a message of an earlier key is not drawn over it. */
  get sign(): string | null {
    return this.text === null || this.open !== null || this.port.copyMode.isTyping ? null : messageText(this.text);
  }

  /** The open dialog. */
  get dialog(): OwnDialog | null {
    return this.open;
  }

  showMap(table: string | null): void {
    this.map = table;
    this.port.changed();
  }

  /** Shows a temporary message. */
  say(text: string): void {
    clearTimeout(this.timer ?? undefined);
    this.text = text;
    this.timer = setTimeout(() => this.unsay(), MESSAGE_MS);
    this.port.changed();
  }

  show(dialog: OwnDialog): void {
    const before = this.open;
    this.open = dialog;
    before?.closed?.();
    this.unsay();
  }

  /** @param dialog closes only if this one is open */
  hide(dialog: OwnDialog | null = this.open): void {
    if (this.open === null || this.open !== dialog) return;
    this.open = null;
    dialog.closed?.();
    this.port.changed();
  }

  /**
   * Handles input while a dialog is open.
   * @returns input for the program
   */
  pressed(events: readonly InputEvent[], size: Size): Uint8Array[] {
    const passed: Uint8Array[] = [];
    for (const event of events) {
      const { open } = this;
      const result = open === null ? "passed" : open.pressed(event, size);
      if (result === "passed") passed.push(event.raw);
      if (result === "open") this.port.changed();
      else this.hide(open);
    }
    return passed;
  }

  draw(frame: Frame, ascii: boolean): Frame {
    if (this.open !== null) {
      const modes = ownModes(frame.modes, this.port.mouse.isAllowed ? 1000 : 0);
      const drawn = { ...this.open.draw(frame, ascii), modes };
      return this.text === null ? drawn : drawNotice(drawn, messageText(this.text), ascii);
    }
    const keys = this.map === null ? undefined : this.port.person.tables.get(this.map);
    if (keys === undefined) return frame;
    const title = this.map === "prefix" ? `${this.port.person.prefix} and` : `${this.map}:`;
    return drawKeyMap(frame, bindingRows(keys), { title, moreHint: "? shows all keys", ascii });
  }

  close(): void {
    clearTimeout(this.timer ?? undefined);
    const { open } = this;
    this.open = null;
    open?.closed?.();
  }

  private unsay(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    this.text = null;
    this.port.changed();
  }
}
