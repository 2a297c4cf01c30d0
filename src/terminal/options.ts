/** Options of a terminal, and its sink. */
import type { EmulatorOptions, EmulatorSink } from "./emulator.ts";
import type { Chunk } from "./stream/intake.ts";

export interface TerminalSink extends EmulatorSink {
  /** A chunk has been parsed. The terminal may be read. */
  chunk(chunk: Chunk): void;
}

export interface TerminalOptions extends EmulatorOptions {
  /** The nonce of our shell integration's marks. */
  readonly nonce: string | null;
  /** Nonces of inner shells. */
  readonly childNonces?: ReadonlySet<string> | undefined;
  /** Keep clipboard writes (OSC 52) from clients; they are still reported to the sink. */
  readonly hideClipboard?: boolean;
  /** Keep titles (OSC 0, 1, 2) from clients; they are still stored here. */
  readonly hideTitles?: boolean;
  /** Initial value of `offset`. */
  readonly firstOffset?: number;
}
