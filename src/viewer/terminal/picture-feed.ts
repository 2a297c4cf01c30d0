/**
 * Sends an attached terminal the images of its programs, separately from everything else: their placeholders are
 * already in its picture, and the terminal fills them in when an image arrives.
 *
 * Owns the record of the terminal's images, for each of its two screens, since kitty keeps images apart for them. A
 * large image is sent in portions, each after the terminal has taken the previous one, so that keys and pictures wait
 * for one portion at most; an image that its program replaces meanwhile is abandoned. Runs only while a program has
 * pictures and the terminal can show them; call between chunks.
 */
import type { Row } from "../../protocol/grid.ts";
import { messageTypes } from "../../protocol/messages.ts";
import { withoutPictures } from "../../protocol/placeholder.ts";
import type * as Numbered from "../../terminal/pictures/numbered.ts";
import {
  type Picture,
  type PictureSize,
  picturesUsed,
  pictureTerminals,
  sixelTerminals,
} from "../../terminal/pictures/picture.ts";
import type { Peer } from "../../wire/peer.ts";
import type { DisplayedContent } from "./displayed-content.ts";

/** Bytes of an image to send at once, in base64: less than a terminal takes in the time of a frame. */
const PORTION_BYTES = 32_768;
/** Bytes of base64 in one command, as the protocol limits them. */
const PART_BYTES = 4096;
const RAW_PART_BYTES = (PART_BYTES / 4) * 3;
/** Interval between checks whether the terminal has taken a portion, in ms. */
const RETRY_MS = 4;

interface PictureFeedPort {
  readonly isPage: boolean;
  /** Whether the terminal has taken everything sent. */
  isReady(): boolean;
  write(bytes: Uint8Array): void;
}

interface SentPicture {
  picture: Picture;
  /** Bytes of its data sent so far; all of them when it is complete. */
  offset: number;
  places: ReadonlyMap<number, PictureSize>;
  /** Whether the terminal has switched screens during the upload. */
  isInterrupted: boolean;
}

type Screen = Map<number, SentPicture>;

export class PictureFeed {
  private readonly screens: { readonly normal: Screen; readonly alternate: Screen } = {
    normal: new Map(),
    alternate: new Map(),
  };
  /** Versions of the sources at the last complete transfer, and the screen. */
  private sentState = "";
  private wasAlternate = false;
  private announcedIds = "";
  private timer: Timer | null = null;
  /** Whether cells encode the part of a picture that they show in digits. */
  private isNumbered = false;

  constructor(
    private readonly content: DisplayedContent,
    private readonly peer: Peer,
    private readonly port: PictureFeedPort,
  ) {}

  /** The terminal has reported that it can show pictures. @param usesSixel its client draws them and needs their cells */
  begin(usesSixel: boolean): void {
    this.isNumbered = this.port.isPage || usesSixel;
    pictureTerminals.add(this);
    if (usesSixel) sixelTerminals.add(this);
  }

  get isOn(): boolean {
    return pictureTerminals.has(this);
  }

  /** Converts a row with pictures for the terminal; null: the terminal shows it unchanged. */
  get convertRow(): ((row: Row) => Row) | null {
    if (!picturesUsed.now) return null;
    if (!this.isOn) return withoutPictures;
    if (!this.isNumbered) return null;
    const { numberedPictures }: typeof Numbered = require("../../terminal/pictures/numbered.ts");
    return numberedPictures;
  }

  /** Whether the program's own bytes contain pictures, which the terminal would print. Runs per chunk. */
  get hidesProgramBytes(): boolean {
    return picturesUsed.now && (!this.isOn || this.isNumbered) && (this.content.program?.pictures ?? null) !== null;
  }

  /** Pictures may have changed, or others are displayed. Runs per chunk and per picture. */
  checkSources(): void {
    if (picturesUsed.now && this.isOn && this.timer === null && this.state !== this.sentState) this.sendAfter(0);
  }

  /** The terminal was restored, or reset. */
  forget(): void {
    this.screens.normal.clear();
    this.screens.alternate.clear();
    this.sentState = "";
    this.announcedIds = "";
  }

