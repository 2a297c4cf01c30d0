/**
 * Shows the session at one attached terminal: by pass-through or rendered. Pass-through sends the program's bytes
 * chunk by chunk, after they were parsed, while the terminal has the session's size, shows one program with
 * nothing drawn over it, and keeps up. Otherwise it gets the newest picture, at most at a screen's frame rate and
 * as fast as its socket takes them. Switches happen between two chunks, so nothing is lost or repeated. A slow
 * client costs only its outbox here.
 *
 * If the session process has opened the person's terminal itself, the program's bytes go there without the
 * client, once the client has written everything passed through so far. Meanwhile the client writes nothing:
 * pictures wait until the terminal has taken everything, and pass-through begins through the client again. The
 * echo of a key is written before it is parsed: in pass-through the next chunk omits it; beside a panel the next
 * picture is compared.
 */
import { outerSize } from "../../compositor/panel-layout.ts";
import { effectEvent, type OuterEffect } from "../../protocol/attach.ts";
import type { FrameUpdate } from "../../protocol/frame-codec.ts";
import type { LastingChange } from "../../protocol/lasting-changes.ts";
import { messageTypes } from "../../protocol/messages.ts";
import type { Size } from "../../protocol/size.ts";
import type { Session } from "../../session/session.ts";
import { BEHIND_BYTES } from "../../wire/outbox.ts";
import type { Peer } from "../../wire/peer.ts";
import type { DirectTerminal } from "./direct-terminal.ts";
import type { DisplayedContent, DisplayedProgram } from "./displayed-content.ts";
import { FLOOD_WINDOW_MS, FloodMeter } from "./flood-meter.ts";
import { FRAME_MS, FramePacer } from "./frame-pacer.ts";
import type { SeenScrollback } from "./known-terminals.ts";
import type { LayerPicture } from "./overlay-layer.ts";
import { PictureFeed } from "./picture-feed.ts";
import { RenderedTerminal } from "./rendered-terminal.ts";
import { FrameRenderer, type RendererOptions } from "./renderer.ts";
import type { InitialRows } from "./scrollback-feed.ts";
import { SizeNote } from "./size-note.ts";

/** Longest sequence that a rendered terminal gets in addition to its pictures. */
const MAX_EFFECT_BYTES = 4096;

interface PresentationOptions extends RendererOptions {
  /** Whether the client may get the program's own bytes. */
  mayPassThrough(): boolean;
  /** Sends an echo to a client that accepts it ahead of the picture that contains it; null: the client does not. */
  readonly sendAhead: ((bytes: Uint8Array) => void) | null;
  /** Maximum unconfirmed pictures; null: as many as its connection takes. */
  readonly credit: number | null;
}

/** Inputs of the decision in addition to the session: the owner stores them and calls `reconsider` on a change. */
interface OuterState {
  readonly size: Size;
  /** The terminal's overlay layer above the picture; null: nothing. */
  readonly topLayer: LayerPicture | null;
  /** Whether a new size is about to be applied: nothing is rendered until then. */
  readonly isResizing: boolean;
  /** While wsh has the mouse, programs' own bytes would give it to them. */
  readonly mouse: { readonly isTaken: boolean };
}

export class Presentation {
  readonly renderer: FrameRenderer;
  private readonly flood = new FloodMeter();
  private readonly rendered: RenderedTerminal;
  private readonly pacer: FramePacer;
  private readonly pictures: PictureFeed;
  private current: "opening" | "pass_through" | "render" = "opening";
  /** Whether the program's bytes go to the terminal without the client. */
  private isDirect = false;
  /** The program whose bytes the client gets; null while it is rendered. */
  private passedProgram: DisplayedProgram | null = null;
  /**
   * Bytes that went through the client, and how many of them before it last began to pass through. Never reset: a late
   * confirmation of earlier ones could pass for one of the newest, which have as many bytes if a screen was added to.
   */
  private passedBytes = 0;
  private passedBytesBefore = 0;
  /** Bytes at the beginning of the next chunk that the terminal already has. */
  private aheadBytes = 0;
  /** Whether the next chunk is short and moves nothing: usually the echo of a key. */
  private isEcho = false;
  private isClosed = false;
  /** Lasting changes by programs at a pass-through terminal that the client does not know yet. */
  private lastingWatch: { newChanges(): readonly LastingChange[] } | null;
  private readonly reportedChanges = new Set<LastingChange>();
  private readonly sizeNote = new SizeNote(() => this.reconsider());

