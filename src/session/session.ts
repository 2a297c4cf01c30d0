/**
 * A session: its identity (id, name, tags), the window that people and callers see, the terminals that show it, its
 * elements, and the recipient of its keys. It combines these parts, refers to its pane without owning it, and knows no
 * transport: the session process converts its events to frames and incoming messages to calls.
 */

import { type Clock, systemClock } from "../base/clock.ts";
import { Emitter } from "../base/emitter.ts";
import { type Layout, layoutWithStatus, statusRow } from "../compositor/panel-layout.ts";
import type { StateLasting } from "../pane/state/state-lifetime.ts";
import { defined, present } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import type { Hook } from "../protocol/hooks.ts";
import { normalizeTags, sessionId, windowId } from "../protocol/names.ts";
import type { Owner } from "../protocol/owner.ts";
import { PORT_VARIABLE } from "../protocol/port-variable.ts";
import type { SessionEnding, SessionInfo, SessionState, UpdateSession, WindowInfo } from "../protocol/session.ts";
import type { Size } from "../protocol/size.ts";
import type { Worktree } from "../protocol/worktree.ts";
import { hidesTypedText, type PtyExit } from "../pty/port.ts";
import { AcknowledgedInput } from "./acknowledged-input.ts";
import { CurrentWriter } from "./current-writer.ts";
import { ElementStore } from "./drawing/element-store.ts";
import { ElementMakers } from "./drawing/makers.ts";
import { Keyboard } from "./keyboard.ts";
import { Lifetime } from "./lifetime.ts";
import { Notice } from "./notice.ts";
import { PasteBuffers } from "./paste-buffers.ts";
import { Questions } from "./questions/questions.ts";
import { SubmittedLines } from "./submitted-lines.ts";
import { TerminalVariables } from "./terminal-variables.ts";
import type { PaneRef, SessionEvents, SessionOptions, SessionRegistry, StatusLine, TypedInput } from "./types.ts";
import { Viewers } from "./viewers.ts";
import { Window } from "./window.ts";

export class Session<P extends PaneRef = PaneRef> {
  readonly events = new Emitter<SessionEvents>();
  readonly viewers: Viewers;
  /** The pane that a person has marked, for swapping or moving it. */
  markedPane: string | null = null;
  readonly elements: ElementStore;
  readonly makers: ElementMakers;
  readonly keyboard: Keyboard;
  readonly questions: Questions;
  readonly notice: Notice;
  readonly window: Window;
  readonly buffers: PasteBuffers;
  readonly acknowledgedInput = new AcknowledgedInput();
  /** Variables that the last attached terminal has brought. */
  readonly terminalVariables = new TerminalVariables();
  /** The terminal whose Enter started the running command of each pane. */
  readonly submittedLines = new SubmittedLines();
  readonly writer: CurrentWriter;
  readonly lifetime: Lifetime;
  readonly createdAt: number;
  /** Whether the owning session decides its size, instead of viewers. */
  isSized: boolean;
  /** Names of agents that may act on the whole session, until it ends. */
  private readonly allowedAgents = new Set<string>();
  private readonly clock: Clock;
  private currentName: string;
  private tagSet: Set<string>;
  private streams = 0;
  /** The pane that receives input now. */
  private typedPane = "";
  private statusLine: StatusLine | null = null;
  private isKeptPrivate: boolean;
  private ending: SessionEnding | null = null;

