/**
 * The windows and panes of the session: the only writer of the layout. Changes run one after the other; each is
 * computed completely before it takes effect, and is then shown. A pane whose program has ended leaves the layout, and
 * its neighbours take its room.
 *
 * Owns the value (session/windows) and the object that shows each of its panes. Invariants: every pane of the value has
 * such an object; panes get their sizes only here.
 */

import { Emitter } from "../../base/emitter.ts";
import type { Layout } from "../../compositor/panel-layout.ts";
import type { AgentInfo } from "../../protocol/agent.ts";
import type { OuterEffect } from "../../protocol/attach.ts";
import { WshError } from "../../protocol/errors.ts";
import type { ClipboardCopy } from "../../protocol/frame.ts";
import type { EventDetails } from "../../protocol/recorded-events.ts";
import type { Size } from "../../protocol/size.ts";
import type { Placement } from "../../session/layout/cells.ts";
import { smallestSize } from "../../session/viewers.ts";
import {
  activeWindow,
  inOrderOfArrival,
  isSimple,
  placementOf,
  renumber,
  takePane,
  type WindowEntry,
  type Windows,
  windowWith,
} from "../../session/windows/state.ts";
import { LocalPane } from "./local-pane.ts";
import type { PaneExit, PlacedPane, PlacedPaneEvents } from "./placed-pane.ts";
import { PlacedPanes } from "./placed-panes.ts";

/**
 * Time for which changes of panes are collected before `settled`, in ms: with twenty panes, each change would
 * check all of them. A new program has usually printed by then: the checks and reports of a split took twice as
 * long as the rest of it (measured).
 */
const SETTLE_DELAY_MS = 100;
/** Time after a key in one pane during which the others leave the processor to its echo, in ms. */
const ECHO_PRIORITY_MS = 250;

/** How a program ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

interface ArrangementEvents {
  /** A pane has a new picture. */
  rendered: string;
  /** A pane printed. Runs per chunk. */
  printed: { readonly pane: string; readonly bytes: Uint8Array };
  effect: { readonly pane: string; readonly effect: OuterEffect };
  /** A pane's next picture has these bytes at the cursor, and no other change. */
  echoed: { readonly pane: string; readonly bytes: Uint8Array };
  /** A pane's screen is about to be rewrapped, or has been rebuilt. */
  resizing: string;
  reset: string;
  bellRang: string;
  copied: ClipboardCopy & { readonly pane: string };
  /** The layout, the focus or a size has changed: positions must be recomputed. */
  positionsChanged: undefined;
  /** Lists may show a change. Runs for every changed pane. */
  listingChanged: undefined;
  /**
   * Follows `listingChanged` and `positionsChanged`, once for all changes within SETTLE_DELAY_MS: for readers of
   * all panes.
   */
  settled: undefined;
  /** The layout is about to change. */
  changing: undefined;
  /** The process of a pane of this session is gone, or the connection to it. */
  processLost: string;
  /** An event of a pane that another process runs. */
  eventReported: EventDetails & { readonly pane: string };
  /** The AI agent of a pane of this session has changed; null: it is gone. */
  agent: { readonly pane: string; readonly agent: AgentInfo | null };
  /** A caller that waited for a program's end was notified. */
  endReported: string;
  /** The layout has changed. */
  changed: { readonly before: Windows; readonly after: Windows };
  paneEnded: { readonly pane: string; readonly exit: Exit; readonly isKept: boolean };
  /** The last pane of the last window has ended. */
  allEnded: Exit;
  /** A program runs again after the last one had ended. */
  programResumed: undefined;
}

interface ArrangementPort {
  /** Whether panes stay after their program has ended, unless set for a pane. */
  readonly keepAfterExit: boolean;
  /** Index of the first window, if windows are renumbered after one closes; null: gaps remain. */
  readonly renumberFrom: number | null;
  /** Whether it had several windows or panes when it crashed. */
  readonly wasSplit: boolean;
  /** Whether a crashed session is shown: no program runs, and every pane keeps its place. */
  readonly showsCrashed: boolean;
  /** The layout of panels on an outer screen of that size. */
  layoutAt(outer: Size): Layout;
}

