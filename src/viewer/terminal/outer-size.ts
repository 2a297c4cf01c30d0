/**
 * The size of one attached terminal, and when the session learns of it: at once, and while a window is being dragged
 * once a frame. A terminal that follows has the session's size, regardless of its own. Ends with `close`.
 */
import type { Attach } from "../../protocol/attach.ts";
import type { Size } from "../../protocol/size.ts";
import type { Session } from "../../session/session.ts";

/** Shortest time between two sizes that the session learns of, in ms: those between them are skipped. */
const RESIZE_MS = 16;

interface OuterSizePort {
  readonly viewer: number;
  isOver(): boolean;
  /** Its owner collects sizes: they are applied at once. */
  readonly atOnce: boolean;
  /** Nothing is shown yet: the size is applied when it begins. */
  isOpening(): boolean;
  /** The terminal has another size, and shows nothing that is known. */
  resized(): void;
  /** The size with which it decides. */
  decides(size: Size): void;
  beforeApplying(): void;
  applied(): void;
}

export class OuterSize {
  /** Takes no part in the session's size. */
  follows: boolean;
  private own: Size;
  /** Waits to apply the newest size. */
  private timer: Timer | null = null;
  private applying = false;
  private appliedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly session: Session,
    { rows, cols, follow = false }: Pick<Attach, "rows" | "cols" | "follow">,
    private readonly port: OuterSizePort,
  ) {
    this.own = { rows, cols };
    this.follows = follow;
  }

  get size(): Size {
    return this.follows ? this.session.size : this.own;
  }

  /** The terminal is there: its size counts. */
  begin(): Promise<void> {
    return this.tell();
  }

  /** A new size is about to be applied. */
  get isApplying(): boolean {
    return this.timer !== null || this.applying;
  }

  resized({ rows, cols, follow }: Size & { readonly follow: boolean }): void {
    const { session, port } = this;
    this.own = { rows, cols };
    this.follows = follow;
    session.viewers.resized(port.viewer);
    if (port.isOpening()) return;
    port.resized();
    this.soon();
  }

  close(): void {
    clearTimeout(this.timer ?? undefined);
  }

  private soon(): void {
    if (this.timer !== null || this.applying) return;
    if (this.port.atOnce) {
      void this.apply();
      return;
    }
    // Not while read input is being handled: another size may follow directly.
    const wait = Math.max(0, this.appliedAt + RESIZE_MS - performance.now());
    this.timer = setTimeout(() => void this.apply(), wait);
  }

  private async apply(): Promise<void> {
    const { own, port } = this;
    this.timer = null;
    this.applying = true;
    this.appliedAt = performance.now();
    port.beforeApplying();
    await this.tell();
    this.applying = false;
    if (port.isOver()) return;
    if (own === this.own) port.applied();
    else this.soon();
  }

  private async tell(): Promise<void> {
    if (!this.follows) this.port.decides(this.own);
    await this.session.resize();
  }
}