  close(): void {
    pictureTerminals.delete(this);
    sixelTerminals.delete(this);
    clearTimeout(this.timer ?? undefined);
  }

  private get state(): string {
    const { pictures, alternate } = this.content;
    return `${alternate} ${pictures.map(({ serial, version }) => `${serial}:${version}`).join()}`;
  }

  private sendAfter(ms: number): void {
    this.timer = setTimeout(() => {
      void this.content.whenAtRest(() => {
        this.timer = null;
        if (!this.isOn) return;
        const { state } = this;
        if (!this.port.isReady()) this.sendAfter(RETRY_MS);
        else if (this.sendNext()) this.sendAfter(0);
        else this.sentState = state;
      });
    }, ms);
  }

  /** Sends the next portion. @returns whether more may remain */
  private sendNext(): boolean {
    const { port, content } = this;
    const screen = this.screens[content.alternate ? "alternate" : "normal"];
    const wanted = new Map(content.pictures.flatMap(({ pictures }) => [...pictures]));
    const aborts = this.abortCommands();
    const unfinished = [...screen.values()].find(isUnfinished);
    if (
      unfinished !== undefined &&
      !unfinished.isInterrupted &&
      wanted.get(unfinished.picture.id) === unfinished.picture
    ) {
      this.send(screen, unfinished);
      return true;
    }
    const text = aborts + this.removalCommands(screen, wanted) + this.placementCommands(screen, wanted);
    if (text !== "") {
      port.write(Buffer.from(text));
      return true;
    }
    for (const [id, picture] of wanted) {
      if (screen.has(id)) continue;
      this.send(screen, { picture, offset: 0, places: new Map(), isInterrupted: false });
      return true;
    }
    return false;
  }

  /** Ends an upload that began on the other screen, for a terminal that has only one upload for both. */
  private abortCommands(): string {
    const { alternate } = this.content;
    if (alternate === this.wasAlternate) return "";
    this.wasAlternate = alternate;
    const interrupted = [...this.screens[alternate ? "normal" : "alternate"].values()].filter(isUnfinished);
    for (const sent of interrupted) sent.isInterrupted = true;
    return interrupted.map(({ picture }) => `\x1b_Ga=d,d=I,i=${picture.id},q=2\x1b\\`).join("");
  }

  /** Commands that remove images no longer needed. Any removal ends an upload. */
  private removalCommands(screen: Screen, wanted: ReadonlyMap<number, Picture>): string {
    let text = "";
    for (const [id, sent] of screen) {
      const now = wanted.get(id);
      // A complete image of a hidden pane is kept.
      if (!isUnfinished(sent) && (now === sent.picture || (now === undefined && !sent.picture.isFinished))) continue;
      screen.delete(id);
      text += `\x1b_Ga=d,d=I,i=${id},q=2\x1b\\`;
    }
    return text;
  }

  /** Display sizes of complete images, where they have changed. */
  private placementCommands(screen: Screen, wanted: ReadonlyMap<number, Picture>): string {
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
    while (sent.offset < bytes.length && text.length < PORTION_BYTES) {
      const part = bytes.subarray(sent.offset, sent.offset + RAW_PART_BYTES).toString("base64");
      const keys = `a=t,t=d,f=${format},s=${width},v=${height},i=${picture.id}${isCompressed ? ",o=z" : ""},q=2,`;
      const more = sent.offset + RAW_PART_BYTES < bytes.length ? 1 : 0;
      text += `\x1b_G${sent.offset === 0 ? keys : ""}m=${more}${sent.offset === 0 ? "" : ",q=2"};${part}\x1b\\`;
      sent.offset += RAW_PART_BYTES;
    }
    this.port.write(Buffer.from(text));
  }

  /** The client removes these images when it restores the terminal. */
  private announce(): void {
    const ids = [...new Set([...this.screens.normal.keys(), ...this.screens.alternate.keys()])];
    if (ids.join() === this.announcedIds) return;
    this.announcedIds = ids.join();
    this.peer.send(messageTypes.event, { event: "images", ids });
  }
}

function isUnfinished({ picture, offset }: SentPicture): boolean {
  return offset < picture.pixels.bytes.length;
}
