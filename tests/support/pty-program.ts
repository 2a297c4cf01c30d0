/** One program on a pseudo terminal, with all of its output so far: how PTY tests drive either adapter. */

import type { Pty, PtyExit, PtyOpen } from "../../src/pty/port.ts";
import { PATIENCE_MS } from "./until.ts";

const POLL_MS = 5;

export interface ProgramOptions {
  readonly file?: string;
  readonly args?: readonly string[];
  readonly argv0?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly openFiles?: number;
  readonly rows?: number;
  readonly cols?: number;
  /** Acknowledge nothing until `acknowledge()` is called. */
  readonly hold?: boolean;
}

/** Resolves when `condition` holds. @throws when it does not within the deadline, naming `what` */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not within ${PATIENCE_MS} ms: ${what}`);
    await Bun.sleep(POLL_MS);
  }
}

/** Resolves when `value` has not changed for `forMs`. */
export async function settled(what: string, value: () => unknown, forMs: number): Promise<void> {
  let last = value();
  let since = performance.now();
  await until(what, () => {
    const next = value();
    if (next !== last) {
      last = next;
      since = performance.now();
    }
    return performance.now() - since >= forMs;
  });
}

export class Program implements Disposable {
  readonly exited: Promise<PtyExit>;
  #pty: Pty | undefined;
  #exits = 0;
  #received = 0;
  #unacknowledged = 0;
  #hold: boolean;
  readonly #parts: Uint8Array[] = [];

  private constructor(hold: boolean, start: (events: Parameters<PtyOpen>[1]) => void) {
    this.#hold = hold;
    const { promise, resolve } = Promise.withResolvers<PtyExit>();
    this.exited = promise;
    start({
      data: (bytes) => {
        this.#parts.push(bytes);
        this.#received += bytes.length;
        this.#unacknowledged += bytes.length;
        if (!this.#hold) this.acknowledge();
      },
      exit: (exit) => {
        this.#exits += 1;
        resolve(exit);
      },
    });
  }

  /** @param script run by /bin/sh unless `options.file` names another program */
  static async start(open: PtyOpen, script: string, options: ProgramOptions = {}): Promise<Program> {
    let opening: Promise<Pty> | undefined;
    const program = new Program(options.hold ?? false, (events) => {
      opening = open(
        {
          file: options.file ?? "/bin/sh",
          args: options.args ?? ["-c", script],
          ...(options.argv0 === undefined ? {} : { argv0: options.argv0 }),
          cwd: options.cwd ?? "/",
          env: { PATH: process.env.PATH ?? "/usr/bin:/bin", TERM: "xterm-256color", ...options.env },
          openFiles: options.openFiles ?? null,
          rows: options.rows ?? 24,
          cols: options.cols ?? 80,
        },
        events,
      );
    });
    program.#pty = await opening;
    return program;
  }

  get pty(): Pty {
    if (this.#pty === undefined) throw new Error("not started");
    return this.#pty;
  }

  /** Bytes received so far. */
  get received(): number {
    return this.#received;
  }

  /** How often the end was reported. */
  get exits(): number {
    return this.#exits;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  get text(): string {
    return this.bytes.toString("utf8");
  }

  /** Whether the output so far ends so; of a long output only the end is looked at. */
  endsWith(text: string): boolean {
    let tail = Buffer.alloc(0);
    for (let at = this.#parts.length - 1; at >= 0 && tail.length < text.length; at--) {
      tail = Buffer.concat([this.#parts[at] ?? tail, tail]);
    }
    return tail.toString("latin1").endsWith(text);
  }

  /** Acknowledges everything that was received, and with `always` all later output. */
  acknowledge(always = false): void {
    if (always) this.#hold = false;
    const count = this.#unacknowledged;
    this.#unacknowledged = 0;
    if (count > 0) this.#pty?.ack(count);
  }

  type(text: string): Promise<void> {
    return this.pty.write(new TextEncoder().encode(text));
  }

  shows(text: string): Promise<void> {
    return until(`the output has ${JSON.stringify(text)}`, () => this.text.includes(text));
  }

  [Symbol.dispose](): void {
    this.#pty?.dispose();
  }
}
