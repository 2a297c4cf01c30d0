/** The flags of a terminal that show how its program reads, and how its output is processed. */
import { system } from "./system.ts";
import { libc } from "./tty-calls.ts";

const { ICANON, ECHO, OPOST, ONLCR } = system.constants;
/** TCSANOW of tcsetattr, the same on every system. */
const AT_ONCE = 0;
/** Room for a struct termios of any system, in bytes; the largest known has 72. */
export const TERMIOS_BYTES = 256;

// Reused for each key. The low half of the flags holds every bit that is read.
const termios = new Uint8Array(TERMIOS_BYTES);
const { c_lflag, c_oflag } = system.layouts.termios.fields;
const localFlags = new DataView(termios.buffer, c_lflag.offset, 4);
const outputFlags = new DataView(termios.buffer, c_oflag.offset, 4);

export interface LineFlags {
  /** Reads whole lines. */
  readonly canonical: boolean;
  readonly echo: boolean;
  /** Each LF that the program writes becomes CR LF. */
  readonly addsCr?: boolean;
}

/** Null when the descriptor is not a terminal or is closed. */
export function lineFlags(fd: number): LineFlags | null {
  if (libc().tcgetattr(fd, termios) !== 0) return null;
  const local = localFlags.getUint32(0, true);
  const addsCr = (outputFlags.getUint32(0, true) & (OPOST | ONLCR)) === (OPOST | ONLCR);
  return { canonical: (local & ICANON) !== 0, echo: (local & ECHO) !== 0, addsCr };
}

/** Makes the terminal echo typed text. @returns whether it does now */
export function switchEchoOn(fd: number): boolean {
  if (libc().tcgetattr(fd, termios) !== 0) return false;
  localFlags.setUint32(0, localFlags.getUint32(0, true) | ECHO, true);
  return libc().tcsetattr(fd, AT_ONCE, termios) === 0;
}
