/**
 * The overlays and panels of one session, their focus, and the screen mode that scopes them (docs/protocol.md, Drawing
 * and Screen mode).
 *
 * Owns the elements and their timers; only this class changes them, and each change is complete or not made: every
 * check comes before the first effect. Invariants: a focused id always names a focusable element that exists; z
 * counters never decrease; counts, and the bytes of all texts, stay within the limits; every real change is reported
 * once, together with whether it changed the panels' layout. Nothing is reported after `dispose`.
 */

import { type Layout, layoutPanels } from "../../compositor/panel-layout.ts";
import type {
  CreateOverlay,
  CreatePanel,
  ElementScreenMode,
  ElementSpan,
  Overlay,
  Panel,
  PatchOverlay,
  PatchPanel,
  RegionWrite,
  ReplacePanel,
  ScreenMode,
} from "../../protocol/drawing.ts";
import type { ElementLimits } from "../../protocol/drawing-limits.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Size } from "../../protocol/size.ts";
import {
  type ElementChange,
  type ElementKind,
  type ElementStoreOptions,
  noElements,
  type PersistentElements,
  type Stored,
  type StoredOverlay,
  type StoredPanel,
  showOverlay,
  showPanel,
} from "./element.ts";
import { checkPieces, checkTotal, mergeWrites, textBytes, updateSpansById } from "./element-text.ts";

const I32_MAX = 2_147_483_647;

export class ElementStore {
  readonly #options: ElementStoreOptions;
  readonly #limits: ElementLimits;
  readonly #overlays = new Map<string, StoredOverlay>();
  readonly #panels = new Map<string, StoredPanel>();
  readonly #nextZ = { overlay: 0, panel: 0 };
  #createdCount = 0;
  #bytes = 0;
  #focusedId: string | null = null;
  #agentAlt = false;
  #childAlternate = false;
  #isDisposed = false;

  constructor(options: ElementStoreOptions) {
    this.#options = options;
    this.#limits = options.limits;
  }

  // Screen mode

  get screenMode(): ScreenMode {
    return this.#agentAlt || this.#childAlternate ? "alt" : "normal";
  }

