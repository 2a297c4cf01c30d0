/**
 * The session's program and all that is known of it: the pane it runs in, its output as text, its command records and
 * state. It joins the pane's emulator to the command domain, in the order of the stream: marks and retired lines while a
 * chunk is parsed, then the chunk.
 */

import type { Clock } from "../base/clock.ts";
import { Wait } from "../base/deadline.ts";
import type { Format } from "../protocol/screen.ts";
import type { SessionState } from "../protocol/session.ts";
import type { PtyExit } from "../pty/port.ts";
import type { Chunk, SessionEmitter, SessionOptions } from "../session/types.ts";
import { execInput } from "../shell/exec-input.ts";
import { type ShellKind, shellKind } from "../shell/plan.ts";
import type { TextRange } from "../terminal/history/transcript.ts";
import type { Mark } from "../terminal/model.ts";
import type { Activity } from "./activity.ts";
import { Commands } from "./commands/commands.ts";
import type { ExecTarget } from "./ports.ts";
import { Pane } from "./program.ts";
import { QueryAnswers } from "./query-answers.ts";
import type { Lasting } from "./state/lasting.ts";
import { SessionText } from "./text/terminal-text.ts";

export interface ProgramSink {
  /** The program has ended and its last output was parsed. */
  ended(exit: PtyExit): void;
  /** It entered or left its alternate screen. */
  alternate(active: boolean): void;
}

export class Program {
  readonly pane: Pane;
  readonly commands: Commands;
  private readonly text: SessionText;
  private readonly answers: QueryAnswers;

  constructor(
    private readonly options: SessionOptions,
    private readonly clock: Clock,
    private readonly activity: Activity,
    private readonly events: SessionEmitter,
    sink: ProgramSink,
  ) {
    const { spawn, open, nonce, settings, profile, hideClipboard, hideTitles, command } = options;
    const { historyLines, historyBytes } = settings;
    this.pane = new Pane(
      {
        id: `@${options.id}`,
        command,
        spawn,
        open,
        nonce,
        profile,
        hideClipboard,
        hideTitles,
        historyLines,
        historyBytes,
      },
      {
        reply: (bytes) => this.answers.add(bytes),
        chunk: (chunk) => this.chunkParsed(chunk),
        mark: (mark) => this.markSeen(mark),
        bell: () => this.bellRang(),
        title: (title) => events.emit("title", title),
        cwd: () => events.emit("listed", undefined),
        alternate: (active) => sink.alternate(active),
        clipboard: (selection, base64) => events.emit("clipboard", { selection, base64 }),
        reset: (reason) => events.emit("reset", reason),
        resizing: () => events.emit("resizing", undefined),
        ahead: (bytes) => events.emit("ahead", bytes),
        retired: (lines) => this.commands.retired(lines),
        // The end of a line that began further up is gone: what is printed there next begins another.
        erased: ({ line, col }) => this.commands.erased(col > 0 ? line + 1 : line),
        exit: (exit) => {
          options.keyFile?.withdraw();
          this.answers.drop();
          sink.ended(exit);
        },
      },
    );
    this.text = new SessionText(this.pane.terminal);
    this.commands = this.joinCommands();
    this.answers = new QueryAnswers({
      clock,
      send: (bytes) => void this.pane.input.send(bytes).catch(() => {}),
      endWillBeTold: () => !this.runsOneCommand && this.commands.recorder.runningCommand?.verified === true,
      isReading: () => this.commands.state().settled,
    });
  }

  /** @throws WshError session_create_failed */
  async start(): Promise<void> {
    this.options.keyFile?.offer();
    this.commandBegins();
    await this.pane.start();
  }

  /** Starts it again in the same place. @throws WshError session_create_failed */
  async restart(): Promise<void> {
    this.options.keyFile?.offer();
    this.commandBegins();
    await this.pane.restart();
  }

