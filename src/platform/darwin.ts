/** The table of macOS on Apple silicon and Intel, which differ only in where variable arguments travel. */
import type { PlatformTable } from "./table.ts";

export const darwin: PlatformTable = {
  name: "darwin",
  libc: { names: ["libSystem.B.dylib"], errno: "__error" },
  variadicOnStack: process.arch === "arm64",
  constants: {
    TIOCGWINSZ: 0x40087468,
    TIOCSWINSZ: 0x80087467,
    FIONREAD: 0x4004667f,
    ICANON: 0x100,
    ECHO: 0x8,
    TCSANOW: 0,
    TCIFLUSH: 1,
    F_SETFD: 2,
    F_GETFL: 3,
    F_SETFL: 4,
    F_SETOWN: 6,
    F_SETSIG: null,
    F_DUPFD_CLOEXEC: 67,
    FD_CLOEXEC: 1,
    O_ASYNC: 0x40,
    LOCK_SH: 1,
    LOCK_EX: 2,
    LOCK_NB: 4,
    POLLIN: 0x1,
    POLLOUT: 0x4,
    AF_UNIX: 1,
    SOCK_STREAM: 1,
    SOCK_NONBLOCK: null,
    SOCK_CLOEXEC: null,
    SOL_SOCKET: 0xffff,
    SO_PEERCRED: null,
    SOL_LOCAL: 0,
    LOCAL_PEERPID: 2,
    RLIMIT_NOFILE: 8,
    ENOENT: 2,
    ECONNREFUSED: 61,
    SIGURG: 16,
    PROC_PGRP_ONLY: 2,
    PROC_TTY_ONLY: 3,
    PROC_PIDTBSDINFO: 3,
    PROC_PIDTASKINFO: 4,
    PROC_PIDVNODEPATHINFO: 9,
    CTL_KERN: 1,
    KERN_PROCARGS2: 49,
    SSTOP: 4,
    SZOMB: 5,
  },
  layouts: {
    // tcflag_t and speed_t are unsigned long.
    termios: { bytes: 72, fields: { c_lflag: { offset: 24, bytes: 8 } } },
    winsize: { bytes: 8, fields: { ws_row: { offset: 0, bytes: 2 }, ws_col: { offset: 2, bytes: 2 } } },
    // Behind a byte for the length.
    sockaddr_un: { bytes: 106, fields: { sun_family: { offset: 1, bytes: 1 }, sun_path: { offset: 2, bytes: 104 } } },
    pollfd: {
      bytes: 8,
      fields: { fd: { offset: 0, bytes: 4 }, events: { offset: 4, bytes: 2 }, revents: { offset: 6, bytes: 2 } },
    },
    rlimit: { bytes: 16, fields: { rlim_cur: { offset: 0, bytes: 8 }, rlim_max: { offset: 8, bytes: 8 } } },
    timespec: { bytes: 16, fields: { tv_sec: { offset: 0, bytes: 8 }, tv_nsec: { offset: 8, bytes: 8 } } },
    timeval: { bytes: 16, fields: { tv_sec: { offset: 0, bytes: 8 }, tv_usec: { offset: 8, bytes: 4 } } },
    ucred: null,
    proc_bsdinfo: {
      bytes: 136,
      fields: {
        pbi_status: { offset: 4, bytes: 4 },
        pbi_pid: { offset: 12, bytes: 4 },
        pbi_ppid: { offset: 16, bytes: 4 },
        pbi_comm: { offset: 48, bytes: 16 },
        pbi_name: { offset: 64, bytes: 32 },
        pbi_pgid: { offset: 100, bytes: 4 },
        e_tdev: { offset: 108, bytes: 4 },
        e_tpgid: { offset: 112, bytes: 4 },
        pbi_start_tvsec: { offset: 120, bytes: 8 },
        pbi_start_tvusec: { offset: 128, bytes: 8 },
      },
    },
    proc_taskinfo: {
      bytes: 96,
      fields: { pti_threadnum: { offset: 84, bytes: 4 }, pti_numrunning: { offset: 88, bytes: 4 } },
    },
    proc_vnodepathinfo: { bytes: 2352, fields: { "pvi_cdir.vip_path": { offset: 152, bytes: 1024 } } },
  },
  syscalls: {},
  limits: {
    socketPath: 103,
    argument: null,
    // ARG_MAX, from which the kernel subtracts the path of the program and its own strings.
    argumentsTotal: 1024 * 1024,
    // MAX_CANON.
    cookedLine: 1024,
    // launchd's maxfiles.
    openFiles: 256,
  },
  foldsFileNames: true,
  starts: {
    // Mach-O of 32 and 64 bits and for several processors, in both orders of bytes.
    formats: [0xfeedface, 0xfeedfacf, 0xcafebabe, 0xcafebabf, 0xcefaedfe, 0xcffaedfe],
    // A child that gets a terminal is forked, and fails on its own.
    reportsFailure: false,
  },
};
