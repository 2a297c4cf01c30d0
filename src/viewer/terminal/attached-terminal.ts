/**
 * One attached terminal in the session process: its connection, keys, size and end. presentation.ts decides what
 * it shows. If the session process has opened the person's terminal itself, it reads keys there once the client
 * has stopped reading them. Until then, and otherwise, keys arrive over the connection. Both paths share one
 * reader of the prefix key. After the end, the terminal decides no size and holds no keyboard.
 */

import * as v from "valibot";
import type { Instance } from "../../instance/paths.ts";
import type { Binding } from "../../keys/bindings.ts";
import { KeyReader } from "../../keys/reader.ts";
import type { Answer } from "../../protocol/ask-result.ts";
import {
  AttachSchema,
  BoundKeySchema,
  HelpSchema,
  PersonSettingsSchema,
  ResizeSchema,
  type ScrollbackChoice,
} from "../../protocol/attach.ts";
import type { NotificationSupport } from "../../protocol/attention.ts";
import { type Acting, accessCovers } from "../../protocol/caller.ts";
import type { StreamEnd } from "../../protocol/control.ts";
import { messageJson, messageTypes, type WireMessage } from "../../protocol/messages.ts";
import type { Question } from "../../protocol/question.ts";
import type { Size } from "../../protocol/size.ts";
import type { Session } from "../../session/session.ts";
import type { SessionAddress, Viewer, ViewerEnd } from "../../session/viewers.ts";
import type { Settings } from "../../settings/table.ts";
import type { Peer, PeerRequest } from "../../wire/peer.ts";
import { requireNotNested } from "../switcher/nesting.ts";
import { ClipboardImage } from "./clipboard-image.ts";
import { Copies } from "./copies.ts";
import { DirectTerminal } from "./direct-terminal.ts";
import type { DisplayedContent } from "./displayed-content.ts";
import { MousePolicy } from "./input-modes.ts";
import { InputRouter } from "./input-router.ts";
import type { KnownTerminals } from "./known-terminals.ts";
import { OuterSize } from "./outer-size.ts";
import type { LayerPicture } from "./overlay-layer.ts";
import { PageInput } from "./page-input.ts";
import { PersonKeys } from "./person-keys.ts";
import { Presentation } from "./presentation.ts";
import { TerminalControls } from "./terminal-controls.ts";
import { TerminalFocus } from "./terminal-focus.ts";

/** Longest wait for a terminal to take the last bytes of a program, in ms. */
const LAST_BYTES_MS = 1_000;
let nextViewerId = 1;

export interface AttachPolicy {
  readonly instance: Instance;
  /** Read at each use: the settings may change. */
  readonly settings: Pick<Settings, "title" | "clipboard" | "mouse">;
}

export class AttachedTerminal implements Viewer {
  readonly id = nextViewerId++;
  readonly since = Date.now();
  readonly readOnly: boolean;
  /** The person at the terminal, with their rights: calls by keys, clicks and lines are made as this person. */
  readonly acting: Acting;
  readonly isObserver: boolean;
  /** Socket of the session inside which its client runs. */
  readonly around: string | undefined;
  readonly mouse: MousePolicy;
  private readonly outerSize: OuterSize;
  private readonly pageInput: PageInput | null;
  readonly focus: TerminalFocus;
  /** Called for a key that is bound to an operation on the session. */
  onBoundKey: (binding: Binding, signal: AbortSignal) => Promise<unknown> = async () => null;
  readonly controls: TerminalControls;
  private readonly scrollback: ScrollbackChoice;
  /** Whether its owner collects sizes and reads keys. */
  readonly isComposed: boolean;
  readonly environment: Readonly<Record<string, string>>;
  readonly report: Viewer["report"];
  readonly notifications: NotificationSupport;
  readonly variables: Readonly<Record<string, string>> | null;
  readonly device: string | null;
  private readonly outerName: string | undefined;
  private readonly copies: Copies;
  readonly clipboardImage = new ClipboardImage({
    write: (text) => this.presentation.alert(text),
    say: (text) => this.showMessage(text),
    operate: (...call) => this.onBoundKey(...call),
  });
  private readonly terminal: DirectTerminal | null;
  readonly presentation: Presentation;
  readonly router: InputRouter;
  private readonly person: PersonKeys;
  private readonly keys: KeyReader;
  private readonly cleanups: (() => void)[] = [];
  private isClosed = false;
  /** Set if the session ended this stream before it began: the stream still shows the session's screen first. */
  private earlyEnd: ViewerEnd | null = null;
  /** The last keyboard state sent to the client. */
  private reportedCapture: boolean | null = null;

