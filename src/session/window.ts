/**
 * A window: the size that its viewers or callers requested, the positions of panels in it, and the pane that gets the
 * rest. It refers to its pane and does not own it: the pane starts and ends independently.
 *
 * `outer` is the whole size; the pane's is never larger, and the program's terminal follows every change of layout.
 */

import { type Layout, layoutPanels } from "../compositor/panel-layout.ts";
import { automaticName, type PaneInfo, type WindowInfo } from "../protocol/session.ts";
import type { Size } from "../protocol/size.ts";
import type { PaneRef } from "./types.ts";

/** A terminal smaller than this is probably a squeezed window: programs are unusable there. */
const USABLE_SIZE: Size = { rows: 5, cols: 20 };

interface WindowPort {
  readonly id: string;
  readonly pane: PaneRef;
  /** Returns the positions of the session's panels at an outer size. */
  layoutAt(outer: Size): Layout;
}

export class Window {
  private outerSize: Size;
  /** The newest size that programs can work with, or the first. */
  private usableSize: Size;
  private placedLayout: Layout;

  constructor(
    private readonly port: WindowPort,
    size: Size,
  ) {
    this.outerSize = size;
    this.usableSize = size;
    this.placedLayout = layoutPanels([], size);
  }

  get id(): string {
    return this.port.id;
  }

  get size(): Size {
    return this.outerSize;
  }

  /** The positions of panels on the outer screen, and the remaining size for the pane. */
  get layout(): Layout {
    return this.placedLayout;
  }

  /** The size after the last terminal has left, if it changes: a size usable only for that terminal is replaced. */
  get unattendedSize(): Size | null {
    const { rows, cols } = this.outerSize;
    return rows < USABLE_SIZE.rows || cols < USABLE_SIZE.cols ? this.usableSize : null;
  }

  /** Sets the outer size. @returns whether it changed */
  async resize(size: Size): Promise<boolean> {
    const changed = size.rows !== this.outerSize.rows || size.cols !== this.outerSize.cols;
    this.outerSize = size;
    if (size.rows >= USABLE_SIZE.rows && size.cols >= USABLE_SIZE.cols) this.usableSize = size;
    await this.layOutPane();
    return changed;
  }

  /** Gives the pane the part of the outer size without panels. */
  async layOutPane(): Promise<void> {
    this.placedLayout = this.port.layoutAt(this.outerSize);
    await this.port.pane.resize(this.placedLayout.ptyRows, this.placedLayout.ptyCols);
  }

  info(pane: Omit<PaneInfo, "index" | "active">): WindowInfo {
    const { rows, cols } = this.outerSize;
    const first = { index: 0, active: true };
    return { id: this.port.id, ...first, name: automaticName(pane), rows, cols, panes: [{ ...pane, ...first }] };
  }
}
