/**
 * The meaning of a blocked system call, as data. Numbers are those of the kernel's tables for x86-64
 * (arch/x86/entry/syscalls/syscall_64.tbl) and arm64 (include/uapi/asm-generic/unistd.h). An unlisted call is judged by
 * its wait channel, and if that is unknown too, by the state letter of the process.
 */

/**
 * read: argument 0 is the descriptor. poll: array of pollfd and its length. select: count and the set to read from.
 * epoll: argument 0 is the epoll descriptor. sleep: until a time. child: for another process. other: for anything
 * except terminal input and time (a lock, a socket, a signal).
 */
export type BlockedIn = "read" | "poll" | "select" | "epoll" | "sleep" | "child" | "other";

const x64: Readonly<Record<number, BlockedIn>> = {
  0: "read", // read
  17: "read", // pread64
  19: "read", // readv
  7: "poll", // poll
  271: "poll", // ppoll
  23: "select", // select
  270: "select", // pselect6
  232: "epoll", // epoll_wait
  281: "epoll", // epoll_pwait
  441: "epoll", // epoll_pwait2
  35: "sleep", // nanosleep
  230: "sleep", // clock_nanosleep
  61: "child", // wait4
  247: "child", // waitid
  1: "other", // write
  16: "other", // ioctl
  20: "other", // writev
  34: "other", // pause
  43: "other", // accept
  45: "other", // recvfrom
  47: "other", // recvmsg
  128: "other", // rt_sigtimedwait
  130: "other", // rt_sigsuspend
  202: "other", // futex
  208: "other", // io_getevents
  275: "other", // splice
  288: "other", // accept4
  426: "other", // io_uring_enter
  449: "other", // futex_waitv
  455: "other", // futex_wait
};

const arm64: Readonly<Record<number, BlockedIn>> = {
  63: "read", // read
  65: "read", // readv
  67: "read", // pread64
  73: "poll", // ppoll
  72: "select", // pselect6
  22: "epoll", // epoll_pwait
  441: "epoll", // epoll_pwait2
  101: "sleep", // nanosleep
  115: "sleep", // clock_nanosleep
  260: "child", // wait4
  95: "child", // waitid
  64: "other", // write
  66: "other", // writev
  29: "other", // ioctl
  4: "other", // io_getevents
  76: "other", // splice
  98: "other", // futex
  133: "other", // rt_sigsuspend
  137: "other", // rt_sigtimedwait
  202: "other", // accept
  207: "other", // recvfrom
  212: "other", // recvmsg
  242: "other", // accept4
  426: "other", // io_uring_enter
  449: "other", // futex_waitv
  455: "other", // futex_wait
};

/** Numbers of this machine's architecture; none on others, which rely on wait channels. */
const table = process.arch === "x64" ? x64 : process.arch === "arm64" ? arm64 : {};

export interface BlockedCall {
  readonly blockedIn: BlockedIn;
  readonly args: readonly number[];
}

/**
 * Reads a line of /proc/PID/syscall: `running`, or the number and six arguments in hexadecimal, stack and program
 * counter.
 * @returns "running" when on a processor or about to be, null when the call is not in the table
 */
export function parseSyscall(text: string): BlockedCall | "running" | null {
  const fields = text.trim().split(/\s+/);
  if (fields[0] === "running") return "running";
  const blockedIn = table[Number(fields[0])];
  if (blockedIn === undefined) return null;
  return { blockedIn, args: fields.slice(1, 7).map(Number) };
}

/** Wait channels that are as informative as a call; restart_syscall after a stop shows only these. */
const channels: Readonly<Record<string, BlockedIn>> = {
  hrtimer_nanosleep: "sleep",
  do_nanosleep: "sleep",
  do_wait: "child",
  wait_woken: "read",
  n_tty_read: "read",
  poll_schedule_timeout: "poll",
  "poll_schedule_timeout.constprop.0": "poll",
  do_epoll_wait: "epoll",
  ep_poll: "epoll",
};

/** Returns the meaning of /proc/PID/wchan; null for an unknown channel. */
export function blockedByChannel(name: string): BlockedIn | null {
  return channels[name.trim()] ?? null;
}