  /** @throws when `input` does not match the schema */
  constructor(
    private readonly session: Session,
    readonly shownContent: DisplayedContent,
    private readonly peer: Peer,
    { input, caller, access }: Pick<PeerRequest, "input" | "caller" | "access">,
    private readonly policy: AttachPolicy & { readonly knownTerminals: KnownTerminals },
  ) {
    const attach = v.parse(AttachSchema, input);
    this.notifications = attach;
    this.focus = new TerminalFocus(shownContent);
    this.focus.isWatched = caller.agent === undefined && (!attach.composed || !attach.observe);
    this.readOnly = attach.read_only || !accessCovers(access, "operate");
    this.acting = { caller, access: this.readOnly ? "observe" : access };
    this.variables =
      this.readOnly || caller.via !== undefined || caller.agent !== undefined ? null : (attach.brought ?? null);
    ({ observe: this.isObserver, around: this.around } = attach);
    this.scrollback = attach.scrollback;
    ({ composed: this.isComposed, environment: this.environment, outer: this.outerName } = attach);
    this.device = attach.terminal?.path ?? null;
    const mayRecord = attach.records && caller.agent === undefined && caller.via === undefined;
    this.report = mayRecord ? (event) => peer.send(messageTypes.event, event) : null;
    const { settings } = policy;
    this.mouse = new MousePolicy(settings, this, shownContent, session);
    this.copies = new Copies(session, peer, caller, {
      viewer: this.id,
      hasClientClipboard: attach.copies && !this.readOnly,
      storesCopies: !attach.composed && !this.readOnly && caller.only === undefined,
      mayProgramsCopy: () => settings.clipboard === "write",
      sendWithPicture: (copied) => this.presentation.renderer.copied(copied),
    });
    const isOver = (): boolean => this.isClosed;
    this.outerSize = new OuterSize(session, attach, {
      viewer: this.id,
      appliesAtOnce: attach.composed,
      isOver,
      isOpening: () => this.presentation.mode === "opening",
      resized: () => this.presentation.resized(),
      contribute: (size) => this.readOnly || this.isObserver || this.shownContent.reportOuterSize?.(size),
      beforeSizeApplied: () => this.presentation.beforeSizeApplied(),
      sizeApplied: () => this.presentation.sizeApplied(),
    });
    const page = {
      pushKeys: (bytes: Uint8Array) => this.keys.push(bytes),
      sendInput: (bytes: Uint8Array) => this.router.handleInput(bytes),
      sendEvent: (event: object) => peer.send(messageTypes.event, event),
      isOver,
    };
    this.pageInput = attach.page === undefined ? null : new PageInput(attach.page, session.acknowledgedInput, page);
    this.terminal = attach.terminal === undefined ? null : DirectTerminal.open(attach.terminal);
    const person = new PersonKeys(attach);
    this.person = person;
    this.controls = this.makeControls(attach.no_color);
    this.presentation = new Presentation(session, shownContent, peer, this.terminal, this, {
      mayPassThrough: () => person.mayPassThrough && !attach.render_only,
      prefix: () => person.prefix,
      showsTitles: () => settings.title === "on",
      scrollback: !attach.render_only,
      plainElements: attach.no_color,
      ascii: !attach.utf8,
      includesPlaces: attach.places,
      sendAhead: attach.ahead && attach.composed ? (bytes) => peer.sendBytes(messageTypes.output, bytes) : null,
      credit: this.pageInput?.credit ?? null,
      mouse: this.mouse,
    });
    const { controls, focus, presentation } = this;
    if (attach.pictures) presentation.showPictures();
    this.router = new InputRouter(session, shownContent, this, { controls, focus, presentation });
    this.keys = new KeyReader(person, {
      forward: (bytes) => this.router.handleInput(bytes),
      reply: (bytes) => void this.clipboardImage.takePacket(bytes),
      detach: () => this.detach(),
      tableEntered: () => session.events.emit("keyAwaited", undefined),
      showHelp: (table) => this.controls.showKeyTable(table),
      acceptsRootKeys: () => this.controls.acceptsBoundKeys,
      pressTableKey: ({ table, key, raw }) => this.controls.press({ table, key, bytes: [...raw] }),
      release: () => {
        session.keyboard.release();
        session.elements.unfocus();
        this.handBack();
      },
    });
  }

