/**
 * A session: its identity (id, name, tags), its program and how that ends, the terminals that look at it, what is drawn
 * over it and who has its keys. It joins these parts and knows no transport: the host turns what it emits into frames
 * and what arrives into calls.
 *
 * Rows and columns: `outer` is the size that viewers or callers asked for; the pane gets what panels leave of it.
 */

import { type Clock, systemClock } from "../base/clock.ts";
import { Emitter } from "../base/emitter.ts";
import { type Layout, layoutPanels } from "../compositor/panel-layout.ts";
import { Activity } from "../pane/activity.ts";
import type { Commands } from "../pane/commands/commands.ts";
import { Program } from "../pane/pane.ts";
import type { Pane } from "../pane/program.ts";
import type { Lasting } from "../pane/state/lasting.ts";
import { WshError } from "../protocol/errors.ts";
import { normalizeTags } from "../protocol/names.ts";
import type { SessionInfo, SessionState } from "../protocol/session.ts";
import type { Size } from "../protocol/size.ts";
import type { PtyExit } from "../pty/port.ts";
import { ElementStore } from "./drawing/element-store.ts";
import { Keyboard } from "./keyboard.ts";
import { Lifetime } from "./lifetime.ts";
import type { SessionEvents, SessionOptions, SessionRegistry } from "./types.ts";
import { Viewers } from "./viewers.ts";

/** A terminal smaller than this is a window that was squeezed: programs can do nothing there. */
const USABLE: Size = { rows: 5, cols: 20 };

/** What a person types in one go is hardly longer; of a paste the program's answer is no echo to be waited for. */
const KEY_BYTES = 16;

export class Session {
  readonly events = new Emitter<SessionEvents>();
  readonly activity: Activity;
  readonly viewers: Viewers;
  readonly elements: ElementStore;
  readonly keyboard: Keyboard;
  readonly program: Program;
  /** How the program and the session end. */
  readonly lifetime: Lifetime;
  readonly createdAt: number;
  private readonly clock: Clock;
  private currentName: string;
  private tagSet: Set<string>;
  private outer: Size;
  /** The newest size that programs can work with, or the first. */
  private usable: Size;
  private placed: Layout;
  private streams = 0;
  private typedAt = Number.NEGATIVE_INFINITY;

  private constructor(
    private readonly options: SessionOptions,
    private readonly registry: SessionRegistry,
  ) {
    this.clock = options.clock ?? systemClock;
    const listed = (): void => this.events.emit("listed", undefined);
    this.activity = new Activity(this.clock, listed);
    this.viewers = new Viewers(options.settings.sizePolicy, listed);
    this.createdAt = this.clock.wall();
    this.currentName = options.name;
    this.tagSet = new Set(normalizeTags(options.tags));
    this.outer = { rows: options.spawn.rows, cols: options.spawn.cols };
    this.usable = this.outer;
    this.placed = layoutPanels([], this.outer);
    this.elements = new ElementStore({
      limits: options.settings.elements,
      newId: () => crypto.randomUUID(),
      schedule: (ms, expire) => {
        const timer = this.clock.after(ms, expire);
        return () => timer[Symbol.dispose]();
      },
      onChange: (change) => {
        if (change.layout) void this.layOut();
        if (change.mode) this.events.emit("screenMode", this.elements.screenMode);
        this.events.emit("drawn", undefined);
      },
    });
    this.keyboard = new Keyboard({
      clock: this.clock,
      overheard: () => this.events.count("typed") > 0,
      typed: (key) => {
        const target = this.elements.focused;
        this.events.emit("typed", target === null ? key : { ...key, target });
      },
      modeChanged: (mode) => {
        if (mode === "passthrough") this.elements.unfocus();
        this.events.emit("inputMode", mode);
        this.events.emit("drawn", undefined);
      },
      focused: () => this.elements.focused,
    });
    const { clock, activity, viewers, events } = this;
    this.program = new Program(options, clock, activity, events, {
      ended: (exit) => this.lifetime.programEnded(exit),
      alternate: (active) => {
        this.elements.setChildAlternate(active);
        events.emit("alternate", active);
      },
    });
    this.lifetime = new Lifetime({
      program: this.program,
      clock,
      activity,
      viewers,
      events,
      registry,
      settings: options.settings,
      name: () => this.currentName,
      over: (gone) => {
        this.elements.dispose();
        this.keyboard.dispose();
        this.program.commands.dispose(gone);
        this.program.pane.dispose();
      },
    });
  }

  /** @throws WshError session_create_failed */
  static async start(options: SessionOptions, registry: SessionRegistry): Promise<Session> {
    const session = new Session(options, registry);
    if (options.heldMs !== undefined) session.lifetime.awaitFollower(options.heldMs);
    await session.program.start();
    return session;
  }

  get pane(): Pane {
    return this.program.pane;
  }

  /** Command records, waiting, exec and run. */
  get commands(): Commands {
    return this.program.commands;
  }

  get name(): string {
    return this.currentName;
  }

  get tags(): readonly string[] {
    return [...this.tagSet].sort();
  }

  get size(): Size {
    return this.outer;
  }

  /** The registry gave the session another name. */
  renamedTo(name: string): void {
    if (name === this.currentName) return;
    const old_name = this.currentName;
    this.currentName = name;
    this.events.emit("renamed", { old_name, new_name: name });
  }

  /** @throws WshError session_ended, with how it ended */
  requireRunning(): void {
    if (this.exit === null) return;
    const { code, signal } = this.exit;
    throw new WshError("session_ended", `the program of session '${this.name}' has ended`, { exit_code: code, signal });
  }

  /** Where panels are on the outer screen, and what they leave the program. */
  get layout(): Layout {
    return this.placed;
  }