  /** @param terminal null when only the client writes to it */
  constructor(
    private readonly session: Session,
    private readonly content: DisplayedContent,
    private readonly peer: Peer,
    private readonly terminal: DirectTerminal | null,
    private readonly outer: OuterState,
    private readonly options: PresentationOptions,
  ) {
    const send = (update: FrameUpdate): void => peer.send(messageTypes.frame, update);
    this.rendered = new RenderedTerminal(terminal, send, options.sendAhead);
    this.pacer = this.makePacer();
    this.pictures = new PictureFeed(content, peer, {
      isPage: options.credit !== null,
      isReady: () => this.pending === 0 && (this.current === "pass_through" || this.rendered.unconfirmed === 0),
      write: (bytes) => (this.current === "pass_through" ? this.passBytes(bytes) : this.sendImages(bytes)),
    });
    this.renderer = new FrameRenderer(session, content, options, this.pictures);
    this.lastingWatch = content.program?.lastingChanges.watch() ?? null;
  }

  get mode(): "opening" | "pass_through" | "render" {
    return this.current;
  }

  /** Runs between chunks. @param first rows above the screen to send to the terminal's scrollback first */
  begin(first: InitialRows): void {
    const { program } = this.content;
    if (program !== null && this.canPassThrough()) this.passThrough(program, first(program));
    else this.startRendering(first);
    this.pictures.checkSources();
  }

  /**
   * The client has written everything it received. If nothing more is in transit to it, this process may write to the
   * terminal.
   */
  clientWrote({ bytes, pictures }: { readonly bytes: number; readonly pictures: number }): void {
    this.rendered.confirm(pictures);
    if (this.options.credit !== null) this.reconsider();
    this.pictures.checkSources();
    if (this.terminal === null || this.current !== "pass_through" || this.isClosed) return;
    const isAllWritten = bytes === this.passedBytes && bytes > this.passedBytesBefore;
    this.isDirect ||= isAllWritten && this.peer.outbox.pending === 0;
  }

  /** The client does not hold the terminal now: this process writes nothing there until it resumes. */
  release(): void {
    this.isDirect = false;
    this.pictures.forget();
    this.rendered.markUnknown();
    this.terminal?.release();
  }

  /** A condition for pass-through or rendering may have changed. May be called while a chunk is parsed. */
  reconsider(): void {
    if (this.isClosed) return;
    if (this.current === "render") this.pacer.schedule();
    else if (this.current === "pass_through" && !this.showsProgramAlone()) {
      void this.content.whenAtRest(() => {
        if (this.current === "pass_through" && !this.isClosed && !this.showsProgramAlone()) this.startRendering();
      });
    }
  }

  /** The drawing over or beside the program has changed. */
  drawingChanged(): void {
    this.renderer.drawingChanged();
    this.reconsider();
  }

  /** A person typed here. */
  keyTyped(): void {
    this.pacer.keyTyped();
  }

  /** The echo of a key: written before it is parsed. */
  writeEcho(bytes: Uint8Array): void {
    this.isEcho = true;
    if (this.pending > 0 || this.outer.isResizing || this.isClosed) return;
    if (this.current === "pass_through" && this.isDirect && this.passedProgram === this.content.program) {
      this.passBytes(bytes);
      this.aheadBytes = bytes.length;
      this.terminal?.handOver();
    } else if (this.current === "render" && this.isOnlyChange(bytes)) this.rendered.writeAhead(bytes);
  }

  /** Runs per chunk. */
  chunk(bytes: Uint8Array): void {
    const { aheadBytes, isEcho } = this;
    this.aheadBytes = 0;
    this.isEcho = false;
    this.flood.count(bytes.length);
    this.renderer.outputArrived(bytes);
    this.pictures.checkSources();
    if (this.current === "render") {
      this.pacer.outputArrived(isEcho || this.content.endsWithPrompt === true);
      return;
    }
    // Another program fills the picture now, or it has pictures, which this terminal would print.
    if (this.passedProgram !== this.content.program || this.pictures.hidesProgramBytes) {
      this.startRendering();
      return;
    }
    this.reportChanges(this.lastingWatch?.newChanges() ?? []);
    const news = aheadBytes === 0 ? bytes : bytes.subarray(aheadBytes);
    if (news.length > 0) this.passBytes(news);
    const behind = this.pending > BEHIND_BYTES;
    if (behind || this.flood.isFlooding || !this.showsProgramAlone()) this.startRendering();
  }

