/**
 * The windows and panes of the session, and the processes behind them: the one writer of the layout. Changes run one
 * after the other; each is computed whole before anything happens, is saved, and is then shown. A pane whose process is
 * gone leaves the layout, and its neighbours take its room.
 *
 * Owns the value (session/windows) and a link to every pane. What must stay true: every pane of the value has a link,
 * has ended and is kept, or is being reached (`reach.ts`); sizes of panes are told to their processes only here.
 */
import { Emitter } from "../base/emitter.ts";
import type { Layout } from "../compositor/panel-layout.ts";
import type { AgentInfo } from "../protocol/agent.ts";
import type { StreamEnd } from "../protocol/control.ts";
import { WshError } from "../protocol/errors.ts";
import type { Size } from "../protocol/size.ts";
import type { Placement } from "../session/layout/cells.ts";
import { type SessionPlace, smallest } from "../session/viewers.ts";
import {
  activeWindow,
  placementOf,
  takePane,
  type WindowEntry,
  type Windows,
  windowWith,
} from "../session/windows/state.ts";
import { Connection } from "../wire/connection.ts";
import { KeptPanes } from "./kept-panes.ts";
import { OWN_CONTEXT, PaneLink } from "./pane-link.ts";

/** Changes of panes within this time are looked at together, in ms: of twenty panes, each costs a look at all. */
const LISTED_MS = 20;
/** Shortest time between two messages to the other panes that a person types, in ms: each wakes a process. */
const TYPED_MS = 100;

/** How a program ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Its process went without a word: killed, or crashed. */
  readonly isLost?: boolean;
}

export interface ArrangementEvents {
  /** A pane has a new picture. */
  painted: string;
  /** The next picture of a pane has this behind the cursor, and nothing else new. */
  /** `loan`: a terminal that it was lent has it already. */
  echoed: { readonly pane: string; readonly bytes: Uint8Array; readonly loan: number | null };
  rang: string;
  copied: { readonly pane: string; readonly selection: string; readonly base64: string };
  /** The layout, the focus or a size has changed: places are to be computed again. */
  placed: undefined;
  /** What lists show may have changed. Runs for every pane of which something is new. */
  listed: undefined;
  /** The same, once for what comes within LISTED_MS: for what looks at all panes. */
  settled: undefined;
  /** The AI agent of a pane of this session has changed; null: it is gone. */
  agent: { readonly pane: string; readonly agent: AgentInfo | null };
  /** A key that was pressed in a pane leads to another session. */
  go: { readonly pane: string; readonly place: SessionPlace };
  /** The layout is another value. */
  changed: { readonly before: Windows; readonly after: Windows };
  paneEnded: { readonly pane: string; readonly exit: Exit; readonly kept: boolean };
  /** The last pane of the last window has ended. */
  over: Exit;
  /** A program runs again after that. */
  goesOn: undefined;
}

export interface ArrangementPort {
  /** Whether panes stay when their program has ended, unless it is said of one. */
  readonly keepAfterExit: boolean;
  /** Where the session is served, and as what: its panes pass on what is not theirs. */
  served(): {
    readonly socket: string;
    readonly session: number;
    readonly name: string;
    readonly private: boolean;
  };
  /** Where panels lie on an outer screen of that size. */
  layoutAt(outer: Size): Layout;
  /** Writes the value where it survives this process. @throws WshError when it cannot be written */
  save(state: Windows): void;
}

export class Arrangement {
  readonly events = new Emitter<ArrangementEvents>();
  readonly links = new Map<string, PaneLink>();
  /** Panes that stay although their program has ended, and how it ended. */
  readonly ended = new Map<string, Exit>();
  /** Their processes. */
  readonly kept = new KeptPanes();
  private current: Windows;
  /** Cells of each window that was shown; a window that is not shown keeps its size. */
  private readonly sizes = new Map<number, Size>();
  private queue: Promise<unknown> = Promise.resolve();
  /** Windows that viewers with an active window of their own look at, and the sizes of their terminals that decide. */
  private readonly watched = new Map<object, { readonly window: number; readonly outer: Size | null }>();
  private isOver = false;
  /** When panes were told last that a person types in another. */
  private typedAt = Number.NEGATIVE_INFINITY;
  private settling: Timer | null = null;

