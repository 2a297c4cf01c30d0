/**
 * What a viewer of a session with several panes is shown: the active window, composed of its panes' newest pictures.
 * All viewers share one view of the session's active window and pane; an independent one has its own.
 *
 * After a change of places the picture is held until the panes that are shown have painted in their new sizes, but no
 * longer than SETTLE_MS, so that no half of a change is seen.
 */
import type { PaneLabel } from "../compositor/border-titles.ts";
import type { Layout } from "../compositor/panel-layout.ts";
import { WindowCanvas, type WindowPlaces } from "../compositor/window.ts";
import type { Pointed } from "../endpoint/attach/pointer.ts";
import type { Loan, Shown, ShownListener } from "../endpoint/attach/shown.ts";
import type { LendInput, LookInput, TerminalColors } from "../protocol/attach.ts";
import { type FrameModes, type FramePlaces, initialFrameModes } from "../protocol/frame.ts";
import { windowId } from "../protocol/names.ts";
import type { Size } from "../protocol/size.ts";
import { borderAt, borderCells, type Placement, paneAt } from "../session/layout/cells.ts";
import { dragBorder } from "../session/layout/resize.ts";
import type { Typed } from "../session/types.ts";
import { show } from "../session/windows/changes.ts";
import {
  activeWindow,
  panesIn,
  placementOf,
  putWindow,
  showsOthers,
  type WindowEntry,
  type Windows,
  windowById,
  windowWith,
} from "../session/windows/state.ts";
import type { Arrangement } from "./arrangement.ts";
import { OWN_CONTEXT } from "./pane-link.ts";

/** Longest wait for panes to paint after a change of places, in ms: less than a person sees as a delay. */
const SETTLE_MS = 50;
/** Encoding of mouse reports that knows every cell and which button was let go. */
const SGR = 1006;
const FOCUS_IN = new TextEncoder().encode("\x1b[I");
const FOCUS_OUT = new TextEncoder().encode("\x1b[O");

/** An active window, pane and zoom that are a viewer's own. */
export interface OwnFocus {
  window: number;
  pane: string;
  zoomed: boolean;
}

export class WindowView implements Shown {
  epoch = 1;
  readonly program = null;
  readonly isElsewhere = (pane?: string): boolean => showsOthers(this.arrangement.state, this.window, pane);
  readonly isSynchronized = false;
  readonly alternate = false;
  private readonly listeners = new Set<ShownListener>();
  private readonly canvases = { utf8: new WindowCanvas(false), ascii: new WindowCanvas(true) };
  readonly pointed: Pointed;
  private placement: Placement;
  private places: WindowPlaces;
  layout: Layout | null = null;
  private held: (() => void)[] | null = null;
  private heldTimer: Timer | null = null;
  private focused: string;
  private readonly ends: (() => void)[];

  /**
   * @param own null: the session's active window and pane
   * @param watched id of the one window that is shown as it is, at its own size, by who only looks
   */
  constructor(
    private readonly arrangement: Arrangement,
    private area: Size,
    private readonly content: { readonly activity: { record(): void }; labelOf(pane: string): PaneLabel | null },
    readonly own: OwnFocus | null = null,
    private readonly watched: number | null = null,
  ) {
    const { events } = arrangement;
    this.pointed = this.pointing();
    this.placement = this.placed(this.window);
    this.places = this.placesOf();
    this.focused = this.active;
    this.ends = [
      events.on("painted", (pane) => this.painted(pane)),
      events.on("echoed", ({ pane, bytes, loan }) => this.echoed(pane, bytes, loan)),
      events.on("placed", () => this.arranged()),
      events.on("settled", () => this.labelled()),
      events.on("rang", (pane) => this.rings(pane) && this.each((listener) => listener.bell())),
      events.on("copied", ({ selection, base64 }) =>
        this.each((listener) => listener.clipboard({ selection, base64 })),
      ),
    ];
  }

  dispose(): void {
    for (const end of this.ends) end();
    this.settle();
  }

  get rows(): number {
    return this.area.rows;
  }

  get cols(): number {
    return this.area.cols;
  }

  /** The window that is shown. */
  get window(): WindowEntry {
    const { state } = this.arrangement;
    const { own } = this;
    if (own === null) return state.windows.find(({ id }) => id === this.watched) ?? activeWindow(state);
    const window = state.windows.find(({ id }) => id === own.window) ?? activeWindow(state);
    if (window.id !== own.window || !panesIn(window).includes(own.pane)) {
      own.window = window.id;
      own.pane = window.active;
      own.zoomed = false;
    }
    return { ...window, active: own.pane, zoomed: own.zoomed };
  }

  get isIndependent(): boolean {
    return this.own !== null;
  }

  get isApart(): boolean {
    return this.own !== null && this.window.id !== activeWindow(this.arrangement.state).id;
  }