export class Arrangement {
  readonly events = new Emitter<ArrangementEvents>();
  readonly placedPanes = new PlacedPanes();
  /** Panes that stay although their program has ended, with its exit. */
  readonly endedPanes = new Map<string, Exit>();
  /** Functions that end the readability of ended panes' output. */
  private readonly endDelays = new Map<string, () => void>();
  private current: Windows;
  /** Cells of each window that was shown; a hidden window keeps its size. */
  private readonly sizes = new Map<number, Size>();
  private queue: Promise<unknown> = Promise.resolve();
  private changing = 0;
  /** Windows shown by viewers with their own active window, and the sizes that their terminals contribute. */
  private readonly ownWindows = new Map<object, { readonly window: number; readonly outer: Size | null }>();
  private hasAllEnded = false;
  /** Whether the layout is, or was, more than one window with one pane and no user settings. */
  isSplit = false;
  /** The panes in which a person typed last, and the time. */
  private lastTyped: { readonly panes: readonly string[]; readonly at: number } = {
    panes: [],
    at: Number.NEGATIVE_INFINITY,
  };
  private settleTimer: Timer | null = null;

  constructor(
    state: Windows,
    /** Cells between the panels. */
    private currentArea: Size,
    private readonly port: ArrangementPort,
  ) {
    this.current = state;
    this.isSplit = port.wasSplit || !isSimple(state);
    for (const change of ["listingChanged", "positionsChanged"] as const)
      this.events.on(change, () => this.settleSoon());
  }

  /** Cells of a displayed window. */
  get area(): Size {
    return this.currentArea;
  }

  get state(): Windows {
    return this.current;
  }

  /** Cells of a window. */
  sizeOf(window: WindowEntry): Size {
    return this.isShown(window.id) ? this.areaOf(window.id) : (this.sizes.get(window.id) ?? this.area);
  }

  /** The layout of panels around a window whose size depends only on its own viewers; null: the session's. */
  layoutOf(id: number): Layout | null {
    if (activeWindow(this.current).id === id) return null;
    const outer = smallestSize(
      [...this.ownWindows.values()].flatMap(({ window, outer }) => (window === id ? (outer ?? []) : [])),
    );
    return outer === null ? null : this.port.layoutAt(outer);
  }

  private areaOf(id: number): Size {
    const layout = this.layoutOf(id);
    return layout === null ? this.area : { rows: layout.ptyRows, cols: layout.ptyCols };
  }

  placementOf(window: WindowEntry): Placement {
    return placementOf(window, this.sizeOf(window));
  }

  isLiving(pane: string): boolean {
    return this.placedPanes.has(pane) && !this.endedPanes.has(pane);
  }

  /** @throws WshError pane_not_found */
  requirePane(pane: string): PlacedPane {
    const placedPane = this.placedPanes.get(pane);
    if (placedPane !== undefined) return placedPane;
    throw new WshError("pane_not_found", `the session has no pane '${pane}'`);
  }

  /** The pane, if it runs here; null: it runs elsewhere, or does not exist. */
  localOf(pane: string): LocalPane | null {
    const placedPane = this.placedPanes.get(pane);
    return placedPane instanceof LocalPane ? placedPane : null;
  }

  get hasSeveral(): boolean {
    return this.placedPanes.size > 1;
  }

  /** Notes that a person has typed in these panes: the others leave the processor to the echo. */
  noteTyping(panes: readonly string[]): void {
    this.lastTyped = { panes, at: performance.now() };
  }

  /** Whether a person types in another pane than this one. */
  isTypingElsewhere(pane: string): boolean {
    const { panes, at } = this.lastTyped;
    return performance.now() - at < ECHO_PRIORITY_MS && !panes.includes(pane);
  }

  /** Queues a change: changes run one after the other. */
  change<T>(applyChange: () => Promise<T> | T): Promise<T> {
    this.changing++;
    const result = this.queue.then(applyChange).finally(() => {
      this.changing--;
    });
    this.queue = result.catch(() => {});
    return result;
  }

