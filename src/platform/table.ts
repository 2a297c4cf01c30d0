/**
 * Values that a system's C headers fix, as one type that both tables satisfy: numbers, sizes and offsets that are
 * passed to the kernel or read from its answers, and the limits and methods that follow from them. A number is null
 * when the system has no such thing. tests/unit/platform/table.test.ts computes each from the headers' own terms;
 * packaging/probe compiles a C program against a machine's headers and compares.
 */

/** Constants by their names in C. */
interface Constants {
  // ioctl requests
  readonly TIOCGWINSZ: number;
  readonly TIOCSWINSZ: number;
  readonly FIONREAD: number;
  // termios.h
  readonly ICANON: number;
  readonly ECHO: number;
  readonly OPOST: number;
  readonly ONLCR: number;
  readonly TCSANOW: number;
  readonly TCIFLUSH: number;
  // fcntl.h
  readonly F_SETFD: number;
  readonly F_GETFL: number;
  readonly F_SETFL: number;
  readonly F_SETOWN: number;
  /** Only Linux chooses the signal that reports input. */
  readonly F_SETSIG: number | null;
  readonly F_DUPFD_CLOEXEC: number;
  readonly FD_CLOEXEC: number;
  readonly O_ASYNC: number;
  // sys/file.h
  readonly LOCK_SH: number;
  readonly LOCK_EX: number;
  readonly LOCK_NB: number;
  // poll.h
  readonly POLLIN: number;
  readonly POLLOUT: number;
  /** A descriptor that only names a file. */
  readonly O_PATH: number | null;
  // sys/socket.h, sys/un.h
  readonly AF_UNIX: number;
  readonly SOCK_STREAM: number;
  /** Flags of socket(2); without them, the descriptor is changed by fcntl. */
  readonly SOCK_NONBLOCK: number | null;
  readonly SOCK_CLOEXEC: number | null;
  readonly SOL_SOCKET: number;
  /** Option whose value begins with the pid of the process at the other end. */
  readonly SO_PEERCRED: number | null;
  readonly SOL_LOCAL: number | null;
  readonly LOCAL_PEERPID: number | null;
  // sys/resource.h
  readonly RLIMIT_NOFILE: number;
  readonly RLIMIT_LOCKS: number | null;
  readonly RLIMIT_RTTIME: number | null;
  // linux/memfd.h
  readonly MFD_CLOEXEC: number | null;
  // errno.h
  readonly ENOENT: number;
  readonly ECONNREFUSED: number;
  // signal.h
  readonly SIGURG: number;
  // sys/proc_info.h, sys/sysctl.h, sys/proc.h of macOS
  readonly PROC_PGRP_ONLY: number | null;
  readonly PROC_TTY_ONLY: number | null;
  readonly PROC_PIDTBSDINFO: number | null;
  readonly PROC_PIDTASKINFO: number | null;
  readonly PROC_PIDVNODEPATHINFO: number | null;
  readonly CTL_KERN: number | null;
  readonly KERN_PROCARGS2: number | null;
  readonly SSTOP: number | null;
  readonly SZOMB: number | null;
}

/** Place of a field in its struct, in bytes. */
interface StructField {
  readonly offset: number;
  readonly bytes: number;
}

export interface Layout<F extends string> {
  readonly bytes: number;
  readonly fields: Readonly<Record<F, StructField>>;
}

/** Structs by their names in C, with the fields that are used. */
interface Layouts {
  readonly termios: Layout<"c_oflag" | "c_lflag">;
  readonly winsize: Layout<"ws_row" | "ws_col">;
  readonly sockaddr_un: Layout<"sun_family" | "sun_path">;
  readonly pollfd: Layout<"fd" | "events" | "revents">;
  readonly rlimit: Layout<"rlim_cur" | "rlim_max">;
  readonly timespec: Layout<"tv_sec" | "tv_nsec">;
  readonly timeval: Layout<"tv_sec" | "tv_usec">;
  readonly ucred: Layout<"pid"> | null;
  readonly proc_bsdinfo: Layout<
    | "pbi_status"
    | "pbi_pid"
    | "pbi_ppid"
    | "pbi_comm"
    | "pbi_name"
    | "pbi_pgid"
    | "e_tdev"
    | "e_tpgid"
    | "pbi_start_tvsec"
    | "pbi_start_tvusec"
  > | null;
  readonly proc_taskinfo: Layout<"pti_threadnum" | "pti_numrunning"> | null;
  readonly proc_vnodepathinfo: Layout<"pvi_cdir.vip_path"> | null;
}

/** The system's limits; in bytes unless stated otherwise. */
export interface Limits {
  /** Longest path of a socket: sun_path without its NUL. */
  readonly socketPath: number;
  /** Longest single argument or variable without its NUL; null when only their sum is limited. */
  readonly argument: number | null;
  /**
   * Arguments and environment of a program together, each with its NUL and a pointer; null when the kernel has another
   * limit (Linux: a quarter of the stack's).
   */
  readonly argumentsTotal: number | null;
  /** Longest line that a terminal in canonical mode stores, with its newline: further input is lost. */
  readonly cookedLine: number;
  /** Soft limit of open files, in files, that a login has by default; null when a process's own can be read. */
  readonly openFiles: number | null;
}

/** How programs are started. */
interface Starts {
  /** First four bytes, as one number, of all programs that the system runs; null: it can be taught any format. */
  readonly formats: readonly number[] | null;
  /** Whether starting an invalid program is an error; elsewhere the child only ends, with code 127. */
  readonly reportsFailure: boolean;
}

export interface PlatformTable {
  readonly name: "linux" | "darwin";
  /** Names under which the C library can be opened, and its function that returns the address of errno. */
  readonly libc: { readonly names: readonly string[]; readonly errno: string };
  /** Whether variable arguments travel on the stack even when registers are free (Apple silicon). */
  readonly variadicOnStack: boolean;
  readonly constants: Constants;
  readonly layouts: Layouts;
  /** Numbers of system calls without a function in the C library, by process.arch. */
  readonly syscalls: Readonly<Record<string, { readonly sched_setattr: number; readonly sched_getattr: number }>>;
  readonly limits: Limits;
  /** Whether two names that differ only in case are one file, by default. */
  readonly foldsFileNames: boolean;
  readonly starts: Starts;
}
