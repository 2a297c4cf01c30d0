/**
 * The images of the programs that an attached terminal shows, sent to it beside everything else: their placeholders are
 * in its picture already, and it fills them in when an image is there.
 *
 * Owns what the terminal has, for each of its two screens: kitty keeps images apart for them. A large image goes in
 * portions, the next once the terminal has taken the last, so that keys and pictures wait for one portion at most; an
 * image that its program replaces meanwhile is given up. Runs only while a program has pictures and the terminal can
 * show them; call between chunks.
 */
import type { Row } from "../../protocol/grid.ts";
import { messageTypes } from "../../protocol/messages.ts";
import { withoutPictures } from "../../protocol/placeholder.ts";
import type * as Numbered from "../../terminal/pictures/numbered.ts";
import {
  type Picture,
  type PicturePlace,
  picturesUsed,
  pictureTerminals,
  sixelTerminals,
} from "../../terminal/pictures/picture.ts";
import type { Peer } from "../../wire/peer.ts";
import type { Shown } from "./shown.ts";

/** Bytes of an image that go at once, in base64: less than a terminal takes in a frame's time. */
const PORTION = 32_768;
/** Bytes of base64 in one command, as the protocol limits them. */
const PART = 4096;
const RAW_PART = (PART / 4) * 3;
/** Interval between two looks whether the terminal has taken a portion, in ms. */
const RETRY_MS = 4;

interface PictureFeedPort {
  readonly isPage: boolean;
  /** Whether the terminal has taken everything that was sent. */
  isReady(): boolean;
  write(bytes: Uint8Array): void;
}

interface SentPicture {
  picture: Picture;
  /** Bytes of its data that were sent; all of them once it is whole. */
  offset: number;
  places: ReadonlyMap<number, PicturePlace>;
  /** The terminal has switched screens during the upload. */
  isBroken: boolean;
}

type Screen = Map<number, SentPicture>;

export class PictureFeed {
  private readonly screens: { readonly normal: Screen; readonly alternate: Screen } = {
    normal: new Map(),
    alternate: new Map(),
  };
  /** Versions of the sources when everything was sent, and the screen. */
  private seen = "";
  private wasAlternate = false;
  private announced = "";
  private timer: Timer | null = null;
  /** Cells say in digits which part of a picture they show. */
  private isNumbered = false;

  constructor(
    private readonly shown: Shown,
    private readonly peer: Peer,
    private readonly port: PictureFeedPort,
  ) {}

  /** The terminal has reported that it can show pictures. @param asSixel its client draws them and needs their cells */
  begin(asSixel: boolean): void {
    this.isNumbered = this.port.isPage || asSixel;
    pictureTerminals.add(this);
    if (asSixel) sixelTerminals.add(this);
  }

  get isOn(): boolean {
    return pictureTerminals.has(this);
  }

  /** What the terminal gets in place of a row with pictures; null: it shows them as they are. */
  get inRow(): ((row: Row) => Row) | null {
    if (!picturesUsed.now) return null;
    if (!this.isOn) return withoutPictures;
    if (!this.isNumbered) return null;
    const { numberedPictures }: typeof Numbered = require("../../terminal/pictures/numbered.ts");
    return numberedPictures;
  }

  /** The program's own bytes have pictures, which the terminal would print. Runs per chunk. */
  get isHiding(): boolean {
    return picturesUsed.now && (!this.isOn || this.isNumbered) && (this.shown.program?.pictures ?? null) !== null;
  }

  /** Pictures may have changed, or others are shown. Runs per chunk and per picture. */
  look(): void {
    if (picturesUsed.now && this.isOn && this.timer === null && this.state !== this.seen) this.later(0);
  }

  /** The terminal was restored, or reset. */
  forget(): void {
    this.screens.normal.clear();
    this.screens.alternate.clear();
    this.seen = "";
    this.announced = "";
  }

  close(): void {
    pictureTerminals.delete(this);
    sixelTerminals.delete(this);
    clearTimeout(this.timer ?? undefined);
  }

  private get state(): string {
    const { pictures, alternate } = this.shown;
    return `${alternate} ${pictures.map(({ serial, version }) => `${serial}:${version}`).join()}`;
  }

  private later(ms: number): void {
    this.timer = setTimeout(() => {
      void this.shown.atRest(() => {
        this.timer = null;
        if (!this.isOn) return;
        const { state } = this;
        if (!this.port.isReady()) this.later(RETRY_MS);
        else if (this.step()) this.later(0);
        else this.seen = state;
      });
    }, ms);
  }

