/**
 * The size of one attached terminal, and its reports to the session: at once, and while a window is being dragged once
 * per frame. A terminal that follows has the session's size, regardless of its own. Ends with `close`.
 */
import type { Attach } from "../../protocol/attach.ts";
import type { Size } from "../../protocol/size.ts";
import type { Session } from "../../session/session.ts";

/** Least interval between two sizes reported to the session, in ms: sizes in between are skipped. */
const RESIZE_MS = 16;

interface OuterSizePort {
  readonly viewer: number;
  isOver(): boolean;
  /** Whether sizes are applied at once, since the owner collects them. */
  readonly appliesAtOnce: boolean;
  /** Whether nothing is shown yet: the size is applied at the beginning. */
  isOpening(): boolean;
  /** The terminal has another size, and its contents are unknown. */
  resized(): void;
  /** Reports the size that the terminal contributes. */
  contribute(size: Size): void;
  beforeSizeApplied(): void;
  sizeApplied(): void;
}

export class OuterSize {
  /** Whether it has no influence on the session's size. */
  follows: boolean;
  private terminalSize: Size;
  /** Runs until the newest size is applied. */
  private timer: Timer | null = null;
  private applying = false;
  private appliedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly session: Session,
    { rows, cols, follow = false }: Pick<Attach, "rows" | "cols" | "follow">,
    private readonly port: OuterSizePort,
  ) {
    this.terminalSize = { rows, cols };
    this.follows = follow;
  }

  get size(): Size {
    return this.follows ? this.session.size : this.terminalSize;
  }

  /** The terminal is ready: its size counts from now on. */
  begin(): Promise<void> {
    return this.apply();
  }

  /** Whether a new size is about to be applied. */
  get isApplying(): boolean {
    return this.timer !== null || this.applying;
  }

  resized({ rows, cols, follow }: Size & { readonly follow: boolean }): void {
    const { session, port } = this;
    this.terminalSize = { rows, cols };
    this.follows = follow;
    session.viewers.noteResize(port.viewer);
    if (port.isOpening()) return;
    port.resized();
    this.scheduleApplying();
  }

  close(): void {
    clearTimeout(this.timer ?? undefined);
  }

  private scheduleApplying(): void {
    if (this.timer !== null || this.applying) return;
    if (this.port.appliesAtOnce) {
      void this.apply();
      return;
    }
    // Not while read input is being handled: another size may follow directly.
    const wait = Math.max(0, this.appliedAt + RESIZE_MS - performance.now());
    this.timer = setTimeout(() => void this.apply(), wait);
  }

  private async apply(): Promise<void> {
    const { terminalSize, port } = this;
    this.timer = null;
    this.applying = true;
    this.appliedAt = performance.now();
    port.beforeSizeApplied();
    await this.applySize();
    this.applying = false;
    if (port.isOver()) return;
    if (terminalSize === this.terminalSize) port.sizeApplied();
    else this.scheduleApplying();
  }

  private async applySize(): Promise<void> {
    if (!this.follows) this.port.contribute(this.terminalSize);
    await this.session.resize();
  }
}
