/**
 * A session's window for attached terminals: a single pane's program unchanged, or several panes composed from
 * their pictures. All viewers share one view of the session's active window and pane; an independent one has its
 * own.
 *
 * After a change of positions the picture is held until the displayed panes have rendered in their new sizes, for
 * at most MAX_HOLD_MS, so that no partial change is visible.
 */

import type { Layout } from "../../compositor/panel-layout.ts";
import { WindowCanvas, type WindowPlacement } from "../../compositor/window.ts";
import type { OuterEffect, TerminalColors } from "../../protocol/attach.ts";
import type { CopyModeInput } from "../../protocol/copy-mode.ts";
import { focusReport } from "../../protocol/focus-report.ts";
import { type FrameModes, type FramePlaces, initialFrameModes } from "../../protocol/frame.ts";
import type { Size } from "../../protocol/size.ts";
import type { Placement } from "../../session/layout/cells.ts";
import { isCovered } from "../../session/layout/floats.ts";
import type { TypedInput } from "../../session/types.ts";
import {
  activeWindow,
  floatOf,
  openPopup,
  panesIn,
  placementOf,
  showsOthers,
  type WindowEntry,
  windowWith,
} from "../../session/windows/state.ts";
import type { TerminalModel } from "../../terminal/model.ts";
import type { DisplayedContent, DisplayedProgram, DisplayListener } from "../../viewer/terminal/displayed-content.ts";
import type { MouseTargets } from "../../viewer/terminal/pointer.ts";
import type { Arrangement } from "./arrangement.ts";
import type { LocalPane } from "./local-pane.ts";
import { mouseTargetsIn, type OwnFocus, typedInputOf } from "./window-input.ts";
import { framePlacesOf, hasSameTexts, type PaneTexts, windowPlacementOf } from "./window-places.ts";

/** Longest wait for panes to render after a change of positions, in ms: less than a visible delay. */
const MAX_HOLD_MS = 50;
/** Encoding of mouse reports that covers every cell and names the released button. */
const SGR_MOUSE_ENCODING = 1006;

export class WindowView implements DisplayedContent {
  epoch = 1;
  readonly isOfOtherSession = (pane?: string): boolean => showsOthers(this.arrangement.state, this.window, pane);
  private readonly listeners = new Set<DisplayListener>();
  private readonly canvases = { utf8: new WindowCanvas(false), ascii: new WindowCanvas(true) };
  readonly mouseTargets: MouseTargets;
  placement: Placement;
  private windowPlacement: WindowPlacement;
  layout: Layout | null = null;
  private pictureWaiters: (() => void)[] | null = null;
  private holdTimer: Timer | null = null;
  private lastActive: string;
  /** Whether one program was the whole picture at the last check. */
  private wasSingle = false;
  /** Whether the active pane has just printed. */
  private isPrinting = false;
  private readonly unsubscribers: (() => void)[];

  /**
   * @param ownFocus null: the session's active window and pane
   * @param onlyWindow id of the only window, which an observer sees at its own size
   */
  constructor(
    readonly arrangement: Arrangement,
    private area: Size,
    readonly content: { readonly activity: { record(): void } } & PaneTexts,
    readonly ownFocus: OwnFocus | null = null,
    private readonly onlyWindow: number | null = null,
  ) {
    const { events } = arrangement;
    this.mouseTargets = mouseTargetsIn(this);
    this.placement = placementOf(this.window, this.area);
    this.windowPlacement = this.computePlacement();
    this.lastActive = this.active;
    this.unsubscribers = [
      events.on("rendered", (pane) => this.rendered(pane)),
      events.on("printed", ({ pane, bytes }) => this.printed(pane, bytes)),
      events.on("echoed", ({ pane, bytes }) => this.echoed(pane, bytes)),
      events.on("effect", ({ pane, effect }) => this.forwardEffect(pane, effect)),
      events.on(
        "resizing",
        (pane) => this.single?.id === pane && this.notifyListeners((listener) => listener.resizing()),
      ),
      events.on("reset", (pane) => this.single?.id === pane && this.notifyListeners((listener) => listener.reset())),
      events.on("positionsChanged", () => this.positionsChanged()),
      events.on("settled", () => this.updateTexts()),
      events.on("bellRang", (pane) => this.rings(pane) && this.notifyListeners((listener) => listener.bell())),
      events.on("copied", ({ pane: _, ...copied }) => this.notifyListeners((listener) => listener.clipboard(copied))),
    ];
  }

  dispose(): void {
    for (const unsubscribe of this.unsubscribers) unsubscribe();
    this.releasePicture();
  }

  get rows(): number {
    return this.area.rows;
  }

  get cols(): number {
    return this.area.cols;
  }

  /** The pane that fills the picture, and runs here; null: there are several, or something is drawn over it. */
  get single(): LocalPane | null {
    const [only, ...more] = this.placement.boxes.keys();
    if (only === undefined || more.length > 0 || this.content.endOf(only) !== null) return null;
    const local = this.arrangement.localOf(only);
    return local?.isPlain === true ? local : null;
  }

  get program(): DisplayedProgram | null {
    return this.single?.pane.terminal ?? null;
  }

