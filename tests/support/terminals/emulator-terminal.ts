/**
 * A person's terminal whose every cell, colour and byte can be read: an emulator on the master's side of a PTY on
 * which `wsh` runs. tmux is the terminal that people have; this one can be compared exactly.
 */
import type { Grid } from "../../../src/protocol/grid.ts";
import { until } from "../until.ts";
import type { Wsh } from "../wsh.ts";
import { program } from "../wsh-program.ts";
import type { KittyGraphics } from "./kitty-graphics.ts";
import { describeRows, OuterScreen } from "./outer-screen.ts";

/** Longest wait for the end of a terminal whose program has ended, in ms: another process may keep it open. */
const CLOSE_MS = 2_000;
/** Longest synchronized update, in ms: after a second terminals show it unfinished, but a busy machine may end one later. */
const UPDATE_MS = 5_000;

export interface EmulatorOptions {
  readonly rows?: number;
  readonly cols?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** It displays pictures, or has another ability of its own. */
  readonly graphics?: Pick<KittyGraphics, "take">;
  /** It has sixel graphics alone: it says so in its device attributes, and how large a cell is. */
  readonly sixel?: boolean;
  /** The command that runs wsh; default: the program under test. */
  readonly wsh?: readonly string[];
}

export class EmulatorTerminal implements AsyncDisposable {
  readonly screen: OuterScreen;
  /** All bytes that were written to the terminal. */
  private written: Buffer[] = [];
  private shown: Promise<void> = Promise.resolve();
  private readonly closed = Promise.withResolvers<void>();
  private readonly pty: Bun.Terminal;
  private readonly child: Bun.Subprocess;

  private constructor(
    wsh: Wsh,
    args: readonly string[],
    { rows = 24, cols = 80, env = {}, graphics, sixel = false, wsh: command = program }: EmulatorOptions,
  ) {
    this.screen = new OuterScreen(rows, cols);
    this.child = Bun.spawn([...command, ...args], {
      cwd: wsh.dir,
      env: { ...wsh.env, COLORTERM: "truecolor", ...env },
      terminal: {
        rows,
        cols,
        data: (pty, bytes) => {
          this.receive(bytes);
          const cell = sixel && Buffer.from(bytes).includes("\x1b[16t") ? "\x1b[6;20;10t" : "";
          const answers = (graphics?.take(bytes) ?? "") + cell;
          if (answers !== "") pty.write(answers);
        },
        exit: () => this.closed.resolve(),
      },
    });
    if (this.child.terminal === undefined) throw new Error("no terminal was made");
    this.pty = this.child.terminal;
    // As in a terminal, queries of programs are answered.
    this.screen.terminal.onData((data) => {
      if (!this.pty.closed) this.pty.write(sixel ? data.replace("\x1b[?1;2c", "\x1b[?62;4c") : data);
    });
  }

  /** Runs `wsh ARGS` in a separate terminal. */
  static run(wsh: Wsh, args: readonly string[], options: EmulatorOptions = {}): EmulatorTerminal {
    return new EmulatorTerminal(wsh, args, options);
  }

  /** Attaches to a session and waits until its shell's prompt, or the given text, is visible. */
  static async attach(
    wsh: Wsh,
    name: string,
    { seen = /^\$/m, flags = [], ...options }: EmulatorOptions & { seen?: string | RegExp; flags?: string[] } = {},
  ): Promise<EmulatorTerminal> {
    const terminal = EmulatorTerminal.run(wsh, ["attach", name, ...flags], options);
    await terminal.sees(seen);
    return terminal;
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Resolves with the exit code after all earlier output has been read. */
  get exited(): Promise<number> {
    return this.child.exited.then(async (code) => {
      await Promise.race([this.closed.promise, Bun.sleep(CLOSE_MS)]);
      return code;
    });
  }

  /** Like `exited`, for a program that has to end soon: an error says what is visible instead. */
  async ended(): Promise<number> {
    const { child } = this;
    await until("the program to end", () => child.exitCode !== null || child.signalCode !== null).catch(
      async (error) => {
        throw new Error(`${error.message}; the terminal shows:\n${await this.text()}`);
      },
    );
    return this.exited;
  }

  /** Bytes written so far, as text. */
  get bytes(): string {
    return Buffer.concat(this.written).toString();
  }

  forgetBytes(): void {
    this.written = [];
  }

  type(text: string): void {
    this.pty.write(text);
  }

  /** Closes the window. */
  hangUp(): void {
    this.pty.close();
  }

  resize(rows: number, cols: number): void {
    this.screen.terminal.resize(cols, rows);
    this.pty.resize(cols, rows);
  }

  async text(): Promise<string> {
    await this.painted();
    return this.screen.text().join("\n");
  }

  async grid(): Promise<Grid> {
    await this.painted();
    return this.screen.grid();
  }

  /** Cells with their colours, in a form that a failing test prints readably. */
  async rows(): Promise<string[]> {
    return describeRows((await this.grid()).lines);
  }

  /** Waits until the screen matches; returns the screen. */
  async sees(wanted: string | RegExp | ((text: string) => boolean)): Promise<string> {
    let text = "";
    const found = until(`the terminal to show ${wanted}`, async () => {
      text = await this.text();
      if (typeof wanted === "function") return wanted(text) ? text : null;
      return (typeof wanted === "string" ? text.includes(wanted) : wanted.test(text)) ? text : null;
    });
    return found.catch((error) => {
      throw new Error(`${error.message}; it shows:\n${text.trimEnd()}`);
    });
  }

  /** Lines above the screen. */
  async scrollback(): Promise<string[]> {
    await this.painted();
    return this.screen.scrollback();
  }

  /** Waits until what was received is displayed: of a synchronized update, a terminal shows nothing before its end. */
  private async painted(): Promise<void> {
    const deadline = performance.now() + UPDATE_MS;
    await this.shown;
    while (this.screen.terminal.modes.synchronizedOutputMode && performance.now() < deadline) {
      await Bun.sleep(1);
      await this.shown;
    }
  }

  private receive(bytes: Uint8Array): void {
    this.written.push(Buffer.from(bytes));
    this.shown = this.screen.write(new Uint8Array(bytes));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
    await this.shown;
    this.pty.close();
    this.screen[Symbol.dispose]();
  }
}