  /** Attaches: sends the current screen, then all changes. The first bytes may be sent before this resolves. */
  async start(): Promise<void> {
    const { session } = this;
    this.cleanups.push(session.openStream());
    if (session.exit === null) {
      session.viewers.add(this);
      await this.outerSize.begin();
    }
    await this.shownContent.whenAtRest(() => this.begin());
  }

  private detach(): void {
    if (this.pageInput === null) this.end({ reason: "detached" });
    else this.pageInput.requestAction("view.detach");
  }

  receive(message: WireMessage): void {
    if (message.type === messageTypes.input) {
      if (this.pageInput !== null) this.pageInput.receive(message.payload);
      else if (!this.clipboardImage.takePacket(message.payload)) this.router.handleInput(message.payload);
    } else if (message.type === messageTypes.resize) {
      this.outerSize.resized(v.parse(ResizeSchema, messageJson(message)));
    } else {
      this.end({ reason: "detached" });
    }
  }

  /** The person hesitates after the prefix key, or has pressed another key. */
  showHelp(input: unknown): void {
    const { shown, table } = v.parse(HelpSchema, input);
    if (!this.isClosed) this.controls.showKeyTable(shown ? table : null);
  }

  get topLayer(): LayerPicture | null {
    return this.controls.topLayer;
  }

  /** The person pressed a key of a table. */
  pressBoundKey(input: unknown): void {
    if (!this.isClosed) this.controls.press(v.parse(BoundKeySchema, input));
  }

  private makeControls(isPlain: boolean): TerminalControls {
    const self = this;
    return new TerminalControls({
      viewer: this.id,
      readOnly: this.readOnly,
      by: this.acting,
      content: this.shownContent,
      person: this.person,
      isPlain,
      isPage: this.pageInput !== null,
      get size() {
        return self.size;
      },
      get isOver() {
        return self.isClosed;
      },
      changed: () => this.presentation.reconsider(),
      rang: () => this.presentation.renderer.rang(),
      sendInput: (bytes) => this.router.handleInput(bytes),
      askPage: (operation) => this.pageInput?.requestAction(operation) ?? false,
      redraw: () => this.presentation.redraw(),
      session: this.session,
      statusAt: (row, col) => this.presentation.renderer.statusAt(this.size, row, col),
      copy: (text) => this.copies.copyFromPerson(text),
      operate: (binding, signal) => this.onBoundKey(binding, signal),
      requestImage: () => this.clipboardImage.request(),
      detach: () => this.detach(),
      instance: this.policy.instance,
      mouse: this.mouse,
      sendTranslated: (bytes) => this.router.sendTranslated(bytes),
      go: (place) => this.switchTo(place),
    });
  }

  /** Asks the person here about a key that they pressed; an error of `act` is shown like a key's. */
  ask(question: Question, act: (answer: Answer) => Promise<void>): void {
    this.controls.ask(question, this.session.name, act);
  }

  /** The client continues with another session, at that socket. The terminal is no longer read or drawn here. */
  private moveToSession(socket: string, session: number): void {
    if (this.isClosed) return;
    const typed = this.controls.queuedInput.map((each) => (each instanceof Uint8Array ? { bytes: [...each] } : each));
    this.close();
    this.peer.send(messageTypes.event, { event: "moved", socket, typed, session });
    this.peer.finish();
  }

  async switchTo(place: SessionAddress): Promise<void> {
    await requireNotNested(this.policy.instance, this, place);
    if (this.isComposed) this.peer.send(messageTypes.event, { event: "go", ...place });
    else this.moveToSession(place.socket, place.number);
  }

  showMessage(text: string): void {
    if (!this.isClosed) this.controls.say(text);
  }

  /** The client has stopped reading keys. */
  startReadingKeys(): void {
    if (this.isClosed) return;
    void this.terminal?.read(
      (bytes) => this.keys.push(bytes),
      () => this.end({ reason: "detached" }),
      () => this.release(),
    );
  }

  /** The client does not hold the terminal now: this process neither reads nor writes there until it resumes. */
  release(): void {
    if (!this.isClosed) this.presentation.release();
  }

  /** The person hands back the program that they took over. */
  handBack(): void {
    if (!this.readOnly && !this.isClosed) void this.session.questions.endHandOver();
  }

  alert(text: string): void {
    // A session that shows this one as a view uses its own terminals for alerts; a read-only terminal has no person.
    if (!this.isComposed && !this.readOnly && !this.isClosed) this.presentation.alert(text);
  }

