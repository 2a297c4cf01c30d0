/**
 * A person's terminal, as far as a measure needs one: it types, and sees bytes arrive. It shows nothing, so that its own
 * work is the same small amount whatever writes to it.
 */
import { until } from "./until.ts";

const encoder = new TextEncoder();
/** Bytes of the newest output that are kept to be searched: more than a screen. */
const KEPT = 65_536;

export class Window implements Disposable {
  /** Bytes that arrived. */
  received = 0;
  /** When the last ones did. */
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

  /** Resolves with the time at which `text` arrives from now on; what came before does not count. */
  next(text: string): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.text = "";
    this.wanted = { text, found: resolve };
    return promise;
  }

  /** Waits until `text` has arrived, ever since the last call of `next`. */
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