  /** @param pane the session's contents; released with the session */
  constructor(
    private readonly options: SessionOptions,
    readonly pane: P,
    private readonly registry: SessionRegistry,
  ) {
    const { clock = systemClock } = options;
    this.clock = clock;
    const { events } = this;
    this.isSized = options.isSized ?? false;
    this.viewers = new Viewers(options.settings, (change) => {
      if (change !== null) events.emit("viewer", change);
      if (change?.event === "client_resized") return;
      events.emit("listed", undefined);
      this.questions.handlePeopleChange();
    });
    this.createdAt = options.createdAt ?? clock.wall();
    this.currentName = options.name;
    this.tagSet = new Set(normalizeTags(options.tags));
    this.isKeptPrivate = options.private ?? false;
    this.buffers = new PasteBuffers(options.buffers ?? null, () => this.isPrivate);
    this.elements = this.createElements(clock);
    this.makers = new ElementMakers(this.elements);
    this.keyboard = this.createKeyboard(clock);
    this.questions = this.createQuestions(clock);
    this.writer = new CurrentWriter(clock, () => events.emit("listed", undefined));
    this.notice = new Notice(clock, () => events.emit("drawn", undefined));
    this.window = new Window(
      { id: windowId(options.windowId), pane, layoutAt: (outer) => this.layoutAt(outer) },
      { rows: options.rows, cols: options.cols },
    );
    events.on("exited", () => this.questions.endAll());
    pane.events.on("alternate", (active) => this.elements.setChildAlternate(active));
    this.lifetime = new Lifetime({
      pane,
      clock,
      viewers: this.viewers,
      events,
      registry,
      settings: options.settings,
      name: () => this.currentName,
      onEnd: (gone) => {
        this.elements.dispose();
        this.keyboard.dispose();
        this.questions.dispose();
        this.notice[Symbol.dispose]();
        pane.release(gone);
      },
    });
  }

  private createElements(clock: Clock): ElementStore {
    return new ElementStore({
      limits: this.options.settings.elements,
      newId: () => crypto.randomUUID(),
      schedule: (ms, expire) => {
        const timer = clock.after(ms, expire);
        return () => timer[Symbol.dispose]();
      },
      onChange: (change) => {
        if (change === "layout") void this.layOutPanes();
        this.events.emit("drawn", undefined);
      },
    });
  }

  private createKeyboard(clock: Clock): Keyboard {
    return new Keyboard({
      clock,
      hasSubscribers: () => this.events.count("typed") > 0,
      typed: (key) => {
        const target = this.elements.focused;
        this.events.emit("typed", { ...key, pane: this.typedPane, ...present({ target }) });
      },
      modeChanged: (mode) => {
        if (mode === "passthrough") this.elements.unfocus();
        this.events.emit("inputMode", mode);
        this.events.emit("drawn", undefined);
      },
      focused: () => this.elements.focused,
    });
  }

  private createQuestions(clock: Clock): Questions {
    return new Questions({
      clock,
      newId: () => crypto.randomUUID(),
      countPeople: () => this.viewers.peopleCount,
      hasNotice: () => this.options.isNoticed?.() === true,
      secrets: this.pane.secrets,
      programState: (id) => this.pane.stateIn?.(id) ?? this.pane.state(),
      takenOver: (id) => {
        this.keyboard.release();
        this.pane.reveal?.(id);
      },
      changed: () => this.events.emit("drawn", undefined),
      waiting: (count) => this.events.emit("questions", count),
      happened: (change) => this.events.emit("question", change),
    });
  }

  /** Shows a line at the edge, outside of all panels; null removes it. */
  setStatus(status: StatusLine | null): void {
    const before = this.statusLine;
    this.statusLine = status;
    if (before?.position !== status?.position) void this.layOutPanes();
    this.events.emit("drawn", undefined);
  }

  /** The status line, if it is shown. */
  get status(): StatusLine | null {
    return statusRow(this.layout) === null ? null : this.statusLine;
  }

  /** Positions of panels on an outer screen of that size. */
  layoutAt(outer: Size): Layout {
    const { statusLine } = this;
    return statusLine === null
      ? this.elements.layout(outer)
      : layoutWithStatus(statusLine.position, outer, (rest) => this.elements.layout(rest));
  }

  /** `@s3` */
  get id(): string {
    return sessionId(this.options.id);
  }

  get name(): string {
    return this.currentName;
  }

  get tags(): readonly string[] {
    return [...this.tagSet].sort();
  }