  /** Null while it runs. */
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
    const wait = new Wait<void>({ clock: this.clock, ms: waitMs, signal }, () => {});
    const end = (): void => wait.end();
    wait.own(this.events.on("chunk", end), this.events.on("exited", end));
    return wait.promise;
  }

  /** Logical lines of the normal screen since an output cursor; what is no longer kept counts as dropped. */
  textSince(cursor: number, format: Format): TextRange {
    const { terminal } = this.pane;
    const from = this.text.placeAt(cursor);
    return terminal.text(from ?? { line: terminal.firstLine, col: 0 }, undefined, format);
  }

  /** Whether the session's shell tells where commands begin and end, and why not. */
  integration(): { active: boolean; shell: string | null; reason?: string } {
    const { kind, integration } = this.options.shell;
    const shell = kind === "other" ? null : kind;
    if (!integration.active) return { active: false, shell, reason: integration.reason };
    const { recorder, replacedBy } = this.commands;
    if (replacedBy !== null) {
      const name = shellKind(replacedBy);
      const present = name === "other" ? null : name;
      return { active: recorder.active, shell: present, reason: `the shell has become '${replacedBy}'` };
    }
    if (recorder.active || recorder.verified) return { active: true, shell };
    return { active: false, shell, reason: "the shell has shown no prompt of its own yet" };
  }

  state(): SessionState {
    return this.exit === null ? this.commands.state().state : "exited";
  }

  /** What it does, and how long that lasts of itself. */
  stateLasting(): { readonly state: SessionState; readonly lasting: Lasting } {
    if (this.exit !== null) return { state: "exited", lasting: "reported" };
    const { state, lasting } = this.commands.stateLasting();
    return { state: state.state, lasting };
  }

  /** A session that runs a command has it as its first record, from the first byte to the process's end. */
  private commandBegins(): void {
    const { command } = this.options.shell;
    if (command === null) return;
    const { text, commands } = this;
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

  /** Joins the command domain to the pane. */
  private joinCommands(): Commands {
    const { pane, clock, activity, text } = this;
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
    const shellFile = this.options.shell.integration.active ? this.options.spawn.file : null;
    return new Commands({ text, clock, program, target, activity, cwd, limits, shellFile });
  }

  private execTarget(): ExecTarget {
    const { pane, options } = this;
    const { kind, integration } = options.shell;
    const started = integration.active ? kind : "other";
    const replacedBy = (): string | null => this.commands.replacedBy;
    const present = (): ShellKind => {
      const name = replacedBy();
      return name === null ? started : shellKind(name);
    };
    return {
      get shell() {
        const shell = present();
        return shell === "other" ? null : shell;
      },
      get replacedBy() {
        return replacedBy();
      },
      integrationReason: integration.active ? null : integration.reason,
      get bracketedPaste() {
        return pane.terminal.modes.bracketedPaste;
      },
      write: async (bytes) => {
        await pane.send(bytes);
        this.activity.record();
      },
      signal: (name) => pane.signal(name, "foreground"),
      hold: () => pane.input.hold(),
      get isPasting() {
        return pane.input.isPasting;
      },
      get isWriting() {
        return pane.input.isWriting;
      },
      execInput: (command) => execInput(command, present(), { bracketedPaste: pane.terminal.modes.bracketedPaste }),
    };
  }

  /** Runs per chunk. */
  private chunkParsed(chunk: Chunk): void {
    this.activity.record();
    // Those who look at it come first: what is noted of it is for later questions.
    this.events.emit("chunk", chunk);
    this.text.chunk();
    this.commands.chunk();
    this.answers.output();
  }

  private markSeen(mark: Mark): void {
    this.text.note(mark.offset, mark.position);
    const verified = mark.nonce !== null && mark.nonce === this.options.nonce;
    if (verified) {
      this.options.keyFile?.withdraw();
      if (mark.kind === "D") this.answers.drop();
      this.betweenCommands(mark.kind);
    }
    this.commands.mark({
      kind: mark.kind,
      verified,
      exitCode: mark.exitCode,
      commandLine: mark.commandLine ?? null,
      params: mark.params,
      offset: mark.offset,
      position: this.text.textPosition(mark.position),
    });
  }

  /** The shell has just got the terminal back, or gives it away: it has no modes of its own on. */
  private betweenCommands(kind: Mark["kind"]): void {
    const { terminal } = this.pane;
    const begins = kind === "C" && this.commands.recorder.runningCommand === null;
    if (!begins && kind !== "D") return;
    if (begins) terminal.commandBegins();
    if (this.options.settings.resetModes) terminal.tidy();
  }

  private bellRang(): void {
    this.commands.bell();
    this.events.emit("bell", undefined);
  }
}
