/**
 * Raw mode of the person's terminal, as by cfmakeraw: no echo, no signals, no line editing, and no output processing
 * either, so that a program's line feed remains one. (Node's raw mode leaves output processing on.) The saved settings
 * are opaque bytes: nothing here depends on a system's layout of them.
 */
import { ptr } from "bun:ffi";
import { WshError } from "../protocol/errors.ts";
import { onFirstUse, openLibc } from "./libc.ts";
import { system } from "./system.ts";
import { TERMIOS_BYTES } from "./termios.ts";

const { TCSANOW, TCIFLUSH } = system.constants;

const open = onFirstUse(() =>
  openLibc({
    tcgetattr: { args: ["i32", "ptr"], returns: "i32" },
    tcsetattr: { args: ["i32", "i32", "ptr"], returns: "i32" },
    cfmakeraw: { args: ["ptr"], returns: "void" },
    tcflush: { args: ["i32", "i32"], returns: "i32" },
  }),
);

/** Switches a terminal to raw mode and back. */
export interface RawMode {
  /** Sets raw mode, also again after the process was stopped and continued. */
  enter(): void;
  /** Restores the original settings. Repeating it changes nothing. */
  leave(): void;
}

/** @throws WshError when the descriptor is not a terminal */
export function rawMode(fd: number): RawMode {
  const { tcgetattr, tcsetattr, cfmakeraw } = open();
  const saved = new Uint8Array(TERMIOS_BYTES);
  if (tcgetattr(fd, ptr(saved)) !== 0) throw new WshError("invalid_request", `descriptor ${fd} is not a terminal`);
  const raw = saved.slice();
  cfmakeraw(ptr(raw));
  return {
    enter: () => void tcsetattr(fd, TCSANOW, ptr(raw)),
    leave: () => void tcsetattr(fd, TCSANOW, ptr(saved)),
  };
}

/** Discards unread input of a terminal; no effect on other files. */
export function discardInput(fd: number): void {
  open().tcflush(fd, TCIFLUSH);
}
