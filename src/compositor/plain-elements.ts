/**
 * Elements without colours, for a terminal with NO_COLOR (https://no-color.org): text and attributes stay. Program
 * output remains unchanged. Pure.
 */
import type { ElementText, Overlay, Panel } from "../protocol/drawing.ts";

export function plainOverlay({ background: _, ...overlay }: Overlay): Overlay {
  return { ...overlay, ...plainTexts(overlay) };
}

export function plainPanel({ background: _, ...panel }: Panel): Panel {
  return { ...panel, ...plainTexts(panel) };
}

function plainTexts({ spans, region_writes }: Pick<Overlay, "spans" | "region_writes">) {
  const plainSpans = spans.map(plainText);
  return region_writes === undefined
    ? { spans: plainSpans }
    : { spans: plainSpans, region_writes: region_writes.map(plainText) };
}

function plainText<T extends ElementText>({ fg: _fg, bg: _bg, ...text }: T) {
  return text;
}