  /** Replaces the value, or throws and changes nothing. Call within `change`. */
  commit(next: Windows): void {
    const { current: before, isSplit } = this;
    if (next === before) return;
    this.events.emit("changing", undefined);
    const after = inOrderOfArrival(before, this.renumbered(next));
    this.current = after;
    this.isSplit ||= !isSimple(after);
    try {
      this.assignSizes();
      this.events.emit("changed", { before, after });
    } catch (error) {
      this.current = before;
      this.isSplit = isSplit;
      this.assignSizes();
      throw error;
    }
    this.events.emit("listingChanged", undefined);
  }

  /** Applies a new area between the panels. */
  resize(area: Size): void {
    // Panels also move in windows of other sizes.
    if (this.ownWindows.size === 0 && area.rows === this.area.rows && area.cols === this.area.cols) return;
    this.currentArea = area;
    this.assignSizes();
  }

  /**
   * Registers the window that a viewer with its own focus shows; null: none any more.
   * @param outer size that its terminal contributes; absent: unchanged
   */
  watch(viewer: object, window: number | null, outer = this.ownWindows.get(viewer)?.outer ?? null): void {
    if (window === null) this.ownWindows.delete(viewer);
    else this.ownWindows.set(viewer, { window, outer });
    this.assignSizes();
  }

  /** Sets the sizes of the panes in displayed windows. */
  assignSizes(): void {
    for (const window of this.current.windows) {
      if (!this.isShown(window.id)) continue;
      const area = this.areaOf(window.id);
      this.sizes.set(window.id, area);
      for (const [pane, box] of placementOf(window, area).boxes) {
        this.placedPanes.get(pane)?.resize({ rows: box.rows, cols: box.cols });
      }
    }
    this.events.emit("positionsChanged", undefined);
  }

  /** Handlers of the events of a pane that is shown here. */
  handlersFor(pane: string, isView = false): PlacedPaneEvents {
    const { events } = this;
    return {
      rendered: () => events.emit("rendered", pane),
      echoed: (bytes) => events.emit("echoed", { pane, bytes }),
      bellRang: () => events.emit("bellRang", pane),
      effect: (effect) => events.emit("effect", { pane, effect }),
      copied: (clipboard) => events.emit("copied", { pane, ...clipboard }),
      listingChanged: () => events.emit("listingChanged", undefined),
      // A view's agent is reported by the view's session.
      agent: (agent) => !isView && events.emit("agent", { pane, agent }),
      ended: (exit) => this.handleEnd(pane, exit),
      processLost: () => events.emit("processLost", pane),
      eventReported: (details) => events.emit("eventReported", { ...details, pane }),
    };
  }

  /** Adds a pane that runs here. Call before the layout names it. */
  addLocal(pane: LocalPane): void {
    const { events } = this;
    const { id } = pane;
    this.placedPanes.set(id, pane);
    pane.setPlacement({
      ...this.handlersFor(id),
      printed: (bytes) => events.emit("printed", { pane: id, bytes }),
      resizing: () => events.emit("resizing", id),
      reset: () => events.emit("reset", id),
      endReported: () => events.emit("endReported", id),
    });
    const { exit } = pane.pane;
    if (exit !== null) this.handleEnd(id, { ...exit, isOwn: true });
  }

  /** Removes a pane from the layout. Call within `change`. */
  remove(pane: string, exit: Exit): void {
    const remaining = takePane(this.current, pane, this.sizeOf(windowWith(this.current, pane)));
    if (remaining === null) {
      // The last pane stays: its session determines how long it can be read.
      this.keepReadable(pane);
      this.reportAllEnded(exit);
      return;
    }
    this.commit(remaining);
    this.forget(pane);
    this.events.emit("paneEnded", { pane, exit, isKept: false });
  }

  /** Renumbers the windows after one has ended or left, except at the end of a swap. */
  private renumbered(next: Windows): Windows {
    const { renumberFrom } = this.port;
    const { windows } = this.current;
    const hasClosedWindow =
      next.windows.length < windows.length && windows.every(({ replaces }) => replaces === undefined);
    return hasClosedWindow && renumberFrom !== null ? renumber(next, renumberFrom) : next;
  }

