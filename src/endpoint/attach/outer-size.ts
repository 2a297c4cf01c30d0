/**
 * The size of one attached terminal, and when the session learns of it: sizes that follow each other quickly count as
 * one. A terminal that follows has the session's size, whatever its own is. Ends with `close`.
 */
import type { Attach } from "../../protocol/attach.ts";
import type { Size } from "../../protocol/size.ts";
import type { Session } from "../../session/session.ts";

/** Sizes that follow each other within this time, in ms, count as one: a window is being dragged. */
const RESIZE_MS = 16;

export interface OuterSizePort {
  readonly viewer: number;
  isOver(): boolean;
  /** Its owner collects sizes: they are applied at once. */
  readonly atOnce: boolean;
  /** Nothing is shown yet: the size is applied when it begins. */
  isOpening(): boolean;
  /** The terminal has another size, and shows nothing that is known. */
  resized(): void;
  beforeApplying(): void;
  applied(): void;
}

export class OuterSize {
  /** Takes no part in the session's size. */
  follows: boolean;
  private own: Size;
  private timer: Timer | null = null;

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

  /** A new size is about to be applied. */
  get isApplying(): boolean {
    return this.timer !== null;
  }

  resized({ rows, cols, follow }: Size & { readonly follow: boolean }): void {
    const { session, port } = this;
    this.own = { rows, cols };
    this.follows = follow;
    session.viewers.acted(port.viewer);
    if (port.isOpening()) return;
    port.resized();
    if (port.atOnce) void this.apply();
    else this.timer ??= setTimeout(() => void this.apply(), RESIZE_MS);
  }

  close(): void {
    clearTimeout(this.timer ?? undefined);
  }

  private async apply(): Promise<void> {
    const { own, port } = this;
    port.beforeApplying();
    await this.session.resize();
    this.timer = own === this.own ? null : setTimeout(() => void this.apply(), RESIZE_MS);
    if (port.isOver() || this.timer !== null) return;
    port.applied();
  }
}
