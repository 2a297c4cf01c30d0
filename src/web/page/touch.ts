/**
 * Touch: two fingers on a terminal change the font's size; one finger scrolls natively. The page keeps clear of the
 * phone's keyboard, so that the prompt stays above it.
 */
import { change, FONT_SIZES, settings } from "./settings.ts";

export function followKeyboard(): void {
  const viewport = globalThis.visualViewport;
  if (viewport == null) return;
  const fit = (): void => {
    const { style } = document.documentElement;
    // Two fingers beside a terminal zoom the whole page; the keyboard did not change.
    const isZoomed = viewport.scale > 1.01;
    style.setProperty("--visible-height", isZoomed ? "100%" : `${viewport.height}px`);
    style.setProperty("--visible-top", isZoomed ? "0px" : `${viewport.offsetTop}px`);
  };
  viewport.addEventListener("resize", fit);
  viewport.addEventListener("scroll", fit);
  fit();
}

export function pinchFont(root: HTMLElement): void {
  let began: { readonly distance: number; readonly size: number } | null = null;
  const distance = ([a, b]: readonly Touch[]): number =>
    a === undefined || b === undefined ? 0 : Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  root.addEventListener(
    "touchstart",
    ({ touches }) => {
      began = touches.length === 2 ? { distance: distance([...touches]), size: settings.peek().fontSize } : null;
    },
    { passive: true },
  );
  root.addEventListener(
    "touchmove",
    (event) => {
      if (began === null || event.touches.length !== 2) return;
      event.preventDefault();
      const wanted = Math.round(began.size * (distance([...event.touches]) / began.distance));
      const fontSize = Math.min(FONT_SIZES.greatest, Math.max(FONT_SIZES.least, wanted));
      if (fontSize !== settings.peek().fontSize) change({ fontSize });
    },
    { passive: false },
  );
}