  /** Whether nothing of the session may be stored on disk. */
  get isPrivate(): boolean {
    return this.isKeptPrivate;
  }

  setPrivate(on: boolean): void {
    const becomesPrivate = on && !this.isKeptPrivate;
    this.isKeptPrivate = on;
    if (becomesPrivate) this.events.emit("private", undefined);
  }

  isAllowed(agent: string): boolean {
    return this.allowedAgents.has(agent);
  }

  /** @param agent as an owner is named */
  allow(agent: string): void {
    this.allowedAgents.add(agent);
    this.events.emit("info", undefined);
  }

  get size(): Size {
    return this.window.size;
  }

  /** The panels' positions on the outer screen, and the remaining size for the program. */
  get layout(): Layout {
    return this.window.layout;
  }

  /** The registry has given the session another name. */
  setName(name: string): void {
    if (name === this.currentName) return;
    const old_name = this.currentName;
    this.currentName = name;
    this.events.emit("renamed", { old_name, new_name: name });
  }

  /** @throws WshError session_ended, with the program's end */
  requireRunning(): void {
    if (this.exit === null) return;
    const { code, signal } = this.exit;
    throw new WshError("session_ended", `the program of session '${this.name}' has ended`, { exit_code: code, signal });
  }

  /** Null while the program runs. */
  get exit(): PtyExit | null {
    return this.pane.exit;
  }

  /** The session's entry in lists, and how long its state lasts unless an event ends it. */
  listing(): { readonly info: SessionInfo; readonly lasting: StateLasting } {
    const { state, lasting } = this.pane.stateLasting();
    return { info: this.info(state), lasting };
  }

  info(currentState?: SessionState): SessionInfo {
    const { rows, cols } = this.size;
    const { current: writer } = this.writer;
    const pane = { ...this.pane.info(currentState), ...(writer === null ? {} : { typed_by: writer }) };
    const { id, pid, command, state, cwd, title, agent } = pane;
    const idle = this.pane.activity.idleMs();
    return {
      id: this.id,
      pane_id: id,
      name: this.name,
      server: this.options.server,
      pid,
      command,
      rows,
      cols,
      clients: this.streams,
      attached: this.viewers.count,
      tags: [...this.tags],
      last_activity_ms: idle,
      idle_ms: idle,
      running: this.exit === null,
      state,
      ...defined({ agent }),
      cwd,
      title,
      exit_code: this.exit?.code ?? null,
      signal: this.exit?.signal ?? null,
      created_at: this.createdAt,
      windows: this.pane.windows?.() ?? [this.window.info(pane)],
      ...(this.viewers.pages.length === 0 ? {} : { viewers: this.viewers.pages }),
      ...defined({
        owner: this.options.owner,
        worktree: this.options.worktree,
        crashed: this.options.crashed,
        idle_limit: this.options.idleLimit,
      }),
      ...present({ port: this.port, ends: this.ending }),
      ...(this.isKeptPrivate ? { private: true } : {}),
      ...(this.allowedAgents.size === 0 ? {} : { agents_allowed: [...this.allowedAgents] }),
    };
  }

  /** The TCP port that the session has on lease; null: none. */
  get port(): number | null {
    const port = this.options.env?.[PORT_VARIABLE];
    return port === undefined ? null : Number(port);
  }

  /** The git worktree in which the session runs; null: none. */
  get worktree(): Worktree | null {
    return this.options.worktree ?? null;
  }

  /** Hooks given at its creation. */
  get hooks(): Hook[] | undefined {
    const { hooks } = this.options;
    return hooks === undefined ? undefined : [...hooks];
  }

  /** The time without use after which it ends, as its creator wrote it; null: it does not. */
  get idleLimit(): string | null {
    return this.options.idleLimit ?? null;
  }

  /** Sets when the session will end unless it is used, so that people are warned. */
  setEnding(ends: SessionEnding | null): void {
    this.ending = ends;
    this.events.emit("info", undefined);
    if (ends !== null) this.events.emit("warned", ends);
  }

