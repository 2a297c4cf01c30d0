/**
 * A session: its identity (id, name, tags), its pane, the terminals that look at it, and what it reports. It knows no
 * transport: the host turns what it emits into frames and what arrives into calls. Everything about the program's life
 * goes through here, so that an end is reported once, with its reason, after the last output.
 *
 * Rows and columns: `outer` is the size that viewers or callers asked for; the pane gets what panels leave of it.
 */

import type { ElementLimits, ScreenMode } from "../protocol/elements.ts";
import { WshError } from "../protocol/errors.ts";
import { normalizeTags } from "../protocol/names.ts";
import type { Format } from "../protocol/screen.ts";
import type { EndReason, SessionInfo, SessionState } from "../protocol/session.ts";
import type { PtyExit, PtyOpen, PtySpawn } from "../pty/port.ts";
import { execInput } from "../shell/exec-input.ts";
import type { ShellKind } from "../shell/launch.ts";
import type { Mark, TerminalSink } from "../terminal/model.ts";
import type { TerminalProfile } from "../terminal/profile.ts";
import type { TextRange } from "../terminal/transcript.ts";
import { Activity } from "./activity.ts";
import { type CommandLimits, Commands } from "./commands-session.ts";
import { ElementStore } from "./elements.ts";
import { Emitter } from "./emitter.ts";
import { type Clock, type ExecTarget, systemClock } from "./exec-port.ts";
import { type InputMode, Keyboard, type TypedKey } from "./keyboard.ts";
import { type Layout, layoutPanels } from "./layout.ts";
import { Pane } from "./pane.ts";
import { SessionText } from "./terminal-text.ts";
import { type Size, type SizePolicy, Viewers } from "./viewers.ts";

export interface SessionSettings {
  readonly historyLines: number;
  readonly historyBytes: number;
  /** How long an ended session stays readable, in ms. */
  readonly graceMs: number;
  /** The same when whoever started the program has stopped waiting for it, in ms. */
  readonly execGraceMs: number;
  /** How long a killed program has between SIGHUP and SIGKILL, in ms. */
  readonly killGraceMs: number;
  readonly sizePolicy: SizePolicy;
  readonly elements: ElementLimits;
  /** Pending waits, and what command records keep. */
  readonly commands: CommandLimits;
}

export interface SessionOptions {
  readonly id: number;
  readonly name: string;
  readonly tags: readonly string[];
  readonly server: string;
  /** What lists show as the command. */
  readonly command: string;
  readonly spawn: PtySpawn;
  readonly open: PtyOpen;
  readonly nonce: string | null;
  readonly shell: {
    readonly kind: ShellKind;
    /** The command that runs instead of a shell, when one does: all its output is that command's. */
    readonly command: string | null;
    readonly integration: { readonly active: true } | { readonly active: false; readonly reason: string };
  };
  readonly profile: TerminalProfile;
  /** Programs' clipboard writes do not reach clients. */
  readonly hideClipboard: boolean;
  /** Neither do the titles that they set. */
  readonly hideTitles: boolean;
  readonly settings: SessionSettings;
  /** The program waits with its output until somebody follows it, at most so long, in ms. */
  readonly heldMs?: number;
  readonly clock?: Clock;
}

export type Chunk = Parameters<TerminalSink["chunk"]>[0];

