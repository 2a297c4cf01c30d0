/**
 * Decides what one rendering client shows, and which parts are new to it. Owns the last picture sent to the client;
 * scrollback-feed.ts tracks the lines in its terminal's scrollback. Call between chunks. Runs once per frame and
 * client.
 */

import { toAscii } from "../../compositor/ascii.ts";
import { type ClientFrame, composeFrame, type Offset } from "../../compositor/compose.ts";
import { drawDialog, layoutDialog } from "../../compositor/dialog.ts";
import { ReusableFrame } from "../../compositor/last-frame.ts";
import { drawNotice, handedOverNotice, keyboardCapturedText } from "../../compositor/notices.ts";
import { plainOverlay, plainPanel } from "../../compositor/plain-elements.ts";
import { withoutColors } from "../../compositor/theme.ts";
import type { ClipboardCopy, Frame, FramePlaces, PanePlace } from "../../protocol/frame.ts";
import { encodeFrame, type FrameUpdate, typedInPlace } from "../../protocol/frame-codec.ts";
import type { Grid, Row } from "../../protocol/grid.ts";
import { isPlain, isPrintable } from "../../protocol/plain-bytes.ts";
import type { Size } from "../../protocol/size.ts";
import type { Session } from "../../session/session.ts";
import type { StatusTarget, StatusText } from "../../session/types.ts";
import type { DisplayedContent, DisplayedProgram } from "./displayed-content.ts";
import { elementInputModes } from "./input-modes.ts";
import type { LayerPicture } from "./overlay-layer.ts";
import { withMouse } from "./pointer.ts";
import { type InitialRows, ScrollbackFeed } from "./scrollback-feed.ts";

export interface RendererOptions {
  /** Label of the key that takes the keyboard back. */
  prefix(): string;
  /** Whether titles that programs set reach the person's terminal. */
  showsTitles(): boolean;
  /** Whether its terminal has a scrollback to fill. */
  readonly scrollback: boolean;
  /** Whether the person wants wsh's elements without colours. */
  readonly plainElements: boolean;
  /** Whether the terminal lacks UTF-8. */
  readonly ascii: boolean;
  /** Whether pictures include the positions of panes. */
  readonly includesPlaces: boolean;
  /** Whether wsh may take the terminal's mouse. */
  readonly mouse: { readonly isAllowed: boolean };
}

/** In copy mode no row belongs to a program. */
const noPlaces: FramePlaces = { window: null, panes: [] };

interface FrameRequest {
  readonly size: Size;
  /** This terminal's overlay layer; null: nothing. */
  readonly topLayer: LayerPicture | null;
  /** Whether the session's size is shown if it differs from the client's. */
  readonly showsSize: boolean;
  readonly flooding: boolean;
  /** Whether wsh has the mouse. */
  readonly mouse: boolean;
  /** Whether nothing is drawn over or beside the program's screen. */
  readonly bare: boolean;
}

export class FrameRenderer {
  /** Position of the program's first cell on the client's terminal, minus the panels above: for its mouse. */
  offset: Offset = { top: 0, left: 0 };
  readonly scrollback: ScrollbackFeed;
  private lastFrame: Frame | null = null;
  private readonly reusableFrame = new ReusableFrame();
  /** Epoch of the terminal at the last update. */
  private epoch = 0;
  /** Whether the program's next output would appear in the plain style and unaltered: verified, and unchanged since. */
  private plain = false;
  private bell = false;
  private clipboard: ClipboardCopy | null = null;

  constructor(
    private readonly session: Session,
    private readonly screen: DisplayedContent,
    private readonly options: RendererOptions,
    /** Converts a row with pictures for the terminal; null: the terminal shows it unchanged. */
    private readonly pictures: { readonly convertRow: ((row: Row) => Row) | null },
  ) {
    this.scrollback = new ScrollbackFeed(screen, options.scrollback);
  }

  rang(): void {
    this.bell = true;
  }

  copied(clipboard: ClipboardCopy): void {
    this.clipboard = clipboard;
  }