  settingsChanged(): void {
    this.peer.send(messageTypes.event, { event: "settings" });
    this.presentation.reconsider();
  }

  useSettings(input: unknown): void {
    const settings = v.parse(PersonSettingsSchema, input);
    if ("fault" in settings) {
      // The session itself reports errors in a settings file that it reads as well.
      if (settings.fault !== this.session.notice.text) this.showMessage(settings.fault);
      return;
    }
    this.person.use(settings);
    this.presentation.reconsider();
  }

  sizeChanged(): void {
    this.presentation.reconsider();
  }

  get size(): Size {
    return this.outerSize.size;
  }

  /** Name for people of a terminal in a page; null for any other terminal. */
  get page(): string | null {
    return this.pageInput?.name ?? null;
  }

  get isFollower(): boolean {
    return this.outerSize.follows;
  }

  get isOver(): boolean {
    return this.isClosed;
  }

  get isResizing(): boolean {
    return this.outerSize.isApplying;
  }

  /** Removes the drawing; the program's screen remains in view. */
  end(reason: ViewerEnd): void {
    if (this.isClosed) return;
    this.earlyEnd = reason;
    const { terminal } = this;
    if (this.presentation.mode === "opening") return;
    // The program's last output is shown first, if the terminal takes it.
    if (terminal === null || terminal.output.pending === 0) this.finish(reason);
    else void terminal.output.emptied(LAST_BYTES_MS).then(() => this.finish(reason));
  }

  private finish(reason: ViewerEnd): void {
    if (this.isClosed) return;
    const seen = this.presentation.leave();
    if (seen !== null && this.outerName !== undefined && reason.reason === "detached")
      this.policy.knownTerminals.remember(this.outerName, seen);
    this.close();
    this.peer.send(messageTypes.end, { ...reason, name: this.session.name } satisfies StreamEnd);
    this.peer.finish();
  }

  /** The connection is lost, or the stream has ended: sends nothing more and releases everything. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.presentation.close();
    this.outerSize.close();
    this.controls.close();
    this.keys.dispose();
    this.clipboardImage[Symbol.dispose]();
    for (const end of this.cleanups) end();
    this.terminal?.close();
    this.session.viewers.remove(this.id);
    this.session.keyboard.forgetViewer(this.id);
    this.session.questions.forgetViewer(this.id);
    if (this.session.exit === null) void this.session.resize();
  }

  /** Runs between chunks. */
  private begin(): void {
    if (this.isClosed) return;
    const { session, presentation } = this;
    const { events } = session;
    this.cleanups.push(
      this.shownContent.listen({
        ahead: (bytes) => presentation.writeEcho(bytes),
        chunk: (bytes) => presentation.chunk(bytes),
        changed: (isEcho) => presentation.changed(isEcho),
        resizing: () => presentation.beforeResize(),
        reset: () => presentation.reconsider(),
        bell: () => presentation.renderer.rang(),
        clipboard: (copied) => this.copies.copyFromProgram(copied),
        effect: (effect, program) => presentation.effect(effect, program),
      }),
      events.on("drawn", () => {
        this.reportKeyboard();
        presentation.drawingChanged();
      }),
      events.on("inputMode", () => this.reportKeyboard()),
    );
    this.peer.onDrain = () => this.onDrain();
    if (this.terminal !== null) {
      this.terminal.output.onDrain = () => this.onDrain();
      this.peer.send(messageTypes.event, { event: "opened", keys: this.terminal.readsKeys });
    }
    this.pageInput?.begin();
    this.reportKeyboard();
    presentation.begin((program) => this.policy.knownTerminals.rowsToSend(this.scrollback, this.outerName, program));
    const { exit } = session;
    if (this.earlyEnd !== null) this.end(this.earlyEnd);
    else if (exit !== null) this.end({ reason: "exited", exit_code: exit.code, signal: exit.signal });
  }

  private onDrain(): void {
    this.reportKeyboard();
    this.copies.sendPending();
    this.presentation.reconsider();
  }

  /** A slow client is notified when it reads again. */
  private reportKeyboard(): void {
    const { keyboard, questions } = this.session;
    // One press of the prefix key ends both.
    const captured = keyboard.mode === "capture" || questions.handedOver !== null;
    // A read-only terminal has no keyboard to take back.
    this.keys.captured = captured && !this.readOnly;
    if (captured === this.reportedCapture || this.peer.outbox.pending > 0 || this.isClosed) return;
    this.reportedCapture = captured;
    this.peer.send(messageTypes.event, { event: "keyboard", captured });
  }
}