/** What a session reports to those who listen. */
export interface SessionEvents extends Record<string, unknown> {
  /** Parsed output, as clients may see it. */
  chunk: Chunk;
  /** Anything in SessionInfo that does not change with every key. */
  info: undefined;
  renamed: { readonly old_name: string; readonly new_name: string };
  tagged: { readonly added: readonly string[]; readonly removed: readonly string[]; readonly tags: readonly string[] };
  /** The program has ended; the session stays readable for the grace period. */
  exited: PtyExit;
  /** Somebody who waited for the program's end knows of it: nobody has to be kept for that any more. */
  endTold: undefined;
  /** It was asked to end: its name is free and nobody finds it any more, whatever its program still does. */
  ending: undefined;
  /** The session is over. */
  destroyed: { readonly reason: EndReason; readonly exit: PtyExit };
  reset: Parameters<TerminalSink["reset"]>[0];
  alternate: boolean;
  title: string;
  bell: undefined;
  clipboard: { readonly selection: string; readonly base64: string };
  resized: Size;
  /** The pane's screen is about to be wrapped anew, between two chunks. */
  resizing: undefined;
  /** What is drawn over and beside the terminal, or where, has changed. */
  drawn: undefined;
  /** A person typed, as far as others may know. */
  typed: TypedKey & { readonly target?: string };
  inputMode: InputMode;
  screenMode: ScreenMode;
}

/** How the registry is told; the host implements it over the file system. */
export interface SessionRegistry {
  /** @throws WshError invalid_session_name, session_name_conflict */
  rename(name: string): Promise<void>;
  ended(): Promise<void>;
  live(): Promise<void>;
  /** The session is found no more, neither by name nor by id. */
  leave(): Promise<void>;
}

const UNKNOWN_EXIT: PtyExit = { code: null, signal: null };

export class Session {
  readonly events = new Emitter<SessionEvents>();
  readonly activity: Activity;
  readonly viewers: Viewers;
  readonly elements: ElementStore;
  readonly keyboard: Keyboard;
  readonly createdAt: number;
  private readonly clock: Clock;
  private currentName: string;
  private tagSet: Set<string>;
  private outer: Size;
  private placed: Layout;
  private streams = 0;
  private graceTimer: Disposable | null = null;
  private graceMs: number;
  private told = false;
  private keepers = 0;
  private unfollowed: Disposable | null = null;
  private over: EndReason | null = null;
  private typedAt = Number.NEGATIVE_INFINITY;
  private killing: Promise<void> | null = null;
  private restarting: Promise<void> | null = null;
  /** Called instead of reporting the program's end, while another is about to take its place. */
  private replaced: (() => void) | null = null;
  private paneOrNull: Pane | null = null;
  private parts: { readonly text: SessionText; readonly commands: Commands } | null = null;

  private constructor(
    private readonly options: SessionOptions,
    private readonly registry: SessionRegistry,
  ) {
    this.clock = options.clock ?? systemClock;
    this.activity = new Activity(this.clock);
    this.viewers = new Viewers(options.settings.sizePolicy);
    this.graceMs = options.settings.graceMs;
    this.createdAt = this.clock.wall();
    this.currentName = options.name;
    this.tagSet = new Set(normalizeTags(options.tags));
    this.outer = { rows: options.spawn.rows, cols: options.spawn.cols };
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
  }

  /** @throws WshError session_create_failed */
  static async start(options: SessionOptions, registry: SessionRegistry): Promise<Session> {
    const session = new Session(options, registry);
    const { spawn, open, nonce, settings, profile, hideClipboard, hideTitles, command } = options;
    const pane = new Pane(
      {
        id: `@${options.id}`,
        command,
        spawn,
        open,
        nonce,
        profile,
        hideClipboard,
        hideTitles,
        historyLines: settings.historyLines,
        historyBytes: settings.historyBytes,
      },
      {
        chunk: (chunk) => session.chunkParsed(chunk),
        mark: (mark) => session.markSeen(mark),
        bell: () => session.bellRang(),
        title: (title) => session.events.emit("title", title),
        cwd: () => session.events.emit("info", undefined),
        alternate: (active) => {
          session.elements.setChildAlternate(active);
          session.events.emit("alternate", active);
        },
        clipboard: (selection, base64) => session.events.emit("clipboard", { selection, base64 }),
        reset: (reason) => session.events.emit("reset", reason),
        resizing: () => session.events.emit("resizing", undefined),
        retired: (lines) => session.parts?.commands.retired(lines),
        // The end of a line that began further up is gone: what is printed there next begins another.
        erased: ({ line, col }) => session.parts?.commands.erased(col > 0 ? line + 1 : line),
        exit: (exit) => session.programEnded(exit),
      },
    );
    session.paneOrNull = pane;
    session.join();
    session.commandBegins();
    if (options.heldMs !== undefined) session.awaitFollower(options.heldMs);
    await pane.start();
    return session;
  }

