/**
 * Finds the listener on a TCP port: one reading of the kernel's tables, from the view of one program and the processes
 * that it has started (docs/protocol.md, Conditions). The result reports when the system does not reveal it.
 *
 * A process belongs to the program when it descends from it; when it did so at an earlier reading (daemons lose their
 * parent); when it is in a process session of the program's; or when it has inherited the program's own WSH_PANE and
 * WSH_SOCKET. With `since`, earlier processes do not count, unless brought to the foreground. Sockets are read in every
 * network namespace of these processes. Unreadable facts are never guessed.
 */
import { platform } from "./platform.ts";
import type { Listeners, ListeningSocket, Moment, Stat } from "./port.ts";

/** Maximum processes read of one program; a wait for the port of a program with more does not find it. */
const MAX_PROCESSES = 4_096;
/** Maximum ancestors read of a process. */
const MAX_ANCESTORS = 64;

/** The program whose processes count. */
export interface PortAnchor {
  /** Null when it has ended. */
  readonly pid: number | null;
  /** Only children that started later count; null: all count. */
  readonly since: Moment | null;
  /** Process group that now holds its terminal: unless it is the program's own group, its members count at any age. */
  foreground(): number | null;
}

/** A listening process; name and pid are null when the kernel hides them. */
export interface PortOwner {
  readonly pid: number | null;
  readonly name: string | null;
  /** Such as `127.0.0.1`, `0.0.0.0`, `::`. */
  readonly addresses: readonly string[];
}

/**
 * none: no listener; `unseen` has the program's processes that may not be read. own: a process of the program listens.
 * other: only other processes listen. hidden: the listener is unknown, since a process of the program is another
 * user's. unsupported: the kernel does not reveal it.
 */
export type PortLook =
  | { readonly kind: "none"; readonly unseen: readonly string[] }
  | { readonly kind: "own" | "other"; readonly owner: PortOwner }
  | { readonly kind: "hidden"; readonly owner: PortOwner; readonly reason: string }
  | { readonly kind: "unsupported"; readonly reason: string };

/** The current moment, for `PortAnchor.since`; null when the system does not support it. */
export function presentMoment(): Moment | null {
  return platform().listeners?.moment() ?? null;
}

/** Checks several ports at one moment, reading tables and processes once. `known` has the state of one wait. */
export class PortScan {
  private readonly trees = new Map<KnownProcesses, Tree | null>();
  private readonly tables = new Map<string, readonly ListeningSocket[] | null>();

  look(knownProcesses: KnownProcesses, port: number, anyOwner: boolean): PortLook {
    const tree = this.treeOf(knownProcesses);
    if (tree === null) return { kind: "unsupported", reason: "the system does not show the listeners of a port" };
    if (tree.members.length >= MAX_PROCESSES) {
      return { kind: "unsupported", reason: `the program has more than ${MAX_PROCESSES} processes` };
    }
    const sockets: ListeningSocket[] = [];
    for (const [namespace, pid] of tree.namespaces) {
      const table = this.tableOf(namespace, pid);
      if (table === null) return { kind: "unsupported", reason: `the kernel hides the sockets of process ${pid}` };
      for (const socket of table) if (socket.port === port) sockets.push(socket);
    }
    if (sockets.length === 0) return { kind: "none", unseen: tree.unseen.map(({ pid, name }) => `${name} (${pid})`) };
    return ownerOf(knownProcesses, tree, sockets, anyOwner);
  }

  /** Ports on which processes of the program listen, with the program's name; null: the system does not report them. */
  ownPorts(knownProcesses: KnownProcesses): ReadonlyMap<number, string> | null {
    const tree = this.treeOf(knownProcesses);
    if (tree === null || tree.members.length >= MAX_PROCESSES) return null;
    const programByPort = new Map<number, string>();
    const held = tree.members.map(({ pid, name }) => ({ name, ids: heldBy(pid) ?? new Set<string>() }));
    // Most programs hold no socket, and the kernel takes 3 ms for its tables.
    if (held.every(({ ids }) => ids.size === 0)) return programByPort;
    const sockets = [...tree.namespaces].flatMap(([namespace, pid]) => this.tableOf(namespace, pid) ?? []);
    const ports = new Map(sockets.map(({ id, port }) => [id, port]));
    for (const { name, ids } of held)
      for (const id of ids) {
        const port = ports.get(id);
        if (port !== undefined) programByPort.set(port, name);
      }
    return programByPort;
  }

