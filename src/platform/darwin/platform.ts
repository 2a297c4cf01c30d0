/** macOS: facts from libproc. Short waits are select(2) and nanosleep(2), in microseconds; poll(2) has milliseconds. */
import fs from "node:fs";
import { darwin } from "../darwin.ts";
import { onFirstUse, openLibc } from "../libc.ts";
import type { Platform, Sockets, Terminals } from "../port.ts";
import { libc, POLLIN } from "../tty-calls.ts";
import { tryConnect } from "../unix-socket.ts";
import { watchFile } from "../watch.ts";
import { systemLibproc } from "./libproc-calls.ts";
import { LibprocProcesses } from "./processes.ts";

const library = onFirstUse(() =>
  openLibc({
    select: { args: ["i32", "ptr", "ptr", "ptr", "ptr"], returns: "i32" },
    nanosleep: { args: ["ptr", "ptr"], returns: "i32" },
  }),
);

/** Descriptors that a fd_set has room for. */
const FD_SETSIZE = 1_024;
const WORD_BITS = 32;
const ANSWER_SHIFT = 16;

// Reused: each key waits. struct timeval { long seconds; int us; } and struct timespec { long seconds; long ns; }.
const readSet = new Int32Array(FD_SETSIZE / WORD_BITS);
const timeval = new BigInt64Array(2);
const timespec = new BigInt64Array(2);

const processes = new LibprocProcesses(systemLibproc);

const terminals: Terminals = {
  readable: (fd, us) => {
    if (fd >= FD_SETSIZE) {
      const watched = new Int32Array([fd, POLLIN]);
      return libc().poll(watched, 1, Math.ceil(us / 1_000)) > 0 && (watched[1] ?? 0) >>> ANSWER_SHIFT === POLLIN;
    }
    readSet.fill(0);
    readSet[Math.floor(fd / WORD_BITS)] = 1 << (fd % WORD_BITS);
    timeval[1] = BigInt(us);
    return library().select(fd + 1, readSet, null, null, timeval) > 0;
  },
  pause: (us) => {
    timespec[1] = BigInt(us * 1_000);
    library().nanosleep(timespec, null);
  },
  path: (fd) => processes.terminalPath(fs.fstatSync(fd).rdev),
  // The kernel has no F_SETSIG, and signals only a terminal's foreground group.
  signalsInput: false,
};

const sockets: Sockets = {
  connect: tryConnect,
  bound: () => [],
  watch: watchFile,
  // bind(2) raises no FSEvent.
  reportsSockets: false,
  // Not tried on a Mac.
  canLeaveBun: false,
};

export const darwinPlatform: Platform = {
  limits: darwin.limits,
  foldsFileNames: darwin.foldsFileNames,
  processes,
  sockets,
  terminals,
  listeners: null,
};