  /** The program entered or left its alternate buffer. Deletes nothing. */
  setChildAlternate(active: boolean): void {
    this.#switchMode(() => {
      this.#childAlternate = active;
    });
  }

  enterAlt(): void {
    if (this.#agentAlt) throw new WshError("already_in_alt_screen", "the session is already in alt screen mode");
    this.#switchMode(() => {
      this.#agentAlt = true;
    });
  }

  /** Leaves alt mode and removes its elements, except those shown on either screen. */
  exitAlt(): void {
    if (!this.#agentAlt) throw new WshError("not_in_alt_screen", "the session is not in alt screen mode");
    this.#switchMode(() => {
      this.#agentAlt = false;
      for (const element of this.#all()) if (element.ofAgentAlt && element.mode === "alt") this.#drop(element);
    });
  }

  #switchMode(change: () => void): void {
    const before = { mode: this.screenMode, focused: this.#focusedId, elements: this.#all().length };
    change();
    const isSame = this.screenMode === before.mode && this.#focusedId === before.focused;
    if (!isSame || this.#all().length !== before.elements) this.#notify("layout");
  }

  // Overlays

  createOverlay(input: CreateOverlay): Overlay {
    const base = this.#prepare("overlay", this.#overlays.size, input.spans, input.screen_mode ?? this.screenMode);
    const { x, y, width, height } = input;
    const overlay: StoredOverlay = {
      ...base,
      ...this.#commonFields("overlay", input),
      kind: "overlay",
      x,
      y,
      width,
      height,
    };
    this.#overlays.set(overlay.id, overlay);
    this.#add(overlay, input.ttl_ms);
    return showOverlay(overlay);
  }

  /** Whether the current screen mode has any overlay. Runs per chunk. */
  get hasOverlays(): boolean {
    for (const overlay of this.#overlays.values()) if (this.#isShown(overlay)) return true;
    return false;
  }

  /** Overlays of the current screen mode in drawing order: z ascending. */
  overlays(): Overlay[] {
    return this.#current(this.#overlays)
      .sort((a, b) => a.z - b.z || a.order - b.order)
      .map(showOverlay);
  }

  overlay(id: string): Overlay {
    return showOverlay(this.#findOverlay(id));
  }

  patchOverlay(id: string, patch: PatchOverlay): void {
    const overlay = this.#findOverlay(id);
    const spans = patch.spans ?? overlay.spans;
    this.#setText(overlay, spans, overlay.writes);
    overlay.x = patch.x ?? overlay.x;
    overlay.y = patch.y ?? overlay.y;
    overlay.width = patch.width ?? overlay.width;
    overlay.height = patch.height ?? overlay.height;
    this.#patchCommonFields(overlay, patch);
    this.#notify("content");
  }

  createPanel(input: CreatePanel): Panel {
    // A panel keeps its place when a full-screen program starts; one of an agent's own set is removed with the set.
    const mode = input.screen_mode ?? (this.#agentAlt ? "alt" : "both");
    const base = this.#prepare("panel", this.#panels.size, input.spans ?? [], mode);
    const { position, height } = input;
    const drawn = { ...base, ...this.#commonFields("panel", input) };
    const panel: StoredPanel = { ...drawn, kind: "panel", position, height, visible: false };
    this.#panels.set(panel.id, panel);
    this.#add(panel, input.ttl_ms);
    return showPanel(panel);
  }

  /** Panels of the current screen mode: top first, then z descending. */
  panels(): Panel[] {
    const rank = (panel: StoredPanel) => (panel.position === "top" ? 0 : 1);
    return this.#current(this.#panels)
      .sort((a, b) => rank(a) - rank(b) || b.z - a.z || a.order - b.order)
      .map(showPanel);
  }

  panel(id: string): Panel {
    return showPanel(this.#findPanel(id));
  }

  replacePanel(id: string, { position, height, z, spans }: ReplacePanel): void {
    this.patchPanel(id, { position, height, z, spans });
  }

  patchPanel(id: string, patch: PatchPanel): void {
    const panel = this.#findPanel(id);
    const { position, height, z, mode } = panel;
    this.#setText(panel, patch.spans ?? panel.spans, panel.writes);
    panel.position = patch.position ?? panel.position;
    panel.height = patch.height ?? panel.height;
    this.#patchCommonFields(panel, patch);
    const isMoved = panel.position !== position || panel.height !== height || panel.z !== z;
    this.#notify(isMoved || panel.mode !== mode ? "layout" : "content");
  }

  /** Lays out the current mode's panels on the outer screen and records which are visible. */
  layout(outer: Size): Layout {
    const layout = layoutPanels(
      this.#current(this.#panels).sort((a, b) => a.order - b.order),
      outer,
    );
    for (const { id, visible } of layout.panels) {
      const panel = this.#panels.get(id);
      if (panel !== undefined) panel.visible = visible;
    }
    return layout;
  }

  /** Replaces all spans (PUT of an overlay). */
  replaceSpans(kind: ElementKind, id: string, spans: readonly ElementSpan[]): void {
    const element = this.#find(kind, id);
    this.#setText(element, spans, element.writes);
    this.#notify("content");
  }

  /** Replaces the text and style of every stored span whose id was sent. Never adds a span. */
  updateSpans(kind: ElementKind, id: string, spans: readonly ElementSpan[]): void {
    this.batch(kind, id, { spans });
  }

  /** Writes at positions, each replacing an earlier write at the same row and column; an empty list clears all. */
  write(kind: ElementKind, id: string, writes: readonly RegionWrite[]): void {
    this.batch(kind, id, { writes });
  }

  /** Updates spans, then writes, as one change. */
  batch(
    kind: ElementKind,
    id: string,
    { spans, writes }: { readonly spans?: readonly ElementSpan[]; readonly writes?: readonly RegionWrite[] },
  ): void {
    const element = this.#find(kind, id);
    if (spans !== undefined) checkPieces("update", spans, "spans", this.#limits);
    if (writes !== undefined) checkPieces("update", writes, "writes", this.#limits);
    if (spans === undefined && writes === undefined) return;
    const newSpans = spans === undefined ? element.spans : updateSpansById(element.spans, spans);
    this.#setText(element, newSpans, writes === undefined ? element.writes : mergeWrites(element.writes, writes));
    this.#notify("content");
  }

  delete(kind: ElementKind, id: string): void {
    const element = this.#find(kind, id);
    this.#remove([element]);
  }

  /** Removes all elements of a kind in both modes, and clears focus even when the other kind had it. */
  clear(kind: ElementKind): void {
    const elements = this.#all().filter((element) => element.kind === kind);
    if (elements.length === 0 && this.#focusedId === null) return;
    this.#focusedId = null;
    for (const element of elements) this.#drop(element);
    this.#notify(kind === "panel" && elements.length > 0 ? "layout" : "content");
  }

  get focused(): string | null {
    return this.#focusedId;
  }

  focus(id: string): void {
    const element = this.#overlays.get(id) ?? this.#panels.get(id);
    if (element === undefined) {
      throw new WshError("invalid_request", `no overlay or panel with id ${JSON.stringify(id)}`, {
        hint: "List the overlays and panels to see which exist.",
      });
    }
    if (!element.focusable) throw new WshError("not_focusable", `${element.kind} ${id} is not focusable`);
    this.#setFocus(id);
  }

  /** Does nothing when nothing is focused. */
  unfocus(): void {
    this.#setFocus(null);
  }

  /** Ends every timer. The store must not be used afterwards. */
  dispose(): void {
    this.#isDisposed = true;
    for (const element of this.#all()) element.cancelExpiry?.();
    this.#overlays.clear();
    this.#panels.clear();
  }

  /** Whether a checkpoint contains elements. Runs per change of the drawing. */
  get hasPersistent(): boolean {
    return this.#all().some(({ persist }) => persist);
  }

  /** The elements for a checkpoint, as a value. */
  get persistent(): PersistentElements {
    if (!this.hasPersistent) return noElements;
    const elements = this.#all().flatMap(({ cancelExpiry: _, ...element }) => (element.persist ? [element] : []));
    return { elements, nextZ: { ...this.#nextZ }, created: this.#createdCount };
  }

  /** Adds the elements of a checkpoint to a new session. */
  restore({ elements, nextZ, created }: PersistentElements): void {
    Object.assign(this.#nextZ, nextZ);
    this.#createdCount = created;
    for (const each of elements) {
      const element = { ...each, cancelExpiry: undefined };
      if (element.kind === "overlay") this.#overlays.set(element.id, element);
      else this.#panels.set(element.id, element);
      this.#bytes += element.bytes;
      if (element.expiresAt !== undefined) this.#expireAfter(element, Math.max(0, element.expiresAt - Date.now()));
    }
    this.#notify("layout");
  }

  #isShown({ mode }: Stored): boolean {
    return mode === "both" || mode === this.screenMode;
  }

  #prepare(kind: ElementKind, count: number, spans: readonly ElementSpan[], mode: ElementScreenMode) {
    const most = kind === "overlay" ? this.#limits.overlays : this.#limits.panels;
    if (count >= most) throw new WshError("resource_limit_reached", `the session has ${count} of ${most} ${kind}s`);
    checkPieces("create", spans, "spans", this.#limits);
    const bytes = textBytes(spans, []);
    checkTotal(this.#bytes + bytes);
    return {
      id: this.#options.newId(),
      order: this.#createdCount++,
      mode,
      ofAgentAlt: this.#agentAlt,
      spans,
      writes: [],
      bytes,
      cancelExpiry: undefined,
      expiresAt: undefined,
    };
  }

  #commonFields(kind: ElementKind, input: Pick<CreateOverlay, "z" | "background" | "focusable" | "persist">) {
    const z = input.z ?? this.#nextZ[kind];
    this.#noteZ(kind, z);
    return { z, background: input.background, focusable: input.focusable === true, persist: input.persist === true };
  }

  #noteZ(kind: ElementKind, z: number): void {
    if (z >= this.#nextZ[kind]) this.#nextZ[kind] = Math.min(z + 1, I32_MAX);
  }

  #patchCommonFields(
    element: StoredOverlay | StoredPanel,
    patch: Pick<PatchPanel, "z" | "background" | "focusable" | "ttl_ms" | "screen_mode" | "persist">,
  ): void {
    element.mode = patch.screen_mode ?? element.mode;
    if (patch.z !== undefined) {
      element.z = patch.z;
      this.#noteZ(element.kind, patch.z);
    }
    element.background = patch.background ?? element.background;
    if (patch.ttl_ms !== undefined) this.#expireAfter(element, patch.ttl_ms);
    element.persist = patch.persist ?? element.persist;
    element.focusable = patch.focusable ?? element.focusable;
    if (!element.focusable && this.#focusedId === element.id) this.#focusedId = null;
  }

  #add(element: StoredOverlay | StoredPanel, ttlMs: number | undefined): void {
    this.#bytes += element.bytes;
    if (ttlMs !== undefined) this.#expireAfter(element, ttlMs);
    this.#notify(element.kind === "panel" ? "layout" : "content");
  }

  #expireAfter(element: StoredOverlay | StoredPanel, ttlMs: number): void {
    element.cancelExpiry?.();
    element.expiresAt = Date.now() + ttlMs;
    element.cancelExpiry = this.#options.schedule(ttlMs, () => {
      element.cancelExpiry = undefined;
      if (!this.#isDisposed) this.#remove([element]);
    });
  }

  /** The only place where an element's text changes: checked first, counted after. */
  #setText(element: Stored, spans: readonly ElementSpan[], writes: readonly RegionWrite[]): void {
    if (spans === element.spans && writes === element.writes) return;
    if (spans !== element.spans) checkPieces("update", spans, "spans", this.#limits);
    if (writes !== element.writes) checkPieces("update", writes, "writes", this.#limits);
    const bytes = textBytes(spans, writes);
    checkTotal(this.#bytes - element.bytes + bytes);
    this.#bytes += bytes - element.bytes;
    element.spans = spans;
    element.writes = writes;
    element.bytes = bytes;
  }

  #remove(elements: readonly (StoredOverlay | StoredPanel)[]): void {
    for (const element of elements) this.#drop(element);
    this.#notify(elements.some(({ kind }) => kind === "panel") ? "layout" : "content");
  }

  #drop(element: StoredOverlay | StoredPanel): void {
    element.cancelExpiry?.();
    this.#bytes -= element.bytes;
    this.#overlays.delete(element.id);
    this.#panels.delete(element.id);
    if (this.#focusedId === element.id) this.#focusedId = null;
  }

  #setFocus(id: string | null): void {
    if (this.#focusedId === id) return;
    this.#focusedId = id;
    this.#notify("content");
  }

  #notify(change: ElementChange): void {
    if (!this.#isDisposed) this.#options.onChange(change);
  }

  #all(): (StoredOverlay | StoredPanel)[] {
    return [...this.#overlays.values(), ...this.#panels.values()];
  }

  #current<T extends Stored>(elements: ReadonlyMap<string, T>): T[] {
    return [...elements.values()].filter((element) => this.#isShown(element));
  }

  #find(kind: ElementKind, id: string): StoredOverlay | StoredPanel {
    return kind === "overlay" ? this.#findOverlay(id) : this.#findPanel(id);
  }

  #findOverlay(id: string): StoredOverlay {
    return this.#overlays.get(id) ?? throwNotFound("overlay", id);
  }

  #findPanel(id: string): StoredPanel {
    return this.#panels.get(id) ?? throwNotFound("panel", id);
  }
}

function throwNotFound(kind: ElementKind, id: string): never {
  throw new WshError(`${kind}_not_found`, `no ${kind} with id ${JSON.stringify(id)}`);
}