  /** Removes several panes, but not all, from the layout together, and ends their programs. Call within `change`. */
  close(panes: readonly string[]): void {
    const remaining = panes.reduce<Windows | null>(
      (state, pane) => state && takePane(state, pane, this.sizeOf(windowWith(state, pane))),
      this.current,
    );
    if (remaining === null) throw new WshError("invalid_layout", "the last pane of a session ends with it");
    this.commit(remaining);
    for (const pane of panes) {
      void this.placedPanes.get(pane)?.endProgram();
      this.forget(pane);
      this.events.emit("paneEnded", { pane, exit: { code: null, signal: null }, isKept: false });
    }
  }

  /**
   * Removes a pane whose program has ended from the layout; its result stays readable like any other. Call within
   * `change`.
   */
  removeEnded(pane: string): void {
    const exit = this.endedPanes.get(pane);
    if (exit !== undefined) this.remove(pane, exit);
  }

  /** Forgets a pane that has left the layout. */
  forget(pane: string): void {
    const placedPane = this.placedPanes.get(pane);
    this.placedPanes.delete(pane);
    this.endedPanes.delete(pane);
    this.endReadability(pane);
    if (placedPane instanceof LocalPane) placedPane.leaveWindow();
    else placedPane?.close();
  }

  /**
   * Restarts a pane's program in its place: a running one, or one that has ended and is kept or was the last one. Call
   * within `change`. @throws WshError invalid_layout for a view
   */
  async restart(pane: string): Promise<unknown> {
    const placedPane = this.requirePane(pane);
    if (placedPane.isView) throw new WshError("invalid_layout", `pane '${pane}' is a view: restart what it shows`);
    const { link } = placedPane;
    // A local program that cannot be started reports its end after this; a guest's process reports nothing.
    if (link !== undefined) await placedPane.restart();
    this.endedPanes.delete(pane);
    this.endReadability(pane);
    this.resume();
    if (link === undefined) await placedPane.restart();
    this.assignSizes();
    this.events.emit("listingChanged", undefined);
    return {};
  }

  /** Notes that a program runs again. Call within `change`, so that its end is handled after this. */
  resume(): void {
    if (!this.hasAllEnded) return;
    this.hasAllEnded = false;
    this.events.emit("programResumed", undefined);
  }

  /** Whether a window is shown to a viewer. */
  private isShown(id: number): boolean {
    if (activeWindow(this.current).id === id) return true;
    for (const { window } of this.ownWindows.values()) if (window === id) return true;
    return false;
  }

  /** Handles the end of a program: at once, unless a change is in progress. */
  private handleEnd(pane: string, exit: PaneExit): void {
    if (this.changing === 0) this.paneEnded(pane, exit);
    else void this.change(() => this.paneEnded(pane, exit)).catch(() => {});
  }

  private paneEnded(pane: string, { code, signal, isOwn }: PaneExit): void {
    const entry = this.current.panes[pane];
    if (entry === undefined || this.hasAllEnded || !this.placedPanes.has(pane)) return;
    const exit: Exit = { code, signal };
    if (this.port.showsCrashed) {
      this.endedPanes.set(pane, exit);
      this.keepReadable(pane);
      if (this.endedPanes.size === Object.keys(this.current.panes).length) this.reportAllEnded(exit);
      return;
    }
    const keepRule = entry.keep ?? (this.isSplit && this.port.keepAfterExit);
    const isKept = isOwn && (keepRule === "failed" ? code !== 0 : keepRule);
    if (!isKept) {
      this.remove(pane, exit);
      return;
    }
    this.endedPanes.set(pane, exit);
    this.keepReadable(pane);
    this.events.emit("paneEnded", { pane, exit, isKept: true });
    this.events.emit("positionsChanged", undefined);
  }

  /** Keeps the pane's output readable while it is in the layout. */
  private keepReadable(pane: string): void {
    const local = this.localOf(pane);
    if (local !== null && !this.endDelays.has(pane)) this.endDelays.set(pane, local.ownSession.lifetime.delayEnd());
  }

  private endReadability(pane: string): void {
    this.endDelays.get(pane)?.();
    this.endDelays.delete(pane);
  }

  private settleSoon(): void {
    this.settleTimer ??= setTimeout(() => {
      this.settleTimer = null;
      this.events.emit("settled", undefined);
    }, SETTLE_DELAY_MS);
  }

  private reportAllEnded(exit: Exit): void {
    if (this.hasAllEnded) return;
    this.hasAllEnded = true;
    this.events.emit("allEnded", exit);
  }
}