  constructor(
    state: Windows,
    /** Cells between the panels. */
    private room: Size,
    private readonly port: ArrangementPort,
  ) {
    this.current = state;
    this.events.on("listed", () => this.settleSoon());
  }

  /** Cells of a window that is shown. */
  get area(): Size {
    return this.room;
  }

  get state(): Windows {
    return this.current;
  }

  /** Cells of a window. */
  sizeOf(window: WindowEntry): Size {
    return this.isShown(window.id) ? this.roomOf(window.id) : (this.sizes.get(window.id) ?? this.area);
  }

  /** Where panels lie around a window that has its size from who looks at it alone; null: where the session has them. */
  layoutOf(id: number): Layout | null {
    if (activeWindow(this.current).id === id) return null;
    const outer = smallest(
      [...this.watched.values()].flatMap(({ window, outer }) => (window === id ? (outer ?? []) : [])),
    );
    return outer === null ? null : this.port.layoutAt(outer);
  }

  private roomOf(id: number): Size {
    const layout = this.layoutOf(id);
    return layout === null ? this.area : { rows: layout.ptyRows, cols: layout.ptyCols };
  }

  placementOf(window: WindowEntry): Placement {
    return placementOf(window, this.sizeOf(window));
  }

  isLiving(pane: string): boolean {
    return this.links.has(pane) && !this.ended.has(pane);
  }

  /** @throws WshError pane_not_found, host_unavailable */
  linkOf(pane: string): PaneLink {
    const link = this.links.get(pane);
    if (link !== undefined) return link;
    if (this.current.panes[pane] === undefined)
      throw new WshError("pane_not_found", `the session has no pane '${pane}'`);
    throw new WshError("host_unavailable", `the process of pane '${pane}' does not answer`);
  }

  /** A person has typed in these panes: the others leave the processors to the echo. */
  typedIn(panes: readonly string[]): void {
    const now = performance.now();
    if (now - this.typedAt < TYPED_MS) return;
    this.typedAt = now;
    for (const [pane, link] of this.links) if (!panes.includes(pane)) link.typedBeside();
  }

  /** Runs one change after the others. */
  change<T>(make: () => Promise<T> | T): Promise<T> {
    const done = this.queue.then(make);
    this.queue = done.catch(() => {});
    return done;
  }

  /** Replaces the value. Call within `change`. @throws WshError when it cannot be saved: nothing has changed then */
  commit(next: Windows): void {
    const before = this.current;
    if (next === before) return;
    this.port.save(next);
    this.current = next;
    this.place();
    this.events.emit("changed", { before, after: next });
    this.events.emit("listed", undefined);
  }

  /** The room between the panels has changed. */
  resize(area: Size): void {
    // Panels lie elsewhere, too, in windows of other sizes.
    if (this.watched.size === 0 && area.rows === this.area.rows && area.cols === this.area.cols) return;
    this.room = area;
    this.place();
  }

  /**
   * A viewer looks at a window of its own; null: no more.
   * @param outer size of its terminal, if that decides; absent: as before
   */
  watch(viewer: object, window: number | null, outer = this.watched.get(viewer)?.outer ?? null): void {
    if (window === null) this.watched.delete(viewer);
    else this.watched.set(viewer, { window, outer });
    this.place();
  }

  /** Tells the panes of the windows that are shown their sizes. */
  place(): void {
    for (const window of this.current.windows) {
      if (!this.isShown(window.id)) continue;
      const room = this.roomOf(window.id);
      this.sizes.set(window.id, room);
      for (const [pane, box] of placementOf(window, room).boxes) {
        this.links.get(pane)?.resize({ rows: box.rows, cols: box.cols });
      }
    }
    this.events.emit("placed", undefined);
  }

