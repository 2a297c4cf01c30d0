/**
 * The screens that a pane has shown since a caller began to follow it (`screen.get` with `each`), so that the
 * caller also sees those that are replaced before it looks again. They are kept from the first such call until
 * KEPT_AFTER_CALL_MS after the last one, up to MAX_SIZE and for a share of the time: a flood drops the oldest,
 * and a pane that nobody follows costs nothing.
 */
import type { OperationOutput } from "../../operations/table.ts";
import type { Pane } from "../../pane/pane.ts";
import type { Format } from "../../protocol/screen.ts";
import { screenWithSelection } from "./screen.ts";

/** How long screens are kept after the last call, in ms. */
const KEPT_AFTER_CALL_MS = 5_000;
/** Size of all kept screens of a pane, in characters; each span with a style counts STYLED_SPAN_SIZE more. */
const MAX_SIZE = 1_000_000;
const STYLED_SPAN_SIZE = 30;
/** Work of keeping screens: at once, in ms, and its share of the time in a flood, which a large screen would slow down. */
const BURST_MS = 400;
const TIME_SHARE = 0.05;

type Revision = NonNullable<OperationOutput<"screen.get">["earlier"]>[number];

class ScreenRevisions {
  private callers = 0;
  private revisions: { readonly revision: Revision; readonly size: number }[] = [];
  private size = 0;
  private readonly unsubscribers: readonly (() => void)[];
  private timer: Timer | undefined;
  private budget = BURST_MS;
  private lastAt = performance.now();

  constructor(
    private readonly pane: Pane,
    private readonly format: Format,
    private readonly expired: () => void,
  ) {
    const { events } = pane;
    const redrawCutting = pane.cutAtRedraws();
    this.unsubscribers = [
      events.on("chunk", () => this.recordWithinBudget()),
      events.on("cleared", () => this.clear()),
      () => redrawCutting[Symbol.dispose](),
    ];
  }

  /** Keeps them until KEPT_AFTER_CALL_MS after the caller's end. */
  follow(): Disposable {
    clearTimeout(this.timer);
    this.callers++;
    return {
      [Symbol.dispose]: () => {
        if (--this.callers > 0) return;
        this.timer = setTimeout(() => this.end(), KEPT_AFTER_CALL_MS);
        this.timer.unref();
      },
    };
  }

  /** Screens after the cursor, except the present one. Call between chunks. */
  revisionsSince(since: number): Revision[] {
    const now = this.pane.outputCursor;
    const revisions = this.revisions.map(({ revision }) => revision);
    return revisions.filter(({ output_cursor }) => output_cursor > since && output_cursor < now);
  }

  private end(): void {
    for (const unsubscribe of this.unsubscribers) unsubscribe();
    this.expired();
  }

  private recordWithinBudget(): void {
    const began = performance.now();
    this.budget = Math.min(BURST_MS, this.budget + (began - this.lastAt) * TIME_SHARE);
    this.lastAt = began;
    if (this.budget <= 0) return;
    this.record();
    this.budget -= performance.now() - began;
  }

  private record(): void {
    const { pane, format } = this;
    const { outputCursor: output_cursor, activity } = pane;
    const revision = { ...screenWithSelection(pane.terminal, format), output_cursor, generation: activity.generation };
    const sizes = revision.lines.map((line) =>
      typeof line === "string" ? line.length : line.reduce((sum, { text }) => sum + text.length + STYLED_SPAN_SIZE, 0),
    );
    const size = sizes.reduce((sum, each) => sum + each, 0);
    this.revisions.push({ revision, size });
    this.size += size;
    while (this.size > MAX_SIZE) this.size -= this.revisions.shift()?.size ?? 0;
  }

  private clear(): void {
    this.revisions = [];
    this.size = 0;
  }
}

const followed: Readonly<Record<Format, WeakMap<Pane, ScreenRevisions>>> = {
  plain: new WeakMap(),
  styled: new WeakMap(),
};

/** Keeps the pane's screens from now on, if they are not kept already. */
export function followScreens(pane: Pane, format: Format): ScreenRevisions {
  const panes = followed[format];
  const revisions = panes.get(pane) ?? new ScreenRevisions(pane, format, () => panes.delete(pane));
  panes.set(pane, revisions);
  return revisions;
}
