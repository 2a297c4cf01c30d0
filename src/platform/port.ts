/**
 * The differences in behaviour between systems, as one port: the rest of wsh calls `platform()` and knows no system.
 * Linux and macOS each have one (linux/platform.ts, darwin/platform.ts); tests substitute a macOS on a Linux kernel
 * (tests/support/fake-darwin). An unavailable fact is null or "hidden", never a guess.
 */
import type { Limits } from "./table.ts";

/**
 * running: on a processor, or in a wait that no signal ends. asleep: in any other wait. alive: running or
 * asleep; the system does not say which. stopped: by a signal or a debugger. ended: not reaped yet.
 */
export type RunState = "running" | "asleep" | "alive" | "stopped" | "ended";

export interface Stat {
  readonly pid: number;
  /** At most 15 bytes on Linux, 31 on macOS. */
  readonly name: string;
  readonly state: RunState;
  readonly ppid: number;
  readonly group: number;
  /** Number of its controlling terminal, as in st_rdev; 0 without one. */
  readonly tty: number;
  /** Process group that holds that terminal; 0 or less when none does. */
  readonly foreground: number;
  readonly threads: number;
  /** Id of its process session. */
  readonly session: number;
  /** Start time; comparable on one machine since its boot. */
  readonly started: number;
}

/** The program that a process runs. */
export interface ProcessImage {
  readonly executable: string;
  /** Distinguishes two starts of one file, as far as the system shows it. */
  readonly start: string;
}

/**
 * reading_tty: blocked until this terminal has input. working: on a processor, in disk wait, or asleep until a time.
 * child: waiting for another process. waiting: for something else (a socket, a pipe, a lock). stopped: by a signal.
 * hidden: the kernel does not reveal it.
 */
export type ProcessActivity = "reading_tty" | "working" | "child" | "waiting" | "stopped" | "hidden";

/** A process that was given a terminal and decides which process may read there. */
export interface TerminalHolder {
  /** Whether it runs, and still is in the foreground if it was at first. Called per key. */
  readonly holdsTerminal: boolean;
  close(): void;
}

export interface Processes {
  /** Whether a process has this pid: ours, or another user's. */
  isAlive(pid: number): boolean;
  /** Null for an ended or unreadable process. */
  stat(pid: number): Stat | null;
  /** Members of a process group that have not ended. */
  members(group: number): readonly Stat[];
  /** Processes that have not ended and whose controlling terminal is numbered `tty`. */
  onTerminal(tty: number): readonly Stat[];
  /** Whether it keeps running when its terminal hangs up; false when unknown. */
  ignoresHangup(pid: number): boolean;
  /** Its arguments, argv[0] first; empty when unavailable. */
  args(pid: number): readonly string[];
  cwd(pid: number): string | null;
  /** Path of the file that it runs. */
  executable(pid: number): string | null;
  image(pid: number): ProcessImage | null;
  /** The call in which the process is blocked, as seen from the terminal numbered `tty` at `path`. */
  activity(stat: Stat, tty: number, path: string | null): ProcessActivity;
  /** A text that changes whenever the process's first thread runs; null when unknown. */
  runs(pid: number): string | null;
  /** Whether the process has one thread, so that `runs` covers all of it; false when unknown. */
  hasOneThread(pid: number): boolean;
  /**
   * State of a process with an event loop. asleep: it waits for events, as a healthy one at rest does. stopped: by a
   * signal. other: anything else, or unknown.
   */
  rest(pid: number): "asleep" | "stopped" | "other";
  /** Path of the terminal with the kernel's number. */
  terminalPath(tty: number): string | null;
  /** Identifies the namespace of process and terminal numbers: in another one they name others. */
  namespace(): string | null;
  /** Null when its state is unknown, or its terminal is not the one numbered `tty`. */
  holder(pid: number, tty: number): TerminalHolder | null;
  /** The child that runs on the only terminal whose master side this process holds (script, sudo). */
  carriedChild(carrier: number): Stat | null;
}

/** `pid` is the listener's, null when the system does not report it. */
export type ConnectOutcome =
  | { readonly kind: "connected"; readonly pid: number | null }
  | { readonly kind: "refused" | "absent" | "exhausted" | "other" };

export interface Sockets {
  /**
   * Connects without waiting and hangs up. refused: no listener, and on macOS also a full queue; absent: no such path;
   * exhausted: we have no descriptor left; other: the queue is full, or we may not connect. The path must fit.
   */
  connect(path: string): ConnectOutcome;
  /** Paths in a directory to which an open socket was bound, deleted or not; empty when the system hides them. */
  bound(directory: string): readonly string[];
  /**
   * Calls back when a file of a directory, or a file itself, changes; on macOS not for sockets. Keeps no process alive.
   * @throws when the path cannot be watched
   */
  watch(path: string, changed: (file: string | null) => void, failed: () => void): { close(): void };
  /** Whether `watch` reports new and removed sockets in a directory. */
  readonly reportsSockets: boolean;
  /** Whether a connection can leave Bun's socket and continue by its descriptor alone (wire/socket.ts). */
  readonly canLeaveBun: boolean;
}

export interface Terminals {
  /** Whether there is input, and no hangup, now or within `us` microseconds; blocks that long. Called per key. */
  readable(fd: number, us: number): boolean;
  /** Blocks this process, so that others run. */
  pause(us: number): void;
  /** Path of the terminal behind one of our descriptors; in another mount namespace it may name a different one. */
  path(fd: number): string | null;
  /**
   * Whether a signal can report input of a terminal that is not read (viewer/terminal/signalled-input.ts). Without it,
   * only the client may read a person's terminal: input typed while the client is stopped is not ours.
   */
  readonly signalsInput: boolean;
}

/** A moment between the starts of processes. */
export interface Moment {
  /** As in `Stat.started`. */
  readonly started: number;
  /** The newest process at that time, if start times are too coarse to distinguish; else 0. */
  readonly newest: number;
}

export interface ListeningSocket {
  /** The same for every process that holds the socket. */
  readonly id: string;
  readonly port: number;
  /** Such as `127.0.0.1`, `0.0.0.0`, `::`. */
  readonly address: string;
}

/** TCP sockets that listen, and their holders. */
export interface Listeners {
  /** The current moment; null when unavailable. */
  moment(): Moment | null;
  isLater(stat: Stat, than: Moment): boolean;
  /** Unix time in ms of a process's start; null when unavailable. */
  startedAt(stat: Stat): number | null;
  /** Every visible process. */
  all(): readonly number[];
  children(pid: number): readonly number[];
  /** The network namespace of a process; null when unreadable. */
  network(pid: number): string | null;
  /** NAME=VALUE at its start; empty when unreadable. */
  environment(pid: number): readonly string[];
  /** The sockets in the network of a process; null when hidden. */
  listening(pid: number): readonly ListeningSocket[] | null;
  /** User of the TCP socket with this local address and port; null: missing or hidden. */
  userOf(address: string, port: number): number | null;
  /** The sockets that a process holds, or those of `ids`; null when unreadable. */
  heldSockets(pid: number, ids?: ReadonlySet<string>): ReadonlySet<string> | null;
}

export interface Platform {
  readonly limits: Limits;
  readonly foldsFileNames: boolean;
  readonly processes: Processes;
  readonly sockets: Sockets;
  readonly terminals: Terminals;
  /** Null when the system does not reveal listeners. */
  readonly listeners: Listeners | null;
}
