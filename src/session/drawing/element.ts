/**
 * An overlay or panel as the store keeps it, and as clients get it.
 *
 * Only the store changes what is kept here. What must stay true: what is given out is plain data of the contract's
 * form, with unset keys absent, and does not change afterwards.
 */
import type { ElementScreenMode, ElementSpan, Overlay, Panel, RegionWrite } from "../../protocol/drawing.ts";

/** Spans and writes are replaced, never changed in place: what was handed out stays as it was. */
export interface Stored {
  readonly id: string;
  /** Order of creation, which decides among equal z. */
  readonly order: number;
  /** The screen on which it is shown. */
  mode: ElementScreenMode;
  /** Made while an agent had entered alt mode. */
  readonly ofAgentAlt: boolean;
  focusable: boolean;
  z: number;
  background: Overlay["background"] | undefined;
  spans: readonly ElementSpan[];
  writes: readonly RegionWrite[];
  /** UTF-8 bytes of all texts. */
  bytes: number;
  cancelExpiry: (() => void) | undefined;
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

/** An overlay as it is given to clients (contract §7.1). */
export function showOverlay(overlay: StoredOverlay): Overlay {
  const { id, x, y, z, width, height } = overlay;
  return { id, x, y, z, width, height, ...shown(overlay) };
}

/** A panel as it is given to clients. */
export function showPanel(panel: StoredPanel): Panel {
  const { id, position, height, z, visible } = panel;
  return { id, position, height, z, visible, ...shown(panel) };
}

function shown({ background, spans, writes, focusable, mode }: Stored) {
  return {
    ...(background === undefined ? {} : { background }),
    spans,
    ...(writes.length === 0 ? {} : { region_writes: writes }),
    ...(focusable ? { focusable } : {}),
    ...(mode === "normal" ? {} : { screen_mode: mode }),
  } as const;
}