  private treeOf(known: KnownProcesses): Tree | null {
    const made = this.trees.get(known);
    if (made !== undefined) return made;
    const tree = known.tree();
    this.trees.set(known, tree);
    return tree;
  }

  private tableOf(namespace: string, pid: number): readonly ListeningSocket[] | null {
    const read = this.tables.get(namespace);
    if (read !== undefined) return read;
    const table = platform().listeners?.listening(pid) ?? null;
    this.tables.set(namespace, table);
    return table;
  }
}

function ownerOf(
  knownProcesses: KnownProcesses,
  tree: Tree,
  sockets: readonly ListeningSocket[],
  anyOwner: boolean,
): PortLook {
  const ids = new Set(sockets.map(({ id }) => id));
  for (const stat of tree.members) {
    const held = heldBy(stat.pid, ids);
    if (held !== null && held.size > 0) {
      return { kind: "own", owner: { pid: stat.pid, name: stat.name, addresses: addressesOf(sockets, held) } };
    }
  }
  const holder = knownProcesses.holderOf(ids, tree);
  if (holder !== null) {
    const { stat, sockets: held, isOwn } = holder;
    const owner = { pid: stat.pid, name: stat.name, addresses: addressesOf(sockets, held) };
    return { kind: isOwn || anyOwner ? "own" : "other", owner };
  }
  const owner = { pid: null, name: null, addresses: addressesOf(sockets, ids) };
  if (anyOwner) return { kind: "own", owner };
  const [hidden] = tree.unseen;
  if (hidden === undefined) return { kind: "other", owner };
  const reason = `'${hidden.name}' (${hidden.pid}) cannot be inspected, so the listener is unknown`;
  return { kind: "hidden", owner, reason };
}

interface Tree {
  /** Processes of the program, outermost first. */
  readonly members: readonly Stat[];
  /** Members whose descriptors cannot be read. */
  readonly unseen: readonly Stat[];
  /** Network namespaces of the members, each with one of its processes. */
  readonly namespaces: ReadonlyMap<string, number>;
}

interface PortHolder {
  readonly stat: Stat;
  /** The sockets that it holds open. */
  readonly sockets: ReadonlySet<string>;
  readonly isOwn: boolean;
}

/** The processes of one program during a wait: members once seen still belong to it after losing their parent. */
export class KnownProcesses {
  private readonly startTimes = new Map<number, number>();
  /** The holder of the sockets at the last check, found by a scan of all processes. */
  private holder: { readonly of: string; readonly pid: number; readonly started: number } | null = null;

  constructor(private readonly anchor: PortAnchor) {}

  /** Null when the system does not support it. */
  tree(): Tree | null {
    const { listeners } = platform();
    const self = listeners?.network(process.pid) ?? null;
    if (listeners === null || self === null) return null;
    const members = this.members(listeners);
    const namespaces = new Map<string, number>();
    const unseen: Stat[] = [];
    for (const stat of members) {
      this.startTimes.set(stat.pid, stat.started);
      const namespace = listeners.network(stat.pid);
      if (namespace !== null && !namespaces.has(namespace)) namespaces.set(namespace, stat.pid);
      // A member that ended meanwhile hides nothing.
      else if (namespace === null && isAlive(platform().processes.stat(stat.pid))) unseen.push(stat);
    }
    // A process of another user, or one that has just ended, is assumed to be in our network namespace.
    if (namespaces.size === 0 || unseen.length > 0) namespaces.set(self, process.pid);
    return { members, unseen, namespaces };
  }

