/**
 * What one painting client is to see, and what of it is news to it. Owns the last picture that the client was sent and
 * the place to which its scrollback has got; a client that starts painting, or whose terminal was relayed to meanwhile,
 * has neither. Runs once per frame and client.
 */
import { encodeFrame, type FrameUpdate, type FrameView, MAX_SCROLLED } from "../protocol/frame-view.ts";
import { composeFrame, type Sign } from "../session/frame.ts";
import { viewModes } from "../session/frame-modes.ts";
import { keyboardHeldSign, prefixHelpSign } from "../session/frame-signs.ts";
import type { Session } from "../session/session.ts";
import type { Size } from "../session/viewers.ts";
import type { Position } from "../terminal/model.ts";

/** How the way out is called when the person has no prefix key. */
const NO_PREFIX = "`wsh release`";

export interface PainterOptions {
  /** Label of the person's prefix key; null when there is none. */
  readonly prefix: string | null;
  /** Whether titles that programs set reach the person's terminal. */
  readonly titles: boolean;
}

export class Painter {
  private shown: FrameView | null = null;
  private top: Position | null = null;
  /** Rows that the next frame may bring to the client's scrollback. */
  private room = MAX_SCROLLED;
  private bell = false;
  private clipboard: { readonly selection: string; readonly base64: string } | null = null;

  constructor(
    private readonly session: Session,
    private readonly options: PainterOptions,
  ) {}

  rang(): void {
    this.bell = true;
  }

  copied(clipboard: { readonly selection: string; readonly base64: string }): void {
    this.clipboard = clipboard;
  }

  /**
   * The client's terminal shows something else: the next frame is whole.
   * @param history rows above the screen that go to its scrollback with that frame
   */
  reset(history = 0): void {
    this.shown = null;
    this.top = history > 0 ? { line: 0, col: 0 } : null;
    this.room = history;
    this.bell = false;
    this.clipboard = null;
  }

  /** The next update for a client of this size; null when nothing changed. Call between chunks. */
  next(size: Size, help: boolean): FrameUpdate | null {
    const { terminal } = this.session.pane;
    const view = this.compose(size, help);
    const since = this.top;
    const rows = since === null ? [] : terminal.rowsAbove(since, Math.min(MAX_SCROLLED, this.room));
    this.top = terminal.top;
    this.room = MAX_SCROLLED;
    const fits = rows.map((row) => (row.length > size.cols ? row.slice(0, size.cols) : row));
    const events = { scrolled: fits, bell: this.bell, clipboard: this.clipboard };
    const before = this.shown;
    this.shown = view;
    this.bell = false;
    this.clipboard = null;
    const update = encodeFrame(before, view, events);
    const moved = before === null || JSON.stringify(before.cursor) !== JSON.stringify(view.cursor);
    const news = update.modes !== undefined || update.title !== undefined || events.bell || events.clipboard !== null;
    return moved || news || update.lines.length > 0 || fits.length > 0 ? update : null;
  }

  private compose(size: Size, help: boolean): FrameView {
    const { session } = this;
    const { terminal } = session.pane;
    const { elements, layout } = session;
    const frame = composeFrame({
      grid: terminal.grid(),
      layout,
      overlays: elements.overlays(),
      panels: elements.panels(),
      outer: size,
      signs: this.signs(help),
    });
    return {
      ...frame,
      modes: viewModes(terminal.modes, terminal.alternate),
      title: this.options.titles && terminal.title !== "" ? terminal.title : null,
    };
  }

  private signs(help: boolean): Sign[] {
    const { owner } = this.session.keyboard;
    const prefix = this.options.prefix ?? NO_PREFIX;
    if (help) return [prefixHelpSign(prefix)];
    return owner === null ? [] : [keyboardHeldSign(owner.label, prefix)];
  }
}