  /**
   * The client begins to render: its terminal shows passed-through output so far, or nothing.
   * @param passedThrough the program whose bytes it got; null: none
   * @param first rows above the screen to send to its scrollback first; null: none
   */
  begin(passedThrough: DisplayedProgram | null, first: InitialRows | null = null): void {
    this.lastFrame = null;
    this.scrollback.begin(passedThrough, first);
    this.bell = false;
    this.clipboard = null;
  }

  /** The drawing over or beside the program's screen has changed. */
  drawingChanged(): void {
    this.reusableFrame.forget();
  }

  /** Output is about to be parsed. Runs per chunk. */
  outputArrived(bytes: Uint8Array): void {
    if (this.plain && !bytes.every(isPlain)) this.plain = false;
  }

  /**
   * Whether these bytes may be sent, before they are parsed, to a terminal that shows the last update: they will
   * most likely be the only change. The result is compared with the next update's `typed`.
   */
  mayBeTyped(bytes: Uint8Array): boolean {
    const { lastFrame: shown, plain, reusableFrame: kept } = this;
    if (!plain || shown === null || kept.isEmpty || this.epoch !== this.screen.epoch) return false;
    const { visible, col } = shown.cursor;
    return visible && col + bytes.length < shown.cols && bytes.every(isPrintable);
  }

  /** The client's terminal has unknown contents: the next frame is complete. */
  forget(): void {
    this.lastFrame = null;
  }

  /** Whether there is a change that a client switched to pass-through would miss. */
  get hasPendingChange(): boolean {
    return this.bell || this.clipboard !== null || this.scrollback.hasUnsentRows;
  }

  /**
   * Returns the next update; null when nothing changed. `typed` is the whole change, if it is the typed text and a
   * terminal that shows the previous update needs nothing else.
   */
  next(request: FrameRequest): { readonly update: FrameUpdate; readonly typed: string } | null {
    const { convertRow } = this.pictures;
    const composed = this.compose(request);
    const view = convertRow === null ? composed : { ...composed, lines: composed.lines.map(convertRow) };
    this.epoch = this.screen.epoch;
    const waits = request.flooding || this.screen.alternate || request.topLayer?.screen != null;
    const rows = waits ? [] : this.scrollback.takeRows(request.size.cols);
    const scrolled = convertRow === null ? rows : rows.map(convertRow);
    const events = { scrolled, bell: this.bell, clipboard: this.clipboard };
    const before = this.lastFrame;
    this.lastFrame = view;
    this.bell = false;
    this.clipboard = null;
    const update = encodeFrame(before, view, events);
    const moved = before === null || JSON.stringify(before.cursor) !== JSON.stringify(view.cursor);
    const changed = update.modes !== undefined || update.title !== undefined || update.places !== undefined;
    const news = changed || events.bell || events.clipboard !== null;
    if (!moved && !news && update.lines.length === 0 && scrolled.length === 0) return null;
    const happened = scrolled.length > 0 || events.bell || events.clipboard !== null;
    const typed = happened ? "" : typedInPlace(before, view, update);
    if (typed !== "") this.plain = true;
    return { update, typed };
  }

  private compose({ size, topLayer, showsSize, bare, mouse }: FrameRequest): Frame {
    const { screen } = this;
    const lastRowText = bare ? null : this.findLastRowText(topLayer);
    const copyModeScreen = bare ? null : (topLayer?.screen ?? null);
    const grid = copyModeScreen?.grid ?? screen.grid(this.options.ascii);
    const { offset, ...frame } = this.frame(grid, { outer: size, lastRowText, bare, showsSize });
    this.offset = offset;
    const title = this.options.showsTitles() && screen.title !== "" ? screen.title : null;
    const places = this.options.includesPlaces
      ? { places: copyModeScreen === null ? this.framePlaces(offset) : noPlaces }
      : {};
    const modes = copyModeScreen?.modes(screen.modes) ?? screen.modes;
    const shown = this.applyNoColor({ ...frame, modes: mouse && !bare ? withMouse(modes) : modes, title, ...places });
    if (bare) return shown;
    // Echoes are not written ahead of the picture.
    if (topLayer !== null) this.reusableFrame.forget();
    const drawn = this.drawQuestions(topLayer === null ? shown : topLayer.draw(shown, this.options.ascii));
    return drawn === shown ? shown : this.applyNoColor(drawn);
  }