  private members(listeners: Listeners): readonly Stat[] {
    const { anchor, startTimes } = this;
    const root = anchor.pid === null ? null : platform().processes.stat(anchor.pid);
    const members: Stat[] = root === null ? [] : [root];
    for (const child of root === null ? [] : listeners.children(root.pid)) {
      const stat = platform().processes.stat(child);
      if (stat !== null && this.counts(stat)) members.push(stat);
    }
    const listed = new Set(members.map(({ pid }) => pid));
    const add = (pid: number): void => {
      const stat = listed.has(pid) ? null : platform().processes.stat(pid);
      if (stat === null) return;
      members.push(stat);
      listed.add(pid);
    };
    const descend = (from: number): void => {
      for (let index = from; index < members.length && members.length < MAX_PROCESSES; index++) {
        for (const child of listeners.children(members[index]?.pid ?? 0)) add(child);
      }
    };
    descend(1);
    const found = members.length;
    for (const [pid, started] of startTimes) {
      if (listed.has(pid)) continue;
      if (platform().processes.stat(pid)?.started === started) add(pid);
      else startTimes.delete(pid);
    }
    descend(found);
    return members;
  }

  /** The process that holds one of the sockets, among all readable ones; preferably one of the program's. */
  holderOf(ids: ReadonlySet<string>, tree: Tree): PortHolder | null {
    const of = [...ids].sort().join(" ");
    if (this.holder !== null && this.holder.of === of) {
      const last = this.holding(this.holder.pid, ids, tree);
      if (last !== null && last.stat.started === this.holder.started) return last;
    }
    let first: PortHolder | null = null;
    for (const pid of platform().listeners?.all() ?? []) {
      const owner = this.holding(pid, ids, tree);
      if (owner?.isOwn === true) return owner;
      first ??= owner;
    }
    this.holder = first === null ? null : { of, pid: first.stat.pid, started: first.stat.started };
    return first;
  }

  private holding(pid: number, ids: ReadonlySet<string>, tree: Tree): PortHolder | null {
    const held = heldBy(pid, ids);
    const stat = held === null || held.size === 0 ? null : platform().processes.stat(pid);
    return stat === null || held === null ? null : { stat, sockets: held, isOwn: this.isOf(stat, tree) };
  }

  /** Whether the program started a process that does not descend from it. */
  private isOf(stat: Stat, tree: Tree): boolean {
    const { anchor } = this;
    const sessions = new Set(tree.members.map(({ session }) => session));
    const own = identityOf(anchor.pid);
    const isKin = ({ pid, session }: Stat): boolean =>
      sessions.has(session) || (own !== null && identityOf(pid) === own);
    if (!isKin(stat)) return false;
    // A new process of an older process of the program belongs to the older one.
    let each: Stat | null = stat;
    for (let depth = 0; depth < MAX_ANCESTORS && each !== null && each.pid > 1; depth++) {
      if (each.pid === anchor.pid || (!this.counts(each) && isKin(each))) return false;
      each = platform().processes.stat(each.ppid);
    }
    return true;
  }

  /** Whether a process started late enough, or was brought to the foreground. */
  private counts(stat: Stat): boolean {
    const { since, pid: root } = this.anchor;
    if (since === null) return true;
    return platform().listeners?.isLater(stat, since) === true || this.isInFront(stat.group, root);
  }

  private isInFront(group: number, root: number | null): boolean {
    return group !== root && group === this.anchor.foreground();
  }
}

function isAlive(stat: Stat | null): boolean {
  return stat !== null && stat.state !== "ended";
}

function addressesOf(sockets: readonly ListeningSocket[], held: ReadonlySet<string>): string[] {
  return [...new Set(sockets.filter(({ id }) => held.has(id)).map(({ address }) => address))];
}

/** The sockets that a process holds, or those of `ids`; null when it may not be read. */
function heldBy(pid: number, ids?: ReadonlySet<string>): ReadonlySet<string> | null {
  return platform().listeners?.heldSockets(pid, ids) ?? null;
}

/** The part of a session's environment that its programs inherit from any parent. */
function identityOf(pid: number | null): string | null {
  const environment = pid === null ? [] : (platform().listeners?.environment(pid) ?? []);
  const pane = environment.find((line) => line.startsWith("WSH_PANE="));
  const socket = environment.find((line) => line.startsWith("WSH_SOCKET="));
  return pane === undefined || socket === undefined ? null : `${pane}\0${socket}`;
}