  /** The session's owner; null: unknown. */
  get owner(): Owner | null {
    return this.options.owner ?? null;
  }

  /** Its windows; programs' states in them may be a quarter of a second old. */
  get windows(): readonly WindowInfo[] {
    return this.pane.windows?.() ?? [this.window.info(this.pane.info())];
  }

  /**
   * Renames and changes tags, all or nothing: everything is checked before anything changes.
   * @throws WshError invalid_session_name, invalid_tag, session_name_conflict
   */
  async update(change: UpdateSession): Promise<void> {
    const adding = normalizeTags(change.add_tags).filter((tag) => !this.tagSet.has(tag));
    const removing = [...new Set(change.remove_tags)].filter((tag) => this.tagSet.has(tag));
    const { name } = change;
    if (name !== undefined && name !== this.currentName) this.setName(await this.registry.rename(name));
    if (change.private !== undefined) this.setPrivate(change.private);
    for (const tag of adding) this.tagSet.add(tag);
    if (adding.length > 0) this.events.emit("tagged", { added: adding, removed: [], tags: this.tags });
    const removed = removing.filter((tag) => this.tagSet.delete(tag));
    if (removed.length > 0) this.events.emit("tagged", { added: [], removed: removed.sort(), tags: this.tags });
    this.events.emit("info", undefined);
  }

  /**
   * A call sets the size, which holds until an attached terminal acts.
   * @param force even if people are attached
   * @throws WshError size_held
   */
  async setSize(size: Size, force: boolean): Promise<void> {
    if (!force && this.viewers.hasDeciding) {
      const { rows, cols } = this.size;
      const message = `attached terminals decide the size of session '${this.name}' (${cols}x${rows})`;
      throw new WshError("size_held", message, { rows, cols });
    }
    this.viewers.imposeSize(size);
    await this.resize();
  }

  /** Sets the outer size; null takes it from the viewers. */
  async resize(size: Size | null = this.viewers.size() ?? this.window.unattendedSize): Promise<void> {
    if (size === null || this.isSized) return;
    const changed = await this.window.resize(size);
    this.events.emit("listed", undefined);
    if (!changed) return;
    this.events.emit("resized", size);
    for (const viewer of this.viewers.all) viewer.sizeChanged();
  }

  /** Gives the program the part of the outer size without panels. */
  async layOutPanes(): Promise<void> {
    await this.window.layOutPane();
    this.events.emit("listed", undefined);
  }

  /**
   * Keys of an attached terminal: they count as activity even while keys are captured.
   * @param byAgent an AI agent attached the terminal: nothing that follows is a person's
   */
  typed(viewer: number, bytes: Uint8Array, to: TypedInput = this.pane, flags = to.flags(), byAgent = false): void {
    to.activity.record();
    this.typedPane = to.id;
    if (!this.keyboard.type(viewer, bytes, hidesTypedText(flags))) return;
    this.submittedLines.noteInput(to.id, bytes, {
      viewer,
      submittedAt: this.clock.now(),
      submittedWallTime: this.clock.wall(),
    });
    to.typed(bytes, flags, byAgent);
  }

  /** A streaming client connected or disconnected. */
  openStream(): () => void {
    this.streams++;
    this.events.emit("info", undefined);
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      this.streams--;
      this.events.emit("info", undefined);
    };
  }

  get streamCount(): number {
    return this.streams;
  }

  /** Disconnects attached terminals; a number selects one. @returns how many @throws WshError client_not_found */
  detach(which: "all" | "used" | "others" | number): number {
    const { all, inUse } = this.viewers;
    const terminalId = typeof which === "number" ? which : inUse;
    const detached = which === "all" ? all : all.filter(({ id }) => (id === terminalId) === (which !== "others"));
    if (typeof which === "number" && detached.length === 0)
      throw new WshError("client_not_found", `terminal ${which} is not attached to the session`);
    for (const viewer of detached) viewer.end({ reason: "detached" });
    return detached.length;
  }
}
