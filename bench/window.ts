/**
 * A minimal terminal for measures: it types and sees bytes arrive. It displays nothing, so that its own work is small and
 * the same for every peer.
 */
import { until } from "./until.ts";

const encoder = new TextEncoder();
/** Newest output kept for searches, in bytes: more than a screen. */
const KEPT = 65_536;

export class Window implements Disposable {
  /** Bytes received. */
  received = 0;
  /** Time of the last bytes. */
  lastAt = 0;
  private readonly decoder = new TextDecoder();
  private readonly child: Bun.Subprocess;
  private text = "";
  private wanted: { readonly text: string; found(at: number): void } | null = null;

  constructor(
    command: readonly string[],
    options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
  ) {
    this.child = Bun.spawn([...command], {
      cwd: options.cwd,
      env: { ...options.env },
      terminal: { rows: 24, cols: 80, data: (_terminal, bytes) => this.arrived(bytes) },
    });
  }

  get exited(): Promise<number> {
    return this.child.exited;
  }

  type(text: string): void {
    this.child.terminal?.write(encoder.encode(text));
  }

  resize(rows: number, cols: number): void {
    this.child.terminal?.resize(cols, rows);
  }

  /** Resolves with the time at which `text` arrives; earlier output does not count. */
  next(text: string): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.text = "";
    this.wanted = { text, found: resolve };
    return promise;
  }

  /** Waits until `text` has arrived since the last call of `next`. */
  async sees(text: string): Promise<void> {
    await until(`the terminal to show ${text}; it got ${JSON.stringify(this.text.slice(-500))}`, () =>
      this.text.includes(text),
    );
  }

  /** Runs once per read. */
  private arrived(bytes: Uint8Array): void {
    this.received += bytes.length;
    this.lastAt = performance.now();
    this.text += this.decoder.decode(bytes, { stream: true });
    const { wanted } = this;
    if (wanted !== null && this.text.includes(wanted.text)) {
      this.wanted = null;
      wanted.found(performance.now());
    }
    if (this.text.length > 2 * KEPT) this.text = this.text.slice(-KEPT);
  }

  [Symbol.dispose](): void {
    this.child.kill("SIGKILL");
    this.child.terminal?.close();
  }
}