  /** Sends the next portion. @returns whether more may be left */
  private step(): boolean {
    const { port, shown } = this;
    const screen = this.screens[shown.alternate ? "alternate" : "normal"];
    const wanted = new Map(shown.pictures.flatMap(({ pictures }) => [...pictures]));
    const broken = this.broken();
    const open = [...screen.values()].find(isUnfinished);
    if (open !== undefined && !open.isBroken && wanted.get(open.picture.id) === open.picture) {
      this.send(screen, open);
      return true;
    }
    const text = broken + this.removed(screen, wanted) + this.placed(screen, wanted);
    if (text !== "") {
      port.write(Buffer.from(text));
      return true;
    }
    for (const [id, picture] of wanted) {
      if (screen.has(id)) continue;
      this.send(screen, { picture, offset: 0, places: new Map(), isBroken: false });
      return true;
    }
    return false;
  }

  /** Ends an upload that began on the other screen, for a terminal with one upload for both. */
  private broken(): string {
    const { alternate } = this.shown;
    if (alternate === this.wasAlternate) return "";
    this.wasAlternate = alternate;
    const left = [...this.screens[alternate ? "normal" : "alternate"].values()].filter(isUnfinished);
    for (const sent of left) sent.isBroken = true;
    return left.map(({ picture }) => `\x1b_Ga=d,d=I,i=${picture.id},q=2\x1b\\`).join("");
  }

  /** Of images that are gone. Any removal ends an upload. */
  private removed(screen: Screen, wanted: ReadonlyMap<number, Picture>): string {
    let text = "";
    for (const [id, sent] of screen) {
      const now = wanted.get(id);
      // A whole one of a pane that is not shown stays.
      if (!isUnfinished(sent) && (now === sent.picture || (now === undefined && !sent.picture.isOver))) continue;
      screen.delete(id);
      text += `\x1b_Ga=d,d=I,i=${id},q=2\x1b\\`;
    }
    return text;
  }

  /** Sizes in which whole images are displayed, where they have changed. */
  private placed(screen: Screen, wanted: ReadonlyMap<number, Picture>): string {
    let text = "";
    for (const [id, sent] of screen) {
      const picture = wanted.get(id);
      if (picture === undefined) continue;
      const isHidden = [...sent.places.keys()].some((number) => !picture.places.has(number));
      if (isHidden) text += `\x1b_Ga=d,d=i,i=${id},q=2\x1b\\`;
      for (const [number, { cols, rows }] of picture.places) {
        const before = isHidden ? undefined : sent.places.get(number);
        if (before?.cols === cols && before.rows === rows) continue;
        text += `\x1b_Ga=p,U=1,i=${id},${number === 0 ? "" : `p=${number},`}c=${cols},r=${rows},q=2\x1b\\`;
      }
      sent.places = new Map(picture.places);
    }
    return text;
  }

  private send(screen: Screen, sent: SentPicture): void {
    const { picture } = sent;
    const { bytes, format, isCompressed, width, height } = picture.pixels;
    const isFirst = sent.offset === 0;
    screen.set(picture.id, sent);
    if (isFirst) this.announce();
    let text = "";
    while (sent.offset < bytes.length && text.length < PORTION) {
      const part = bytes.subarray(sent.offset, sent.offset + RAW_PART).toString("base64");
      const keys = `a=t,t=d,f=${format},s=${width},v=${height},i=${picture.id}${isCompressed ? ",o=z" : ""},q=2,`;
      const more = sent.offset + RAW_PART < bytes.length ? 1 : 0;
      text += `\x1b_G${sent.offset === 0 ? keys : ""}m=${more}${sent.offset === 0 ? "" : ",q=2"};${part}\x1b\\`;
      sent.offset += RAW_PART;
    }
    this.port.write(Buffer.from(text));
  }

  /** The client removes them when it restores the terminal. */
  private announce(): void {
    const ids = [...new Set([...this.screens.normal.keys(), ...this.screens.alternate.keys()])];
    if (ids.join() === this.announced) return;
    this.announced = ids.join();
    this.peer.send(messageTypes.event, { event: "images", ids });
  }
}

function isUnfinished({ picture, offset }: SentPicture): boolean {
  return offset < picture.pixels.bytes.length;
}