  get endsWithPrompt(): boolean {
    return this.arrangement.localOf(this.active)?.pane.commands.log.endsWithPrompt === true;
  }

  get pictures() {
    return this.displayedPanes().flatMap((pane) => this.arrangement.placedPanes.get(pane)?.pictures ?? []);
  }

  get fullWidthPrograms(): readonly DisplayedProgram[] {
    const { program } = this;
    if (program !== null) return [program];
    return [...this.placement.boxes].flatMap(([pane, { cols }]) => {
      if (isCovered(this.placement, pane)) return [];
      const local = cols === this.cols ? this.arrangement.localOf(pane) : null;
      return local?.isPlain === true ? [local.pane.terminal] : [];
    });
  }

  get alternate(): boolean {
    return this.single?.pane.terminal.alternate ?? false;
  }

  get isSynchronized(): boolean {
    return this.single?.isSynchronized ?? false;
  }

  /** The displayed window. */
  get window(): WindowEntry {
    const { state } = this.arrangement;
    const { ownFocus } = this;
    if (ownFocus === null) return state.windows.find(({ id }) => id === this.onlyWindow) ?? activeWindow(state);
    const window = state.windows.find(({ id }) => id === ownFocus.window) ?? activeWindow(state);
    const isDisplayed = panesIn(window).includes(ownFocus.pane) && floatOf(window, ownFocus.pane)?.hidden !== true;
    if (window.id !== ownFocus.window || !isDisplayed) {
      ownFocus.window = window.id;
      ownFocus.pane = window.active;
      ownFocus.zoomed = false;
    }
    const active = openPopup(window) ?? ownFocus.pane;
    return {
      ...window,
      active,
      zoomed: ownFocus.zoomed,
      recent: [ownFocus.pane, ...window.recent.filter((pane) => pane !== ownFocus.pane)],
    };
  }

  get isIndependent(): boolean {
    return this.ownFocus !== null;
  }

  get hasSeparateWindow(): boolean {
    return this.ownFocus !== null && this.window.id !== activeWindow(this.arrangement.state).id;
  }

  reportOuterSize(outer: Size): void {
    if (this.ownFocus !== null) this.arrangement.watch(this, this.window.id, outer);
  }

  /** Gives a pane this view's own focus, in whichever window it is. */
  focus(pane: string): void {
    const { arrangement, ownFocus } = this;
    if (ownFocus === null) return;
    ownFocus.window = windowWith(arrangement.state, pane).id;
    ownFocus.pane = pane;
    arrangement.watch(this, ownFocus.window);
  }

  /** The pane that receives keys. */
  get active(): string {
    return this.window.active;
  }

  get title(): string {
    const { panes } = this.arrangement.state;
    return panes[this.active]?.title ?? this.arrangement.placedPanes.get(this.active)?.title ?? "";
  }

  get modes(): FrameModes {
    const active = this.arrangement.placedPanes.get(this.active)?.modes ?? initialFrameModes;
    if (this.single !== null) return active;
    return { ...active, alternate: false, ...this.mouse };
  }

  private get mouse(): Pick<FrameModes, "mouse" | "mouseEncoding"> {
    const { placedPanes } = this.arrangement;
    const requestedMouse = this.displayedPanes().map((pane) => placedPanes.get(pane)?.modes?.mouse ?? 0);
    const [mouse = 0] = requestedMouse.sort((a, b) => b - a);
    return { mouse, mouseEncoding: mouse === 0 ? 0 : SGR_MOUSE_ENCODING };
  }

  get hasSeveralPanes(): boolean {
    return this.placement.boxes.size > 1;
  }

  grid(ascii = false) {
    const { single } = this;
    if (single !== null) return single.pane.terminal.grid();
    const canvas = ascii ? this.canvases.ascii : this.canvases.utf8;
    canvas.setPlacement(this.windowPlacement);
    return canvas.grid((pane) => this.arrangement.placedPanes.get(pane)?.frame ?? null);
  }

  framePlaces(): FramePlaces {
    return framePlacesOf(this);
  }