  sized(outer: Size): void {
    if (this.own !== null) this.arrangement.watch(this, this.window.id, outer);
  }

  /** Gives a pane this view's own focus, in whatever window it is. */
  focus(pane: string): void {
    const { arrangement, own } = this;
    if (own === null) return;
    own.window = windowWith(arrangement.state, pane).id;
    own.pane = pane;
    arrangement.watch(this, own.window);
  }

  /** The pane that gets what is typed. */
  get active(): string {
    return this.window.active;
  }

  get title(): string {
    const { panes } = this.arrangement.state;
    return panes[this.active]?.title ?? this.arrangement.links.get(this.active)?.frame?.title ?? "";
  }

  get modes(): FrameModes {
    const active = this.arrangement.links.get(this.active)?.frame?.modes ?? initialFrameModes;
    return { ...active, alternate: false, ...this.mouse };
  }

  private get mouse(): Pick<FrameModes, "mouse" | "mouseEncoding"> {
    const { links } = this.arrangement;
    const asked = this.panesShown().map((pane) => links.get(pane)?.frame?.modes.mouse ?? 0);
    const [mouse = 0] = asked.sort((a, b) => b - a);
    return { mouse, mouseEncoding: mouse === 0 ? 0 : SGR };
  }

  get hasSeveral(): boolean {
    return this.placement.boxes.size > 1;
  }

  private pointing(): Pointed {
    const { arrangement } = this;
    const self = this;
    const changed = (make: (state: Windows) => Windows): void =>
      void arrangement.change(() => arrangement.commit(make(arrangement.state))).catch(() => {});
    return {
      get active() {
        return self.active;
      },
      isInPixels: false,
      paneAt: (row, col) => paneAt(self.placement, row, col),
      boxOf: (pane) => self.placement.boxes.get(pane) ?? null,
      modesOf: (pane) => arrangement.links.get(pane)?.frame?.modes ?? null,
      give(pane, bytes) {
        arrangement.links.get(pane)?.type(bytes);
        return null;
      },
      borderAt: (row, col) => borderAt(self.placement, row, col),
      select(pane) {
        const { own } = self;
        if (own === null) changed((state) => show(state, pane));
        else self.focus(pane);
      },
      drag(border, row, col) {
        const { id } = self.window;
        changed((state) => {
          const window = windowById(state, id);
          const { placement } = self;
          const path = border.path.join();
          // Where an earlier step of the same drag has put it.
          const now = placement.borders.find((each) => each.index === border.index && each.path.join() === path);
          const root = now === undefined ? window.root : dragBorder(window.root, placement, now, row, col);
          return root === window.root ? state : putWindow(state, { ...window, root });
        });
      },
    };
  }

  grid(ascii = false) {
    const canvas = ascii ? this.canvases.ascii : this.canvases.utf8;
    canvas.place(this.places);
    return canvas.grid((pane) => this.arrangement.links.get(pane)?.frame ?? null);
  }

  framePlaces(): FramePlaces {
    const { active, placement } = this;
    const { links, state } = this.arrangement;
    const panes = [...placement.boxes].map(([id, { row, col, rows, cols }]) => {
      const frame = links.get(id)?.frame;
      const own = frame?.places?.panes[0];
      const fits = own !== undefined && frame?.rows === rows && frame.cols === cols;
      return {
        ...{ id, row, col, rows, cols, active: id === active },
        title: state.panes[id]?.title ?? frame?.title ?? "",
        alternate: own?.alternate ?? frame?.modes.alternate ?? false,
        mouse: frame?.modes.mouse ?? 0,
        first_line: fits ? own.first_line : null,
        first_col: fits ? own.first_col : 0,
        history: own?.history ?? 0,
        wrapped: fits ? own.wrapped : [],
      };
    });
    return { window: windowId(this.window.id), panes };
  }

