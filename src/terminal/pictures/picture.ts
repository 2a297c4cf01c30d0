/**
 * A picture in the form for terminals, and the set of such terminals. Always loaded: the code of the protocol is loaded
 * with a program's first picture.
 */
import type { Pixels } from "./pixels.ts";

export interface PictureSize {
  readonly cols: number;
  readonly rows: number;
}

/** An image of a program with an id of wsh, and the sizes in which it is displayed. */
export interface Picture {
  /** The same in every terminal: cells refer to it. */
  readonly id: number;
  readonly pixels: Pixels;
  /** By number of the placement; empty: it is not displayed now. */
  readonly places: ReadonlyMap<number, PictureSize>;
  /** Whether nothing will display it again. */
  readonly isFinished: boolean;
}

/** The pictures of one program. */
export interface PictureSource {
  /** The pictures, by id, that a terminal needs to show the program. */
  readonly pictures: ReadonlyMap<number, Picture>;
  /** Unique in this process. */
  readonly serial: number;
  /** Changes with every change. */
  readonly version: number;
}

let serials = 0;

/** The serial of a new source. */
export function nextSerial(): number {
  return ++serials;
}

/** Attached terminals that show pictures: while there is one, programs get the answers of such a terminal. */
export const pictureTerminals = new Set<object>();

/** Those of them that support only sixel graphics. */
export const sixelTerminals = new Set<object>();

/** Whether a program of this process has had pictures: until then, no code checks for them. */
export const picturesUsed = { now: false };
