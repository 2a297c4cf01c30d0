/**
 * A terminal that a test attaches: `wsh attach` in a pseudo terminal, its output read by an emulator that answers as a
 * real terminal would. The person's screen is `text`; `pause` makes it a terminal that does not read.
 */

import { OuterScreen } from "../../support/terminals/outer-screen.ts";
import { until } from "../../support/until.ts";
import type { Wsh } from "../../support/wsh.ts";
import { program } from "../../support/wsh-program.ts";

export class AttachedTerminal implements Disposable {
  readonly screen: OuterScreen;
  private constructor(
    private readonly child: Bun.Subprocess,
    private readonly terminal: Bun.Terminal,
    screen: OuterScreen,
  ) {
    this.screen = screen;
  }

  static open(wsh: Wsh, args: readonly string[], { rows = 24, cols = 80 } = {}): AttachedTerminal {
    const screen = new OuterScreen(rows, cols);
    const child = Bun.spawn([...program, ...args], {
      cwd: wsh.dir,
      env: { ...wsh.env },
      terminal: { rows, cols, data: (_, bytes) => void screen.write(new Uint8Array(bytes)) },
    });
    const { terminal } = child;
    if (terminal === undefined) throw new Error("no terminal was opened");
    screen.terminal.onData((answer) => void terminal.write(answer));
    return new AttachedTerminal(child, terminal, screen);
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Resolves with the exit code, 128 + n by signal n. */
  get exited(): Promise<number> {
    return this.child.exited;
  }

  type(text: string): void {
    this.terminal.write(text);
  }

  resize(rows: number, cols: number): void {
    this.screen.terminal.resize(cols, rows);
    this.terminal.resize(cols, rows);
  }

  /** The rows of the terminal's screen. */
  text(): string[] {
    return this.screen.text();
  }

  /** Waits until the screen shows the pattern, or the text, which a narrow terminal wraps. */
  async shows(wanted: RegExp | string): Promise<void> {
    await until(`the terminal to show ${wanted}`, () => {
      const rows = this.text();
      if (typeof wanted !== "string") return wanted.test(rows.join("\n"));
      // A row has lost its last blanks.
      return rows.join("").replaceAll(" ", "").includes(wanted.replaceAll(" ", ""));
    }).catch((error) => {
      throw new Error(`${error.message}; it shows:\n${this.text().join("\n").trimEnd()}`);
    });
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  [Symbol.dispose](): void {
    this.child.kill("SIGKILL");
    this.terminal.close();
    this.screen[Symbol.dispose]();
  }
}
