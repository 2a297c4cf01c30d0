/**
 * A picture as terminals get it, and which terminals there are. Always loaded: what handles the protocol is loaded with
 * a program's first picture.
 */
import type { Pixels } from "./pixels.ts";

export interface PicturePlace {
  readonly cols: number;
  readonly rows: number;
}

/** An image of a program under a number of ours, and the sizes in which it is displayed. */
export interface Picture {
  /** The same in every terminal: cells refer to it. */
  readonly id: number;
  readonly pixels: Pixels;
  /** By number of the placement; empty: it is not displayed now. */
  readonly places: ReadonlyMap<number, PicturePlace>;
  /** Nothing will display it again. */
  readonly isOver: boolean;
}

/** The pictures of one program. */
export interface PictureSource {
  /** Those that a terminal which shows the program needs, by id. */
  readonly pictures: ReadonlyMap<number, Picture>;
  /** Unique in this process. */
  readonly serial: number;
  /** Grows with every change. */
  readonly version: number;
}

let serials = 0;

/** For a new source. */
export function nextSerial(): number {
  return ++serials;
}

/** Attached terminals that show pictures: while there is one, programs are answered as by such a terminal. */
export const pictureTerminals = new Set<object>();

/** Those of them that show sixel graphics alone. */
export const sixelTerminals = new Set<object>();

/** Whether a program of this process has had pictures: until then, nothing looks for them. */
export const picturesUsed = { now: false };
