/**
 * Sequences by which programs inform their terminal: title, directory, links, clipboard, notifications, progress, shell
 * marks.
 *
 * Owns the last reported title and directory, and the hooks that read them. They outlive the emulator:
 * `installHooks` is called for every new one. Hooks run while a slice is parsed, so the sink may read
 * `position` but no screen. Titles are cut at `MAX_TITLE` and have no control characters; clipboard writes
 * larger than `MAX_CLIPBOARD` are dropped.
 */
import type { Terminal } from "@xterm/headless";
import type { OuterEffect } from "../protocol/attach.ts";
import { type Attention, KittyNotifications, parseOsc9, parseOsc777 } from "./attention.ts";
import { type Mark, type MarkText, type Position, parseCommandMark, parseCwd, parsePromptMark } from "./marks.ts";
import type { LinkTable } from "./rows/hyperlinks.ts";
import { setPenLink } from "./rows/xterm-row.ts";

/** Characters of a title. */
const MAX_TITLE = 4_096;
/** Characters of base64 that a program may put into the clipboard: 768 KiB of text. */
const MAX_CLIPBOARD = 1_048_576;
/** Characters of a selection's name. */
const MAX_SELECTION = 16;

export interface AnnouncementSink {
  mark(mark: Mark): void;
  title(title: string): void;
  cwd(path: string): void;
  clipboard(selection: string, base64: string): void;
  /** A notification, or progress. */
  attention?(attention: Attention): void;
  /** The next chunk contains a sequence with an effect besides drawing. */
  effect?(effect: OuterEffect): void;
}

/** Position of the parser, for marks. */
interface ParserPosition {
  readonly position: () => Position;
  /** Offset at the end of the slice that is being parsed. */
  readonly sliceEnd: () => number;
}

export class Announcements {
  title = "";
  /** Directory as the shell last reported it (OSC 7). */
  cwd: string | null = null;
  private readonly kitty = new KittyNotifications();

  constructor(
    private readonly sink: AnnouncementSink,
    private readonly links: LinkTable,
    private readonly parserPosition: ParserPosition,
  ) {}

  installHooks(terminal: Terminal): void {
    const { parser } = terminal;
    terminal.onTitleChange((title) => this.setTitle(title));
    // The emulator would keep ten long titles on its stack.
    for (const number of [0, 1, 2]) {
      parser.registerOscHandler(number, (data) => {
        if (data.length <= MAX_TITLE) return false;
        if (number !== 1) this.setTitle(data);
        return true;
      });
    }
    parser.registerOscHandler(7, (data) => this.setDirectory(data));
    parser.registerOscHandler(8, (data) => this.setHyperlink(terminal, data));
    parser.registerOscHandler(9, (data) => this.emitAttention(parseOsc9(data)));
    parser.registerOscHandler(99, (data) => this.emitAttention(this.kitty.parse(data)));
    parser.registerOscHandler(777, (data) => this.emitAttention(parseOsc777(data)));
    parser.registerOscHandler(52, (data) => this.emitClipboard(data));
    parser.registerOscHandler(133, (data) => this.emitMark(parsePromptMark(data)));
    parser.registerOscHandler(633, (data) => this.emitMark(parseCommandMark(data)));
  }

  private setTitle(title: string): void {
    const clean = title.slice(0, MAX_TITLE).replace(/\p{Cc}/gu, "");
    if (clean === this.title) return;
    this.title = clean;
    this.sink.title(clean);
  }

  private setDirectory(data: string): boolean {
    const path = parseCwd(data);
    if (path !== null) {
      this.cwd = path;
      this.sink.cwd(path);
    }
    return true;
  }

  private emitAttention(attention: Attention | null): boolean {
    if (attention !== null) this.sink.attention?.(attention);
    return true;
  }

  private emitMark(text: MarkText | null): boolean {
    const { position, sliceEnd } = this.parserPosition;
    if (text !== null) this.sink.mark({ ...text, offset: sliceEnd(), position: position() });
    return true;
  }

  /** `OSC 8 ; params ; target`: an empty target ends the link. */
  private setHyperlink(terminal: Terminal, data: string): boolean {
    const separator = data.indexOf(";");
    if (separator >= 0) {
      const target = data.slice(separator + 1).replace(/\p{Cc}/gu, "");
      setPenLink(terminal, target === "" ? 0 : this.links.add(target));
    }
    return true;
  }

  private emitClipboard(data: string): boolean {
    const separator = data.indexOf(";");
    const base64 = data.slice(separator + 1);
    if (separator >= 0 && base64 !== "?" && base64.length <= MAX_CLIPBOARD && /^[A-Za-z0-9+/=]*$/.test(base64)) {
      this.sink.clipboard(data.slice(0, separator).slice(0, MAX_SELECTION), base64);
    }
    return true;
  }
}