  whenAtRest<T>(make: () => T): Promise<T> {
    const { pictureWaiters } = this;
    if (pictureWaiters === null) return this.parsing?.whenAtRest(make) ?? Promise.resolve(make());
    return new Promise((resolve, reject) => {
      pictureWaiters.push(() => {
        try {
          resolve(make());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /**
   * The terminal of a displayed pane in the middle of a chunk; if there are several panes, the others show their last
   * picture.
   */
  private get parsing(): TerminalModel | null {
    const { single } = this;
    if (single !== null) return single.pane.terminal;
    for (const pane of this.placement.boxes.keys()) {
      const terminal = this.arrangement.localOf(pane)?.pane.terminal;
      if (terminal?.intake.isParsing === true) return terminal;
    }
    return null;
  }

  listen(listener: DisplayListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  learnColors(colors: TerminalColors): void {
    this.arrangement.placedPanes.learnColors(colors);
  }

  readonly input: TypedInput = typedInputOf(this);

  get copyModeSource(): DisplayedContent["copyModeSource"] {
    return this.single?.content.copyModeSource ?? this.openCopyMode;
  }

  private readonly openCopyMode = (input: CopyModeInput, pane = this.active): Promise<void> =>
    this.arrangement.requirePane(pane).openCopyMode(input);

  /** The area between the panels has changed. */
  resize(area: Size): void {
    if (this.hasSeparateWindow) return;
    if (area.rows === this.area.rows && area.cols === this.area.cols) return;
    this.area = area;
    this.notifyListeners((listener) => listener.resizing());
  }

  private computePlacement(): WindowPlacement {
    return windowPlacementOf(this);
  }

  private displayedPanes(): string[] {
    return [...this.placement.boxes.keys()];
  }

  shows(pane: string): boolean {
    return this.placement.boxes.has(pane);
  }

  rings(pane: string): boolean {
    return panesIn(this.window).includes(pane);
  }

  private positionsChanged(): void {
    const { window } = this;
    if (this.onlyWindow === null) this.reportFocus();
    if (this.onlyWindow !== null || this.ownFocus !== null) this.area = this.arrangement.sizeOf(window);
    if (this.ownFocus !== null) this.layout = this.arrangement.layoutOf(window.id);
    this.placement = placementOf(window, this.area);
    // Programs that were just resized are checked after their pictures.
    this.windowPlacement = windowPlacementOf(this, true);
    this.wasSingle = this.single !== null;
    this.epoch++;
    this.holdPicture();
    this.notifyListeners((listener) => listener.reset());
  }

  /** The lines above panes may have new texts. Runs a few times a second for a constantly printing pane. */
  private updateTexts(): void {
    const isSame = this.windowPlacement.panes.every((pane) => hasSameTexts(this, pane));
    if (isSame) return;
    this.windowPlacement = this.computePlacement();
    this.epoch++;
    if (this.pictureWaiters === null) this.notifyListeners((listener) => listener.changed(false));
  }

  /** Programs that requested focus reports are notified when they gain or lose the keys. */
  private reportFocus(): void {
    const { active, lastActive } = this;
    if (active === lastActive) return;
    this.lastActive = active;
    const { placedPanes } = this.arrangement;
    for (const pane of [lastActive, active]) {
      const placedPane = placedPanes.get(pane);
      if (placedPane?.modes?.focus === true) placedPane.type(focusReport(pane === active));
    }
  }

  private rendered(pane: string): void {
    if (!this.placement.boxes.has(pane)) return;
    const isReported = pane === this.active && this.isPrinting;
    this.isPrinting = false;
    // The active pane's output was reported with its bytes, and is in the picture that they produced.
    if (!isReported) this.epoch++;
    if (this.pictureWaiters !== null && this.isCurrent) this.releasePicture();
    if (this.wasSingle !== (this.single !== null)) {
      this.wasSingle = !this.wasSingle;
      this.notifyListeners((listener) => listener.reset());
    }
    if (this.pictureWaiters === null && !isReported) this.notifyListeners((listener) => listener.changed(false));
  }

  /** Its bytes arrive just before its new picture. */
  private printed(pane: string, bytes: Uint8Array): void {
    if (pane !== this.active || !this.placement.boxes.has(pane)) return;
    this.epoch++;
    this.isPrinting = true;
    this.notifyListeners((listener) => listener.chunk(bytes));
  }

  /**
   * Notifications concern the person, from any pane; progress belongs to a window, whose terminal shows it until its
   * end; everything else belongs to the pane in which the person works.
   */
  private forwardEffect(pane: string, effect: OuterEffect): void {
    const isShown = effect.change === "progress" ? this.rings(pane) : pane === this.active;
    if (!(isShown || effect.isNotification)) return;
    const program = this.arrangement.localOf(pane)?.pane.terminal ?? null;
    this.notifyListeners((listener) => listener.effect?.(effect, program));
  }

  /** Its cursor is the window's: the echo written there is in its next picture. */
  private echoed(pane: string, bytes: Uint8Array): void {
    // Anything that covers the pane may cover the cells of the echo.
    if (pane !== this.active || this.pictureWaiters !== null || isCovered(this.placement, pane)) return;
    this.notifyListeners((listener) => listener.ahead(bytes));
  }

  /** Whether every displayed pane has rendered in its current size. */
  private get isCurrent(): boolean {
    const { placedPanes, endedPanes } = this.arrangement;
    return this.displayedPanes().every((pane) => endedPanes.has(pane) || placedPanes.get(pane)?.isCurrent !== false);
  }

  private holdPicture(): void {
    if (this.isCurrent) {
      this.releasePicture();
      return;
    }
    this.pictureWaiters ??= [];
    this.holdTimer ??= setTimeout(() => this.releasePicture(), MAX_HOLD_MS);
  }

  private releasePicture(): void {
    clearTimeout(this.holdTimer ?? undefined);
    this.holdTimer = null;
    const { pictureWaiters } = this;
    this.pictureWaiters = null;
    for (const make of pictureWaiters ?? []) make();
  }

  private notifyListeners(act: (listener: DisplayListener) => void): void {
    for (const listener of this.listeners) act(listener);
  }
}