  get pane(): Pane {
    if (this.paneOrNull === null) throw new WshError("parser_unavailable", `session '${this.name}' is not ready`);
    return this.paneOrNull;
  }

  /** Command records, waiting, exec and run. */
  get commands(): Commands {
    if (this.parts === null) throw new WshError("parser_unavailable", `session '${this.name}' is not ready`);
    return this.parts.commands;
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

  get isOver(): boolean {
    return this.over !== null;
  }

  /** It was asked to end; why is told when it is over. */
  get isEnding(): boolean {
    return this.killing !== null;
  }

  /** The registry gave the session another name. */
  renamedTo(name: string): void {
    if (name === this.currentName) return;
    const old_name = this.currentName;
    this.currentName = name;
    this.events.emit("renamed", { old_name, new_name: name });
  }

  /** Where panels are on the outer screen, and what they leave the program. */
  get layout(): Layout {
    return this.placed;
  }

  get exit(): PtyExit | null {
    return this.pane.exit;
  }

  /** Whether its program is one command instead of a shell. */
  get runsOneCommand(): boolean {
    return this.options.shell.command !== null;
  }

  /** A place in the output that only grows. */
  get outputCursor(): number {
    return this.pane.terminal.offset;
  }

  /** Resolves when there is output past the cursor, the program has ended, or the time is over. */
  outputAfter(cursor: number, waitMs: number, signal: AbortSignal): Promise<void> {
    if (this.outputCursor > cursor || this.exit !== null || signal.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.clock.after(waitMs, resolve);
    const ends = [this.events.on("chunk", () => resolve()), this.events.on("exited", () => resolve())];
    const cancel = (): void => resolve();
    signal.addEventListener("abort", cancel, { once: true });
    return promise.finally(() => {
      timer[Symbol.dispose]();
      signal.removeEventListener("abort", cancel);
      for (const end of ends) end();
    });
  }

  /** Logical lines of the normal screen since an output cursor; what is no longer kept counts as dropped. */
  textSince(cursor: number, format: Format): TextRange {
    const { terminal } = this.pane;
    const from = this.parts?.text.placeAt(cursor) ?? null;
    return terminal.text(from ?? { line: terminal.firstLine, col: 0 }, undefined, format);
  }

  /** Whether the session's shell tells where commands begin and end, and why not. */
  integration(): { active: boolean; shell: string | null; reason?: string } {
    const { kind, integration } = this.options.shell;
    const shell = kind === "other" ? null : kind;
    if (!integration.active) return { active: false, shell, reason: integration.reason };
    const { recorder } = this.commands;
    if (recorder.active || recorder.verified) return { active: true, shell };
    return { active: false, shell, reason: "the shell has shown no prompt of its own yet" };
  }

  state(): SessionState {
    return this.exit === null ? this.commands.state().state : "exited";
  }

  info(): SessionInfo {
    const { pane } = this;
    const { rows, cols } = pane.terminal;
    const idle = this.activity.idleMs();
    const state = this.state();
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

  /** Sets the outer size; null takes it from the viewers. */
  async resize(asked: Size | null = this.viewers.size()): Promise<void> {
    if (asked === null) return;
    const changed = asked.rows !== this.outer.rows || asked.cols !== this.outer.cols;
    this.outer = asked;
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
    this.commands.typing(bytes);
    // What a stopped program does not read is refused by the PTY's limit; a person sees that nothing appears.
    this.pane.send(bytes).catch(() => {});
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

  /**
   * Starts the program again in the same place; who asks while that is being done gets the same start.
   * @throws WshError session_create_failed, session_name_conflict (its name was taken since it ended)
   */
  restart(): Promise<void> {
    if (this.killing !== null) return Promise.reject(this.gone());
    this.restarting ??= this.startAgain().finally(() => {
      this.restarting = null;
    });
    return this.restarting;
  }

  private async startAgain(): Promise<void> {
    if (this.exit !== null) await this.registry.live();
    else await this.makeRoom();
    this.graceTimer?.[Symbol.dispose]();
    this.graceTimer = null;
    this.told = false;
    this.commandBegins();
    try {
      await this.pane.restart();
    } catch (error) {
      this.programEnded(this.exit ?? UNKNOWN_EXIT);
      throw error;
    }
    this.activity.started();
    this.events.emit("info", undefined);
  }

  /** Ends the program for its successor: the session goes on, and nobody is told of an end. */
  private async makeRoom(): Promise<void> {
    const ended = Promise.withResolvers<void>();
    this.replaced = ended.resolve;
    await this.hangUp(ended.promise);
    this.replaced = null;
  }

  /** Whoever started the program waits for it no more: once it has ended its result is kept for longer. */
  keepLonger(): void {
    this.graceMs = Math.max(this.graceMs, this.options.settings.execGraceMs);
    if (this.graceTimer !== null) this.startGrace();
  }

  private startGrace(): void {
    this.graceTimer?.[Symbol.dispose]();
    this.graceTimer = this.clock.after(this.graceMs, () => {
      if (this.keepers === 0) this.destroy("exited");
      else this.startGrace();
    });
  }

  /** Somebody still reads: the session's end waits for that. @returns what ends it */
  keep(): () => void {
    this.keepers++;
    let kept = true;
    return () => {
      if (kept) this.keepers--;
      kept = false;
    };
  }

  private awaitFollower(ms: number): void {
    const hold = this.pane.hold();
    const timer = this.clock.after(ms, () => this.followed());
    this.unfollowed = {
      [Symbol.dispose]: () => {
        timer[Symbol.dispose]();
        hold[Symbol.dispose]();
      },
    };
  }

  /** Whoever was waited for reads now. */
  followed(): void {
    this.unfollowed?.[Symbol.dispose]();
    this.unfollowed = null;
  }

  /** A waiter was told that the program has ended. */
  endTold(): void {
    if (this.exit === null || this.told) return;
    this.told = true;
    this.events.emit("endTold", undefined);
  }

  /** SIGHUP and SIGCONT, SIGKILL after the grace; resolves when the session is over. */
  kill(reason: "killed" | "server_stopped"): Promise<void> {
    this.killing ??= this.endProgram(reason);
    return this.killing;
  }

  private async endProgram(reason: "killed" | "server_stopped"): Promise<void> {
    this.events.emit("ending", undefined);
    this.activity.dispose(this.gone()); // to them it is gone, whatever its program's end will look like
    const left = this.registry.leave().catch(() => {}); // tried again when the session is over
    for (const viewer of this.viewers.all) viewer.end({ reason });
    await this.restarting?.catch(() => {});
    if (this.exit === null) {
      const ended = Promise.withResolvers<void>();
      const off = this.events.on("exited", () => ended.resolve());
      await this.hangUp(ended.promise);
      off();
    }
    await left;
    this.destroy(reason);
  }

  /** Asks the program to end, then makes it; resolves when it has. */
  private async hangUp(ended: Promise<void>): Promise<void> {
    this.pane.letGo();
    for (const name of ["SIGHUP", "SIGCONT"] as const) this.signalAll(name);
    using _timer = this.clock.after(this.options.settings.killGraceMs, () => this.signalAll("SIGKILL"));
    await ended;
  }

  private signalAll(name: NodeJS.Signals): void {
    for (const to of ["foreground", "group"] as const) {
      try {
        this.pane.signal(name, to);
      } catch {
        // Ended meanwhile, or the group has nobody left.
      }
    }
  }

  /** A session that runs a command has it as its first record, from the first byte to the process's end. */
  private commandBegins(): void {
    const { command } = this.options.shell;
    if (command === null || this.parts === null) return;
    const { text, commands } = this.parts;
    const mark = {
      verified: true,
      exitCode: null,
      commandLine: command,
      offset: text.offset,
      position: text.position(),
    };
    commands.mark({ ...mark, kind: "E" });
    commands.mark({ ...mark, kind: "C" });
  }

  /** Joins the parts that need each other and the running pane. */
  private join(): void {
    const { pane, clock, activity } = this;
    const text = new SessionText(pane.terminal);
    const program = {
      get pid() {
        return pane.pid;
      },
      flags: () => pane.pty?.flags() ?? null,
      foreground: () => pane.pty?.foreground() ?? null,
      get exit() {
        return pane.exit;
      },
    };
    const cwd = (): string | null => pane.terminal.cwd ?? pane.startCwd;
    const limits = this.options.settings.commands;
    const target = this.execTarget();
    this.parts = { text, commands: new Commands({ text, clock, program, target, activity, cwd, limits }) };
  }

  private execTarget(): ExecTarget {
    const { pane, options } = this;
    const { kind, integration } = options.shell;
    const shell = integration.active && kind !== "other" ? kind : null;
    return {
      shell,
      integrationReason: integration.active ? null : integration.reason,
      get bracketedPaste() {
        return pane.terminal.modes.bracketedPaste;
      },
      write: async (bytes) => {
        await pane.send(bytes);
        this.activity.record();
      },
      signal: (name) => pane.signal(name, "foreground"),
      execInput: (command) => execInput(command, kind, { bracketedPaste: pane.terminal.modes.bracketedPaste }).text,
    };
  }

  /** Runs per chunk. */
  private chunkParsed(chunk: Chunk): void {
    this.activity.record();
    this.parts?.text.chunk();
    this.parts?.commands.chunk();
    this.events.emit("chunk", chunk);
  }

  private markSeen(mark: Mark): void {
    if (this.parts === null) return;
    this.parts.text.note(mark.offset, mark.position);
    this.parts.commands.mark({
      kind: mark.kind,
      verified: mark.nonce !== null && mark.nonce === this.options.nonce,
      exitCode: mark.exitCode,
      commandLine: mark.commandLine ?? null,
      offset: mark.offset,
      position: this.parts.text.textPosition(mark.position),
    });
  }

  private bellRang(): void {
    this.parts?.commands.bell();
    this.events.emit("bell", undefined);
  }

  private programEnded(exit: PtyExit): void {
    this.commands.exited(exit);
    if (this.replaced !== null) {
      this.replaced();
      return;
    }
    this.activity.exited();
    this.events.emit("exited", exit);
    if (this.killing !== null) return;
    void this.registry.ended().catch(() => {});
    this.events.emit("info", undefined);
    for (const viewer of this.viewers.all) {
      viewer.end({ reason: "exited", exit_code: exit.code, signal: exit.signal });
      this.endTold();
    }
    this.startGrace();
  }

  private gone(): WshError {
    return new WshError("session_not_found", `session '${this.name}' was ended`);
  }

  private destroy(reason: EndReason): void {
    if (this.over !== null) return;
    this.over = reason;
    this.graceTimer?.[Symbol.dispose]();
    this.followed();
    this.events.emit("destroyed", { reason, exit: this.exit ?? UNKNOWN_EXIT });
    const gone = this.gone();
    this.activity.dispose(gone);
    this.elements.dispose();
    this.keyboard.dispose();
    this.parts?.commands.dispose(gone);
    this.pane.dispose();
  }
}