  /** Null while the program runs. */
  get exit(): PtyExit | null {
    return this.program.exit;
  }

  /** What lists show of it, and how long its state lasts of itself. */
  listing(): { readonly info: SessionInfo; readonly lasting: Lasting } {
    const { state, lasting } = this.program.stateLasting();
    return { info: this.info(state), lasting };
  }

  info(state: SessionState = this.program.state()): SessionInfo {
    const { pane } = this;
    const { rows, cols } = pane.terminal;
    const idle = this.activity.idleMs();
    const cwd = pane.terminal.cwd ?? pane.startCwd;
    const { title } = pane.terminal;
    const index = 0;
    return {
      id: pane.id,
      name: this.name,
      server: this.options.server,
      pid: pane.pid,
      command: pane.command,
      rows: this.outer.rows,
      cols: this.outer.cols,
      clients: this.streams,
      attached: this.viewers.count,
      tags: [...this.tags],
      last_activity_ms: idle,
      idle_ms: idle,
      running: this.exit === null,
      state,
      cwd,
      title,
      exit_code: this.exit?.code ?? null,
      signal: this.exit?.signal ?? null,
      created_at: this.createdAt,
      windows: [
        {
          id: `w${this.options.id}`,
          index,
          name: "0",
          active: true,
          rows: this.outer.rows,
          cols: this.outer.cols,
          panes: [
            { id: pane.id, index, active: true, pid: pane.pid, command: pane.command, rows, cols, cwd, title, state },
          ],
        },
      ],
    };
  }

  /**
   * Renames and changes tags, all or nothing: everything is checked before anything changes.
   * @throws WshError invalid_session_name, invalid_tag, session_name_conflict
   */
  async update(change: {
    name?: string | undefined;
    add_tags: readonly string[];
    remove_tags: readonly string[];
  }): Promise<void> {
    const adding = normalizeTags(change.add_tags).filter((tag) => !this.tagSet.has(tag));
    const removing = [...new Set(change.remove_tags)].filter((tag) => this.tagSet.has(tag));
    const { name } = change;
    if (name !== undefined && name !== this.currentName) {
      await this.registry.rename(name);
      this.renamedTo(name);
    }
    for (const tag of adding) this.tagSet.add(tag);
    if (adding.length > 0) this.events.emit("tagged", { added: adding, removed: [], tags: this.tags });
    const gone = removing.filter((tag) => this.tagSet.delete(tag));
    if (gone.length > 0) this.events.emit("tagged", { added: [], removed: gone.sort(), tags: this.tags });
    this.events.emit("info", undefined);
  }

  /**
   * An API sets the size: it holds until an attached terminal acts.
   * @param force although people are attached
   * @throws WshError size_held
   */
  async setSize(size: Size, force: boolean): Promise<void> {
    if (!force && this.viewers.decide) {
      const { rows, cols } = this.outer;
      const message = `the size of session '${this.name}' (${cols}x${rows}) is decided by who is attached`;
      throw new WshError("size_held", message, { rows, cols });
    }
    this.viewers.impose(size);
    await this.resize();
  }

  /** The size after the last terminal has gone: not one that only that terminal could bear. */
  private unattendedSize(): Size | null {
    const { rows, cols } = this.outer;
    return rows < USABLE.rows || cols < USABLE.cols ? this.usable : null;
  }

  /** Sets the outer size; null takes it from the viewers. */
  async resize(asked: Size | null = this.viewers.size() ?? this.unattendedSize()): Promise<void> {
    if (asked === null) return;
    const changed = asked.rows !== this.outer.rows || asked.cols !== this.outer.cols;
    this.outer = asked;
    if (asked.rows >= USABLE.rows && asked.cols >= USABLE.cols) this.usable = asked;
    await this.layOut();
    if (!changed) return;
    this.events.emit("resized", asked);
    for (const viewer of this.viewers.all) viewer.sizeChanged();
    this.events.emit("info", undefined);
  }

  /** Gives the program what the panels leave of the outer size. */
  async layOut(): Promise<void> {
    this.placed = this.elements.layout(this.outer);
    await this.pane.resize(this.placed.ptyRows, this.placed.ptyCols);
    this.events.emit("listed", undefined);
  }

  /**
   * Input through an API: goes to the program whatever the input mode is, and counts as activity.
   * @throws WshError session_ended, input_send_failed
   */
  async send(bytes: Uint8Array): Promise<void> {
    this.commands.typing(bytes);
    await this.pane.send(bytes);
    this.activity.record();
  }

  /** A person typed at an attached terminal. */
  typed(viewer: number, bytes: Uint8Array): void {
    this.activity.record();
    const flags = this.pane.pty?.flags() ?? null;
    const secret = flags?.canonical === true && !flags.echo;
    if (!this.keyboard.type(viewer, bytes, secret)) return;
    this.typedAt = this.clock.now();
    // What a stopped program does not read is refused by the PTY's limit; a person sees that nothing appears.
    this.pane.send(bytes).catch(() => {});
    const note = (): void => this.commands.typing(bytes, flags);
    // Noted before the answer is parsed, but not before it is shown.
    if (bytes.length <= KEY_BYTES && !secret) this.pane.answered(note);
    else note();
  }

  /** A person at an attached terminal typed within the last `ms`. */
  typedWithin(ms: number): boolean {
    return this.clock.now() - this.typedAt < ms;
  }

  /** A streaming client came or went. */
  streamOpened(): () => void {
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

  /** Disconnects attached terminals. @returns how many there were */
  detachAll(): number {
    const all = this.viewers.all;
    for (const viewer of all) viewer.end({ reason: "detached" });
    return all.length;
  }
}