  /** Removes our elements' colours if the person wants none. */
  private applyNoColor(frame: Frame): Frame {
    return this.options.plainElements ? { ...frame, lines: frame.lines.map(withoutColors) } : frame;
  }

  /** Positions in the frame: panels are above the panes, and a smaller terminal shows a part. */
  private framePlaces(offset: Offset): FramePlaces {
    const { window, panes } = this.screen.framePlaces();
    const down = (this.screen.layout ?? this.session.layout).top - offset.top;
    const moved = down !== 0 || offset.left !== 0;
    const shift = (pane: PanePlace): PanePlace => ({ ...pane, row: pane.row + down, col: pane.col - offset.left });
    return { window, panes: moved ? panes.map(shift) : panes };
  }

  /** Questions and messages to the person, above everything. They receive keys and clicks then, not the program. */
  private drawQuestions(frame: Frame): Frame {
    const { questions, notice } = this.session;
    const { dialog, handedOver } = questions;
    const noticeText = handedOver === null ? notice.text : handedOverNotice(handedOver, this.options.prefix());
    if (dialog === null && noticeText === null) return frame;
    // Echoes are not written ahead of the picture.
    this.reusableFrame.forget();
    if (dialog === null) return noticeText === null ? frame : drawNotice(frame, noticeText, this.options.ascii);
    const modes = elementInputModes(frame.modes, this.options.mouse.isAllowed ? 1000 : 0);
    return { ...drawDialog(frame, layoutDialog(dialog, frame), this.options.ascii), modes };
  }

  private frame(
    grid: Grid,
    {
      outer,
      lastRowText,
      bare,
      showsSize,
    }: { outer: Size; lastRowText: string | null; bare: boolean; showsSize: boolean },
  ): ClientFrame {
    const { elements } = this.session;
    const layout = this.screen.layout ?? this.session.layout;
    const alone = lastRowText === null && !bare && !elements.hasOverlays;
    const next = alone ? this.reusableFrame.next(grid, layout, outer) : null;
    if (next !== null) return next;
    const { plainElements } = this.options;
    const drawn = bare ? [] : elements.overlays();
    const beside = bare ? [] : elements.panels();
    const overlays = plainElements ? drawn.map(plainOverlay) : drawn;
    const panels = plainElements ? beside.map(plainPanel) : beside;
    const status = bare ? null : (this.status(outer)?.spans ?? null);
    const { ascii } = this.options;
    const frame = composeFrame({ grid, layout, overlays, panels, status, outer, lastRowText, showsSize, ascii });
    if (alone) this.reusableFrame.store(frame, grid, layout);
    else this.reusableFrame.forget();
    return frame;
  }

  /** The part of the status line at a cell of the terminal. */
  statusAt(size: Size, row: number, col: number): StatusTarget | null {
    const edge = this.session.status?.position === "top" ? 0 : size.rows - 1;
    return row === edge ? (this.status(size)?.targetAt(col) ?? null) : null;
  }

  /** This terminal's status line; null while there is none. */
  private status({ cols }: Size): StatusText | null {
    const { screen } = this;
    const isIndependent = screen.isIndependent === true;
    const seen = isIndependent ? { window: screen.framePlaces().window ?? "", pane: screen.mouseTargets.active } : null;
    return this.session.status?.text(cols, seen) ?? null;
  }

  private findLastRowText(above: LayerPicture | null): string | null {
    const { owner } = this.session.keyboard;
    const sign =
      above?.lastRowText ?? (owner === null ? null : keyboardCapturedText(owner.label, this.options.prefix()));
    return sign !== null && this.options.ascii ? toAscii(sign) : sign;
  }
}
