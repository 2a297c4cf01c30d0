/** Linux: facts from /proc, times in nanoseconds by ppoll(2). */

import { linux } from "../linux.ts";
import type { Platform, Terminals } from "../port.ts";
import { readLink } from "../readable.ts";
import { system } from "../system.ts";
import { linuxLibc } from "../tty-calls.ts";
import { procListeners } from "./listeners.ts";
import { procProcesses } from "./processes.ts";
import { linuxSockets } from "./sockets.ts";

const { POLLIN } = system.constants;
const ANSWER_SHIFT = 16;

// Reused: each key waits. struct pollfd { int fd; short events; short revents; }, struct timespec { seconds; ns; }.
const watched = new Int32Array(2);
const time = new BigInt64Array(2);
/** A poll descriptor that waits for nothing. */
const nothing = Int32Array.of(-1, 0);

function ppoll(descriptor: Int32Array, us: number): number {
  time[1] = BigInt(us * 1_000);
  return linuxLibc()?.ppoll(descriptor, 1, time, null) ?? -1;
}

const terminals: Terminals = {
  readable: (fd, us) => {
    watched[0] = fd;
    watched[1] = POLLIN;
    return ppoll(watched, us) > 0 && (watched[1] ?? 0) >>> ANSWER_SHIFT === POLLIN;
  },
  pause: (us) => {
    ppoll(nothing, us);
  },
  path: (fd) => readLink(`/proc/self/fd/${fd}`),
  signalsInput: true,
};

export const linuxPlatform: Platform = {
  limits: linux.limits,
  foldsFileNames: linux.foldsFileNames,
  processes: procProcesses,
  sockets: linuxSockets,
  terminals,
  listeners: procListeners,
};