  /**
   * Connects to a pane's process.
   * @param isView it belongs to another session
   * @throws WshError of the process
   */
  async connect(pane: string, socket: string, size: Size, isView = false): Promise<void> {
    const own = this.port.served();
    const link = await PaneLink.open(pane, socket, size, isView ? { around: own.socket } : { served: own }, {
      painted: () => this.events.emit("painted", pane),
      echoed: (bytes, loan) => this.events.emit("echoed", { pane, bytes, loan }),
      rang: () => this.events.emit("rang", pane),
      copied: (clipboard) => this.events.emit("copied", { pane, ...clipboard }),
      listed: () => this.events.emit("listed", undefined),
      // That of a view is told by the session that it belongs to.
      agent: (agent) => !isView && this.events.emit("agent", { pane, agent }),
      go: ({ socket, number, session }) => this.events.emit("go", { pane, place: { socket, number, session } }),
      ended: (end) => void this.change(() => this.paneEnded(pane, end)).catch(() => {}),
    });
    this.links.set(pane, link);
  }

  /**
   * Takes a pane out of the layout. Call within `change`.
   * @param soon its process ends in a moment: its connection stays until then
   */
  remove(pane: string, exit: Exit, soon = false): void {
    if (!soon) this.links.get(pane)?.close();
    const rest = takePane(this.current, pane, this.sizeOf(windowWith(this.current, pane)));
    if (rest === null) {
      this.over(exit);
      return;
    }
    this.forget(pane);
    this.events.emit("paneEnded", { pane, exit, kept: false });
    this.commit(rest);
  }

  /** Takes a pane whose program has ended out of the layout; its result stays readable as that of any. Call within `change`. */
  removeEnded(pane: string): void {
    const exit = this.ended.get(pane);
    if (exit === undefined) return;
    this.kept.release(pane);
    this.remove(pane, exit);
  }

  /** A pane that is in the layout no more. */
  forget(pane: string): void {
    this.links.delete(pane);
    this.ended.delete(pane);
    void this.kept.end(pane);
  }

  /**
   * Restarts a pane's program in its place: one that runs, or one that has ended and is kept, or was the last one. Call
   * within `change`. @throws WshError invalid_layout for a view, session_ended when its process is gone
   */
  async restart(pane: string): Promise<unknown> {
    const link = this.linkOf(pane);
    if (link.isView) throw new WshError("invalid_layout", `pane '${pane}' is a view: restart what it shows`);
    if (!link.isOver) return link.request("host.restart", {});
    const { connection } = await Connection.open(link.socket, "layout").catch((cause) => {
      throw new WshError("session_ended", `the process of pane '${pane}' is gone`, {}, { cause });
    });
    try {
      const info = await connection.request("host.restart", {}, OWN_CONTEXT);
      await this.connect(pane, link.socket, link.size);
      this.ended.delete(pane);
      this.kept.release(pane);
      this.goesOn();
      this.place();
      this.events.emit("listed", undefined);
      return info;
    } finally {
      connection.close();
    }
  }

  /** A program runs again. Call within `change`, so that its end is seen after this. */
  goesOn(): void {
    if (!this.isOver) return;
    this.isOver = false;
    this.events.emit("goesOn", undefined);
  }

  /** Whether a window is looked at. */
  private isShown(id: number): boolean {
    if (activeWindow(this.current).id === id) return true;
    for (const { window } of this.watched.values()) if (window === id) return true;
    return false;
  }

  private paneEnded(pane: string, end: StreamEnd | null): void {
    const entry = this.current.panes[pane];
    if (entry === undefined || this.isOver) return;
    const isLost = end === null || end.reason === "host_crashed";
    const exit: Exit = { code: end?.exit_code ?? null, signal: end?.signal ?? null, isLost };
    const kept = end?.reason === "exited" && (entry.keep ?? this.port.keepAfterExit);
    if (!kept) {
      this.remove(pane, exit);
      return;
    }
    this.ended.set(pane, exit);
    const link = this.links.get(pane);
    if (link !== undefined && !link.isView) this.kept.keep(pane, link.socket);
    this.events.emit("paneEnded", { pane, exit, kept: true });
    this.events.emit("placed", undefined);
  }

  private settleSoon(): void {
    this.settling ??= setTimeout(() => {
      this.settling = null;
      this.events.emit("settled", undefined);
    }, LISTED_MS);
  }

  private over(exit: Exit): void {
    if (this.isOver) return;
    this.isOver = true;
    this.events.emit("over", exit);
  }
}