  atRest<T>(make: () => T): Promise<T> {
    const { held } = this;
    if (held === null) return Promise.resolve(make());
    return new Promise((resolve, reject) => {
      held.push(() => {
        try {
          resolve(make());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  listen(listener: ShownListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  learnColors(colors: TerminalColors): void {
    for (const link of this.arrangement.links.values()) {
      link.request("host.colors", colors, OWN_CONTEXT).catch(() => {});
    }
  }

  readonly typed: Typed = this.typedHere();

  private typedHere(): Typed {
    const self = this;
    return {
      get id() {
        return self.active;
      },
      activity: { record: () => self.content.activity.record() },
      // Each pane's process knows its own; keys of a password are told to nobody there.
      flags: () => null,
      typed(bytes) {
        const { window } = self;
        const { links, ended } = self.arrangement;
        const panes = window.synchronized ? panesIn(window) : [window.active];
        for (const pane of panes) if (!ended.has(pane)) links.get(pane)?.type(bytes);
        self.arrangement.typedIn(panes);
      },
    };
  }

  /** A pane's process has its history: the view there is shown as the pane's picture. */
  readonly look = async (input: LookInput, pane = this.active): Promise<void> => {
    await this.arrangement.linkOf(pane).request("host.look", input);
  };

  /** The room between the panels has changed. */
  resize(area: Size): void {
    if (this.isApart) return;
    if (area.rows === this.area.rows && area.cols === this.area.cols) return;
    this.area = area;
    this.each((listener) => listener.resizing());
  }

  private placed(window: WindowEntry): Placement {
    return placementOf(window, this.area);
  }

  private placesOf(): WindowPlaces {
    const { placement, window } = this;
    const order = panesIn(window);
    const panes = order.flatMap((id) => {
      const box = placement.boxes.get(id);
      if (box === undefined) return [];
      const label = box.row === 0 ? null : this.content.labelOf(id);
      return label === null ? [{ id, box }] : [{ id, box, label }];
    });
    const size = { rows: placement.size.rows, cols: placement.size.cols };
    return { size, panes, lines: borderCells(placement), active: window.active, synchronized: window.synchronized };
  }

  private panesShown(): string[] {
    return [...this.placement.boxes.keys()];
  }

  shows(pane: string): boolean {
    return this.placement.boxes.has(pane);
  }

  rings(pane: string): boolean {
    return panesIn(this.window).includes(pane);
  }

  lend(lent: LendInput, typed: () => void): Loan | null {
    const { arrangement, content, window } = this;
    const { active } = window;
    const link = window.synchronized || this.held !== null ? undefined : arrangement.links.get(active);
    const typedHere = (): void => {
      content.activity.record();
      arrangement.typedIn([active]);
      typed();
    };
    return link?.lend(lent, typedHere) ?? null;
  }

  private arranged(): void {
    const { window } = this;
    if (this.watched === null) this.refocus();
    if (this.watched !== null || this.own !== null) this.area = this.arrangement.sizeOf(window);
    if (this.own !== null) this.layout = this.arrangement.layoutOf(window.id);
    this.placement = this.placed(window);
    this.places = this.placesOf();
    this.epoch++;
    this.hold();
    this.each((listener) => listener.reset());
  }

  /** What the lines above panes say may have changed. Runs a few times a second for a pane that prints all the time. */
  private labelled(): void {
    const isSame = this.places.panes.every(({ id, box, label }) => {
      const now = box.row === 0 ? null : this.content.labelOf(id);
      return label?.title === now?.title && label?.says.join("\n") === now?.says.join("\n");
    });
    if (isSame) return;
    this.places = this.placesOf();
    this.epoch++;
    if (this.held === null) this.each((listener) => listener.changed(false));
  }

  /** Programs that asked are told when they get and lose the keys. */
  private refocus(): void {
    const { active, focused } = this;
    if (active === focused) return;
    this.focused = active;
    const { links } = this.arrangement;
    for (const [pane, told] of [
      [focused, FOCUS_OUT],
      [active, FOCUS_IN],
    ] as const) {
      const link = links.get(pane);
      if (link?.frame?.modes.focus === true) link.type(told);
    }
  }

  private painted(pane: string): void {
    if (!this.placement.boxes.has(pane)) return;
    this.epoch++;
    if (this.held !== null && this.isCurrent) this.settle();
    // The process of the active pane has waited for more output already, and a person may be typing there.
    if (this.held === null) this.each((listener) => listener.changed(pane === this.active));
  }

  /** Its cursor is the window's: what is written there now is what its next picture shows. */
  private echoed(pane: string, bytes: Uint8Array, loan: number | null): void {
    const isShown = pane === this.active && this.held === null;
    this.each((listener) => {
      if ((loan === null || !listener.wrote(loan, bytes)) && isShown) listener.ahead(bytes);
    });
  }

  /** Whether every pane that is shown has painted in its present size. */
  private get isCurrent(): boolean {
    const { links, ended } = this.arrangement;
    return this.panesShown().every((pane) => ended.has(pane) || links.get(pane)?.isCurrent !== false);
  }

  private hold(): void {
    if (this.isCurrent) {
      this.settle();
      return;
    }
    this.held ??= [];
    this.heldTimer ??= setTimeout(() => this.settle(), SETTLE_MS);
  }

  private settle(): void {
    clearTimeout(this.heldTimer ?? undefined);
    this.heldTimer = null;
    const { held } = this;
    this.held = null;
    for (const make of held ?? []) make();
  }

  private each(act: (listener: ShownListener) => void): void {
    for (const listener of this.listeners) act(listener);
  }
}

/** The focus of a viewer that begins with the session's. */
export function ownFocus(arrangement: Arrangement): OwnFocus {
  const { id, active, zoomed } = activeWindow(arrangement.state);
  return { window: windowById(arrangement.state, id).id, pane: active, zoomed };
}
