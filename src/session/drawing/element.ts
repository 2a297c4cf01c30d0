/**
 * An overlay or panel as stored and as clients receive it; the store's events and dependencies.
 *
 * Only the store changes these. Invariant: returned values are plain data in the wire's form (docs/protocol.md,
 * Drawing), with unset keys absent, and do not change afterwards.
 */
import { defined } from "../../protocol/defined.ts";
import type { ElementScreenMode, ElementSpan, Overlay, Panel, RegionWrite } from "../../protocol/drawing.ts";
import type { ElementLimits } from "../../protocol/drawing-limits.ts";

export type ElementKind = "overlay" | "panel";

/** `layout`: the panels may need a new layout: one was added, removed or moved, or the screen mode changed. */
export type ElementChange = "layout" | "content";

/** Dependencies of the store on its environment. */
export interface ElementStoreOptions {
  readonly newId: () => string;
  /** Runs `expire` once after `ms`, unless the returned function is called first. */
  readonly schedule: (delayMs: number, expire: () => void) => () => void;
  readonly onChange: (change: ElementChange) => void;
  readonly limits: ElementLimits;
}

/** Spans and writes are replaced, never changed in place: returned values stay unchanged. */
export interface Stored {
  readonly id: string;
  /** Order of creation, which decides between equal z. */
  readonly order: number;
  /** The screen on which the element is shown. */
  mode: ElementScreenMode;
  /** Created while an agent was in alt mode. */
  readonly ofAgentAlt: boolean;
  focusable: boolean;
  /** Whether it is stored in the session's checkpoint. */
  persist: boolean;
  z: number;
  background: Overlay["background"] | undefined;
  spans: readonly ElementSpan[];
  writes: readonly RegionWrite[];
  /** UTF-8 bytes of all texts. */
  bytes: number;
  cancelExpiry: (() => void) | undefined;
  /** Time of its removal, in ms since 1970. */
  expiresAt: number | undefined;
}
export interface StoredOverlay extends Stored {
  readonly kind: "overlay";
  x: number;
  y: number;
  width: number;
  height: number;
}
export interface StoredPanel extends Stored {
  readonly kind: "panel";
  position: Panel["position"];
  height: number;
  visible: boolean;
}

/**
 * The elements of a session that its checkpoint contains (`persist`). Their creators are gone after a restore, so focus
 * and an agent's alt mode are not saved.
 */
export interface PersistentElements {
  readonly elements: readonly (Omit<StoredOverlay, "cancelExpiry"> | Omit<StoredPanel, "cancelExpiry">)[];
  readonly nextZ: { readonly overlay: number; readonly panel: number };
  /** Number of elements that were created in the session. */
  readonly created: number;
}

export const noElements: PersistentElements = { elements: [], nextZ: { overlay: 0, panel: 0 }, created: 0 };

/** An overlay as clients receive it (docs/protocol.md, Drawing). */
export function showOverlay(overlay: StoredOverlay): Overlay {
  const { id, x, y, z, width, height } = overlay;
  return { id, x, y, z, width, height, ...describeContent(overlay) };
}

/** A panel as clients receive it. */
export function showPanel(panel: StoredPanel): Panel {
  const { id, position, height, z, visible } = panel;
  return { id, position, height, z, visible, ...describeContent(panel) };
}

function describeContent({ background, spans, writes, focusable, mode, persist }: Stored) {
  return {
    ...defined({ background }),
    spans,
    ...(writes.length === 0 ? {} : { region_writes: writes }),
    ...(focusable ? { focusable } : {}),
    ...(mode === "normal" ? {} : { screen_mode: mode }),
    ...(persist ? { persist } : {}),
  } as const;
}
