/**
 * A view of the command line that takes the whole terminal: passes keys as events, follows the size, and restores the
 * terminal on every exit.
 */
import { decodeKeys, flushKeys, initialKeyState, isWaiting } from "../keys/decode.ts";
import type { InputEvent } from "../keys/types.ts";
import { rawMode } from "../platform/raw-mode.ts";
import { print } from "./print.ts";

/** Longest time in which a lone Escape may begin a longer key, in ms. */
const ESCAPE_MS = 30;

interface FullScreen<T> {
  /** Sequences that switch the terminal to the view, and back. */
  readonly enter: string;
  readonly leave: string;
  /** The output stream of the view; default: standard output. */
  readonly screen?: Screen;
  draw(): Promise<void>;
  /** @param done ends the view with its result */
  handleInput(events: readonly InputEvent[], done: (result: T) => void): void;
}

/** A stream that leads to the terminal. */
export interface Screen {
  readonly size: () => { rows: number; cols: number };
  readonly print: (text: string) => Promise<void>;
}

export const outputScreen: Screen = { size: terminalSize, print };

/** The screen of a view whose result goes to standard output. */
export function errorScreen(): Screen {
  const sink = Bun.stderr.writer();
  return {
    size: () => ({ rows: process.stderr.rows || 24, cols: process.stderr.columns || 80 }),
    async print(text) {
      await sink.write(text);
      await sink.flush();
    },
  };
}

export function terminalSize(): { rows: number; cols: number } {
  return { rows: process.stdout.rows || 24, cols: process.stdout.columns || 80 };
}

/** @returns null when a signal ended the view, or its terminal is gone */
export async function fullScreen<T>(view: FullScreen<T>): Promise<T | null> {
  const raw = rawMode(0);
  const { print } = view.screen ?? outputScreen;
  const result = Promise.withResolvers<T | null>();
  let keys = initialKeyState;
  let timer: Timer | null = null;
  const handleKeys = (decoded: ReturnType<typeof flushKeys>): void => {
    keys = decoded.state;
    // An error ends the view, so that the terminal is restored.
    try {
      view.handleInput(decoded.events, result.resolve);
    } catch (error) {
      result.reject(error);
    }
  };
  const continued = (): void => {
    raw.enter();
    void print(view.enter).then(() => view.draw());
  };
  const read = (bytes: Uint8Array): void => {
    if (timer !== null) clearTimeout(timer);
    handleKeys(decodeKeys(keys, bytes));
    if (isWaiting(keys)) timer = setTimeout(() => handleKeys(flushKeys(keys)), ESCAPE_MS);
  };
  const resized = (): void => void view.draw();
  const stop = (): void => result.resolve(null);
  const signals = ["SIGTERM", "SIGHUP", "SIGINT"] as const;
  process.on("SIGWINCH", resized);
  process.on("SIGCONT", continued);
  for (const signal of signals) process.on(signal, stop);
  process.stdin.on("data", read);
  process.stdin.on("end", stop);
  process.stdin.resume();
  raw.enter();
  try {
    await print(view.enter);
    await view.draw();
    return await result.promise;
  } finally {
    if (timer !== null) clearTimeout(timer);
    process.off("SIGWINCH", resized);
    process.off("SIGCONT", continued);
    for (const signal of signals) process.off(signal, stop);
    process.stdin.off("data", read);
    process.stdin.off("end", stop);
    process.stdin.pause();
    await print(view.leave);
    raw.leave();
  }
}