  /** The picture has changed without bytes that produce it. @param isEcho it is shown without waiting for more */
  changed(isEcho: boolean): void {
    this.pictures.checkSources();
    if (this.current === "render") this.pacer.outputArrived(isEcho);
  }

  /** The terminal was resized and has wrapped its lines in its own way: it is repainted. */
  resized(): void {
    this.stopPassThrough();
    this.renderer.forget();
  }

  /** The size is about to be applied to the session. */
  beforeSizeApplied(): void {
    this.renderer.scrollback.collectRows();
  }

  /** Sends the terminal a bell or notification, between sequences of the program. */
  alert(text: string): void {
    void this.content.whenAtRest(() => {
      if (this.isClosed) return;
      if (this.current === "pass_through") this.passBytes(new TextEncoder().encode(text));
      else this.peer.send(messageTypes.event, { event: "alert", text });
    });
  }

  /**
   * A program's sequence with an effect besides drawing: a pass-through terminal gets it within the program's bytes.
   */
  effect(effect: OuterEffect, program: DisplayedProgram | null): void {
    const isPassedThrough = program !== null && this.passedProgram === program;
    // Pages have no such effects; a slow terminal is not flooded; a session that shows this one forwards them.
    if (isPassedThrough || this.options.credit !== null || this.isClosed || this.current === "opening") return;
    if (effect.bytes.length > MAX_EFFECT_BYTES || this.pending > 0) return;
    if (this.options.sendAhead !== null) return void this.peer.send(messageTypes.event, effectEvent(effect));
    if (effect.change !== null) this.reportChanges([effect.change]);
    this.alert(new TextDecoder().decode(effect.bytes));
  }

  sizeApplied(): void {
    this.renderer.scrollback.skipMovedRows();
    this.pacer.schedule();
  }

  /** The session's screen is about to be rewrapped. */
  beforeResize(): void {
    if (this.current === "render") this.renderer.scrollback.collectRows();
    // The event that follows renders afterwards.
    else this.stopPassThrough();
  }

  /**
   * Ends the presentation: removes the drawing over and beside the program; its screen remains in view.
   * @returns the contents of the session that remain on the terminal; null when uncertain
   */
  leave(): SeenScrollback | null {
    const { pending, content, outer } = this;
    const { program } = content;
    const rendered = this.current === "render";
    if (rendered) this.renderNow(true);
    const { scrollback } = this.renderer;
    if (pending > 0 || !this.options.scrollback) return null;
    if (!rendered && program !== null) scrollback.tops.set(program, program.screenTop);
    if (rendered && !scrollback.isComplete) return null;
    const fits = outer.size.rows === content.rows && outer.size.cols === content.cols;
    return { tops: scrollback.tops, screen: rendered && !(fits && !content.alternate) ? null : program };
  }

  close(): void {
    this.isClosed = true;
    this.pacer.close();
    this.pictures.close();
    this.sizeNote.close();
  }

  /** Whether the program's own bytes would produce the right screen on this terminal. Runs per chunk. */
  private showsProgramAlone(): boolean {
    const { session, content, outer } = this;
    const { rows, cols, program } = content;
    if (program === null || (this.passedProgram !== null && program !== this.passedProgram)) return false;
    if (
      this.pictures.hidesProgramBytes ||
      !this.options.mayPassThrough() ||
      outer.topLayer !== null ||
      outer.mouse.isTaken
    )
      return false;
    if (session.keyboard.owner !== null) return false;
    if (session.questions.isShown || session.notice.text !== null) return false;
    return outer.size.rows === rows && outer.size.cols === cols && !session.elements.hasOverlays;
  }

  private canPassThrough(): boolean {
    return this.showsProgramAlone() && !this.flood.isFlooding && this.pending === 0 && !this.outer.isResizing;
  }

  /** Bytes pending for the client or its terminal. */
  private get pending(): number {
    return this.peer.outbox.pending + (this.terminal?.output.pending ?? 0);
  }

  /** Switches the client to the program's bytes; its terminal is first brought to the session's screen. */
  private passThrough(program: DisplayedProgram, history: number): void {
    this.current = "pass_through";
    this.passedProgram = program;
    this.pacer.cancel();
    this.isDirect = false;
    this.passedBytesBefore = this.passedBytes;
    // Bytes written ahead of the emulator are not on the screen built here.
    this.aheadBytes = 0;
    this.rendered.forget();
    this.peer.send(messageTypes.event, { event: "pass_through" });
    this.lastingWatch = program.lastingChanges.watch();
    this.reportChanges(program.serializedChanges);
    this.passBytes(program.serialize({ history }));
  }

