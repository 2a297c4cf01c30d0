/**
 * The size of a cell, and which characters fill exactly the cells that the terminal gives them.
 *
 * A cell is a whole number of device pixels, so that neither backgrounds nor drawn lines leave gaps; the difference to
 * the font's own advance is added as letter spacing. A character of a fallback font is measured once and remembered:
 * one that does not fit gets a separate box (row.ts).
 */

export interface CellSize {
  /** CSS pixels, whole in device pixels. */
  readonly width: number;
  readonly height: number;
  /** Added after each character, in CSS pixels. */
  readonly spacing: number;
}

/** Height of a row relative to the font's size: accents of capitals and descenders fit, lists stay dense. */
const LINE_HEIGHT = 1.25;
/** Characters measured together, so that rounding does not matter. */
const SAMPLE = 64;
/** Difference of an advance that is invisible, in CSS pixels. */
const TOLERANCE = 0.02;
/** Maximum remembered characters: more than a person's languages have. */
const MAX_KNOWN = 20_000;

export class CellMeasure {
  size: CellSize = { width: 8, height: 16, spacing: 0 };
  private readonly fitCache = new Map<string, boolean>();
  /** Device pixels per CSS pixel at the measurement. */
  private ratio = 0;
  private readonly canvas = document.createElement("canvas").getContext("2d");
  /** Size of the font, and of one of its characters, in CSS pixels. */
  fontSize = 13;
  advance = 8;

  /**
   * Measures the font of `element`; returns whether the size has changed.
   * @param deviceWidth width of a cell in device pixels; absent: the one nearest to the font's own
   */
  measure(element: HTMLElement, deviceWidth?: number): boolean {
    const probe = document.createElement("span");
    probe.className = "probe";
    probe.textContent = "0".repeat(SAMPLE);
    element.append(probe);
    const style = getComputedStyle(probe);
    this.fontSize = Number.parseFloat(style.fontSize);
    this.advance = probe.getBoundingClientRect().width / SAMPLE;
    probe.remove();
    if (this.canvas !== null) this.canvas.font = `${style.fontSize} ${style.fontFamily}`;
    this.fitCache.clear();
    const ratio = globalThis.devicePixelRatio;
    const width = (deviceWidth ?? Math.max(1, Math.round(this.advance * ratio))) / ratio;
    const height = Math.max(1, Math.ceil(this.fontSize * LINE_HEIGHT * ratio)) / ratio;
    const before = this.size;
    const isOther = this.ratio !== ratio;
    this.ratio = ratio;
    this.size = { width, height, spacing: width - this.advance };
    return isOther || before.width !== width || before.height !== height || before.spacing !== this.size.spacing;
  }

  /**
   * Whether the character may be part of a run of text: one cell wide, and drawn as wide as the font's other
   * characters.
   */
  fitsCells(text: string): boolean {
    if (text.length === 1 && text >= " " && text <= "~") return true;
    const known = this.fitCache.get(text);
    if (known !== undefined) return known;
    if (this.fitCache.size >= MAX_KNOWN) this.fitCache.clear();
    const isPlain = !/[\p{M}\p{Extended_Pictographic}\p{Cf}]/u.test(text) && !isRightToLeft(text);
    const measured = this.canvas?.measureText(text).width ?? 0;
    const fits = isPlain && Math.abs(measured - this.advance) < TOLERANCE;
    this.fitCache.set(text, fits);
    return fits;
  }
}

/** Calls back when the number of device pixels per CSS pixel changes: another zoom of the page, another display. */
export function onDensity(changed: () => void): void {
  let ratio = 0;
  const checkRatio = (): void => {
    if (devicePixelRatio === ratio) return;
    const isFirst = ratio === 0;
    ratio = devicePixelRatio;
    // Such a query fires once, when its density is left. A zoom also gives the page another size.
    matchMedia(`(resolution: ${ratio}dppx)`).addEventListener("change", checkRatio, { once: true });
    if (!isFirst) changed();
  };
  checkRatio();
  addEventListener("resize", checkRatio);
}

/** Letters that the browser would order differently from the terminal. */
function isRightToLeft(text: string): boolean {
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/.test(text);
}
