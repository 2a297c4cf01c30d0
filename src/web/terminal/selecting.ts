/**
 * A selection with the mouse stays in the pane in which it began, wherever the pointer goes: the surroundings of a
 * terminal are not program output. While the pointer is above or below the pane, it scrolls, faster with the distance,
 * and the selection ends at the edge. Inside the pane the browser selects.
 */

/** Distance from the edge at which a row is surely hit, in CSS pixels. */
const INSIDE = 2;
/** Speed at the edge, in CSS pixels a second, and its increase per pixel beyond it: readable at first. */
const SLOWEST = 200;
const FASTER = 8;
/** Longest scrolled time per picture, in ms: the view does not jump after a pause of the page. */
const LONGEST_STEP_MS = 50;

/** @param scroller the box whose rows are selected together */
export function keepSelectionIn(scroller: HTMLElement): void {
  scroller.addEventListener("mousedown", (event) => {
    if (event.button === 0) new SelectionDrag(scroller, event);
  });
}

/** From the press of the button to its release. */
class SelectionDrag {
  private readonly endAbort = new AbortController();
  private x: number;
  private y: number;
  /** Time of the last scroll; null: the pointer is not beyond the edge. */
  private scrolledAt: number | null = null;

  constructor(
    private readonly scroller: HTMLElement,
    { clientX, clientY }: MouseEvent,
  ) {
    this.x = clientX;
    this.y = clientY;
    document.documentElement.classList.add("selecting");
    scroller.classList.add("selected");
    const { signal } = this.endAbort;
    const options = { signal, capture: true };
    addEventListener("mousemove", (event) => this.pointerMoved(event), options);
    for (const type of ["mouseup", "dragend"]) addEventListener(type, () => this.end(), options);
    // Elements also dispatch blur; only the window's counts.
    addEventListener("blur", ({ target }) => target === window && this.end(), { signal });
    document.addEventListener("selectionchange", () => this.keepInside(), { signal });
  }

  private pointerMoved({ clientX, clientY }: MouseEvent): void {
    this.x = clientX;
    this.y = clientY;
    if (this.beyond === 0 || this.scrolledAt !== null) return;
    this.scrolledAt = performance.now();
    requestAnimationFrame((now) => this.scroll(now));
  }

  /** Distance of the pointer above (negative) or below the box, in CSS pixels. */
  private get beyond(): number {
    const { top, bottom } = this.scroller.getBoundingClientRect();
    return Math.min(this.y - top, 0) + Math.max(this.y - bottom, 0);
  }

  private scroll(now: number): void {
    const { beyond } = this;
    if (beyond === 0 || this.scrolledAt === null || this.endAbort.signal.aborted) {
      this.scrolledAt = null;
      return;
    }
    const seconds = Math.min(Math.max(now - this.scrolledAt, 0), LONGEST_STEP_MS) / 1_000;
    this.scrolledAt = now;
    this.scroller.scrollTop += (beyond * FASTER + Math.sign(beyond) * SLOWEST) * seconds;
    this.keepInside();
    requestAnimationFrame((next) => this.scroll(next));
  }

  /** When the pointer has left the box, the selection ends at the nearest visible text. */
  private keepInside(): void {
    const { scroller } = this;
    const selection = getSelection();
    if (selection === null || !scroller.contains(selection.anchorNode)) return;
    if (this.beyond === 0 && scroller.contains(selection.focusNode)) return;
    const { left, right, top, bottom } = scroller.getBoundingClientRect();
    const place = placeAt(clamp(this.x, left, right), clamp(this.y, top, bottom));
    if (place === null || !scroller.contains(place.node)) return;
    if (place.node !== selection.focusNode || place.offset !== selection.focusOffset)
      selection.extend(place.node, place.offset);
  }

  private end(): void {
    this.keepInside();
    this.endAbort.abort();
    document.documentElement.classList.remove("selecting");
    this.scroller.classList.remove("selected");
  }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least + INSIDE), most - INSIDE);
}

/** A position in the text, for which browsers have two methods. */
function placeAt(x: number, y: number): { readonly node: Node; readonly offset: number } | null {
  if ("caretPositionFromPoint" in document) {
    const position = document.caretPositionFromPoint(x, y);
    return position === null ? null : { node: position.offsetNode, offset: position.offset };
  }
  const range = (document as Document).caretRangeFromPoint(x, y);
  return range === null ? null : { node: range.startContainer, offset: range.startOffset };
}