  /** The terminal can show pictures. @param usesSixel as sixel graphics, while it is rendered */
  showPictures(usesSixel = false): void {
    if (!this.isClosed) this.pictures.begin(usesSixel);
    this.redraw();
  }

  redraw(): void {
    this.renderer.forget();
    this.reconsider();
  }

  private sendImages(bytes: Uint8Array): void {
    this.rendered.countSent();
    this.peer.sendBytes(messageTypes.images, bytes);
  }

  private reportChanges(changes: readonly LastingChange[]): void {
    const news = changes.filter((change) => !this.reportedChanges.has(change));
    if (news.length === 0) return;
    for (const change of news) this.reportedChanges.add(change);
    this.peer.send(messageTypes.event, { event: "changed", changes: news });
  }

  private passBytes(bytes: Uint8Array): void {
    if (this.isDirect && this.terminal?.isHeld !== true) this.release();
    if (this.isDirect) {
      this.terminal?.output.write(bytes);
      return;
    }
    this.passedBytes += bytes.length;
    this.peer.sendBytes(messageTypes.output, bytes);
  }

  private startRendering(first: InitialRows | null = null): void {
    this.current = "render";
    this.renderer.begin(this.passedProgram, first);
    this.passedProgram = null;
    this.pacer.schedule();
  }

  private stopPassThrough(): void {
    if (this.current !== "pass_through") return;
    this.current = "render";
    this.renderer.begin(this.passedProgram);
    this.passedProgram = null;
  }

  /** Whether the next picture will be made as soon as these bytes are parsed, with no other change in it. */
  private isOnlyChange(bytes: Uint8Array): boolean {
    const { rendered } = this;
    return (
      this.pacer.isReady &&
      !rendered.isAhead &&
      !this.flood.isFlooding &&
      this.renderer.mayBeTyped(bytes) &&
      rendered.isCurrent
    );
  }

  /** Whether the client has too many unconfirmed pictures to get another. */
  private get hasTooManyUnconfirmed(): boolean {
    const { credit } = this.options;
    return credit !== null && this.rendered.unconfirmed >= credit;
  }

  private makePacer(): FramePacer {
    const { content } = this;
    return new FramePacer({
      isBlocked: () => this.isClosed || this.pending > 0 || this.outer.isResizing || this.hasTooManyUnconfirmed,
      isSynchronized: () => content.isSynchronized,
      whenAtRest: (make) => void content.whenAtRest(make),
      render: () => this.render(),
    });
  }

  /** Runs between chunks: makes a picture, or switches to the program's own bytes. */
  private render(): void {
    if (this.isClosed || this.current !== "render" || this.outer.isResizing || this.hasTooManyUnconfirmed) return;
    this.flood.count(0);
    const { program } = this.content;
    const canPass = this.canPassThrough() && !this.renderer.scrollback.isAhead;
    if (!canPass || this.renderer.hasPendingChange) this.renderNow();
    if (program !== null && canPass && this.canPassThrough() && !this.renderer.scrollback.isBehind)
      this.passThrough(program, 0);
  }

  /** @param bare only the program's screen, without drawing over and beside it */
  private renderNow(bare = false): void {
    this.pacer.recordPicture();
    const flooding = this.flood.isFlooding;
    const { layout } = this.content;
    const showsSize =
      !bare && this.sizeNote.isShown(layout == null ? this.session.size : outerSize(layout), this.outer.size);
    const { size, topLayer } = this.outer;
    const mouse = this.outer.mouse.isTaken;
    const next = this.renderer.next({ size, topLayer, showsSize, flooding, bare, mouse });
    if (next !== null) this.rendered.show(next.update, next.typed);
    else if (this.rendered.isAhead) {
      // The bytes written ahead did not arrive: the picture is unchanged, the terminal is not.
      this.renderer.forget();
      this.pacer.checkAfter(FRAME_MS);
    }
    if (bare) return;
    if (this.renderer.scrollback.isBehind) this.pacer.checkAfter(FRAME_MS);
    // Silence does not show that a flood is over: check once more.
    if (flooding) this.pacer.checkAfter(FLOOD_WINDOW_MS);
  }
}
