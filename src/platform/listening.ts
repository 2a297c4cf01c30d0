/**
 * Who listens on a TCP port: one look at the kernel's tables, seen from one program and what it has started
 * (docs/protocol.md, Conditions). Where the system does not tell, the look says so.
 *
 * A process belongs to the program when it descends from it; when it did so at an earlier look (daemons lose their
 * parent); when it is in a process session of the program's; or when it has inherited the program's own WSH_PANE and
 * WSH_SOCKET. With `since`, what ran before does not count, unless it has been brought to the foreground.
 * Sockets are read in every network namespace that these processes are in. What may not be read is never a guess.
 */
import { platform } from "./platform.ts";
import type { Listeners, ListeningSocket, Moment, Stat } from "./port.ts";

/** Processes of one program that are looked at; one that starts more is not waited for by its port. */
const MAX_PROCESSES = 4_096;
/** Ancestors of a process that are looked at; deeper nesting is not. */
const MAX_ANCESTORS = 64;

/** The program whose processes count. */
export interface PortAnchor {
  /** Null when it has ended. */
  readonly pid: number | null;
  /** Its children count that were started later; null: all. */
  readonly since: Moment | null;
  /** Process group that holds its terminal now: unless it is the program's own, its members count, however old. */
  foreground(): number | null;
}

/** A process that listens; name and pid are null where the kernel does not tell. */
export interface PortOwner {
  readonly pid: number | null;
  readonly name: string | null;
  /** As `127.0.0.1`, `0.0.0.0`, `::`. */
  readonly addresses: readonly string[];
}

/**
 * none: nobody listens, in `unseen` the program's processes that may not be looked into. own: a process of the program does. other: only others do. hidden: somebody does, and who is
 * not known, since a process of the program is another user's. unsupported: the kernel does not tell.
 */
export type PortLook =
  | { readonly kind: "none"; readonly unseen: readonly string[] }
  | { readonly kind: "own" | "other"; readonly owner: PortOwner }
  | { readonly kind: "hidden"; readonly owner: PortOwner; readonly reason: string }
  | { readonly kind: "unsupported"; readonly reason: string };

/** Now, for `PortAnchor.since`; null where the system does not tell. */
export function presentMoment(): Moment | null {
  return platform().listeners?.moment() ?? null;
}

/**
 * Looks at several ports at one moment: tables and processes are read once. What is remembered between the looks of a
 * wait is in `known`.
 */
export class PortScan {
  private readonly trees = new Map<KnownProcesses, Tree | null>();
  private readonly tables = new Map<string, readonly ListeningSocket[] | null>();

  look(known: KnownProcesses, port: number, anyOwner: boolean): PortLook {
    const tree = this.treeOf(known);
    if (tree === null) return { kind: "unsupported", reason: "the system does not show who listens on a port" };
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
    return ownerOf(known, tree, sockets, anyOwner);
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

function ownerOf(known: KnownProcesses, tree: Tree, sockets: readonly ListeningSocket[], anyOwner: boolean): PortLook {
  const ids = new Set(sockets.map(({ id }) => id));
  for (const stat of tree.members) {
    const held = heldBy(stat.pid, ids);
    if (held !== null && held.size > 0) {
      return { kind: "own", owner: { pid: stat.pid, name: stat.name, addresses: addressesOf(sockets, held) } };
    }
  }
  const holder = known.holderOf(ids, tree);
  if (holder !== null) {
    const { stat, held, isOwn } = holder;
    const owner = { pid: stat.pid, name: stat.name, addresses: addressesOf(sockets, held) };
    return { kind: isOwn || anyOwner ? "own" : "other", owner };
  }
  const owner = { pid: null, name: null, addresses: addressesOf(sockets, ids) };
  if (anyOwner) return { kind: "own", owner };
  const [hidden] = tree.unseen;
  if (hidden === undefined) return { kind: "other", owner };
  const reason = `'${hidden.name}' (${hidden.pid}) may not be looked into, so who listens is not known`;
  return { kind: "hidden", owner, reason };
}

interface Tree {
  /** Processes of the program, the outermost first. */
  readonly members: readonly Stat[];
  /** Those whose descriptors may not be read. */
  readonly unseen: readonly Stat[];
  /** Network namespaces of the members, each with one process in it. */
  readonly namespaces: ReadonlyMap<string, number>;
}

interface Holder {
  readonly stat: Stat;
  /** The sockets that it holds. */
  readonly held: ReadonlySet<string>;
  readonly isOwn: boolean;
}

/** The processes of one program, while somebody waits: those that were seen belong to it after losing their parent. */
export class KnownProcesses {
  private readonly seen = new Map<number, number>();
  /** Who held the sockets at the last look, found by a scan of all processes. */
  private holder: { readonly of: string; readonly pid: number; readonly started: number } | null = null;

  constructor(private readonly anchor: PortAnchor) {}

  /** Null where the system does not tell. */
  tree(): Tree | null {
    const { listeners } = platform();
    const self = listeners?.network(process.pid) ?? null;
    if (listeners === null || self === null) return null;
    const members = this.members(listeners);
    const namespaces = new Map<string, number>();
    const unseen: Stat[] = [];
    for (const stat of members) {
      this.seen.set(stat.pid, stat.started);
      const namespace = listeners.network(stat.pid);
      if (namespace !== null && !namespaces.has(namespace)) namespaces.set(namespace, stat.pid);
      // One that has ended meanwhile hides nothing.
      else if (namespace === null && isAlive(platform().processes.stat(stat.pid))) unseen.push(stat);
    }
    // One of another user, and one that has just ended, is or was in our network as far as anybody can tell.
    if (namespaces.size === 0 || unseen.length > 0) namespaces.set(self, process.pid);
    return { members, unseen, namespaces };
  }

  private members(listeners: Listeners): readonly Stat[] {
    const { anchor, seen } = this;
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
      for (let at = from; at < members.length && members.length < MAX_PROCESSES; at++) {
        for (const child of listeners.children(members[at]?.pid ?? 0)) add(child);
      }
    };
    descend(1);
    const found = members.length;
    for (const [pid, started] of seen) {
      if (listed.has(pid)) continue;
      if (platform().processes.stat(pid)?.started === started) add(pid);
      else seen.delete(pid);
    }
    descend(found);
    return members;
  }

  /** The process that holds one of the sockets, from all that may be looked into; one of the program's if there is. */
  holderOf(ids: ReadonlySet<string>, tree: Tree): Holder | null {
    const of = [...ids].sort().join(" ");
    if (this.holder !== null && this.holder.of === of) {
      const last = this.holding(this.holder.pid, ids, tree);
      if (last !== null && last.stat.started === this.holder.started) return last;
    }
    let first: Holder | null = null;
    for (const pid of platform().listeners?.all() ?? []) {
      const found = this.holding(pid, ids, tree);
      if (found?.isOwn === true) return found;
      first ??= found;
    }
    this.holder = first === null ? null : { of, pid: first.stat.pid, started: first.stat.started };
    return first;
  }

  private holding(pid: number, ids: ReadonlySet<string>, tree: Tree): Holder | null {
    const held = heldBy(pid, ids);
    const stat = held === null || held.size === 0 ? null : platform().processes.stat(pid);
    return stat === null || held === null ? null : { stat, held, isOwn: this.isOf(stat, tree) };
  }

  /** Whether a process that does not descend from the program was started by it all the same. */
  private isOf(stat: Stat, tree: Tree): boolean {
    const { anchor } = this;
    const sessions = new Set(tree.members.map(({ session }) => session));
    const own = identityOf(anchor.pid);
    const isKin = ({ pid, session }: Stat): boolean =>
      sessions.has(session) || (own !== null && identityOf(pid) === own);
    if (!isKin(stat)) return false;
    // What something older of the program starts, now, is the older one's.
    let each: Stat | null = stat;
    for (let depth = 0; depth < MAX_ANCESTORS && each !== null && each.pid > 1; depth++) {
      if (each.pid === anchor.pid || (!this.counts(each) && isKin(each))) return false;
      each = platform().processes.stat(each.ppid);
    }
    return true;
  }

  /** Whether a process is young enough, or was brought to the foreground. */
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

/** Which of the sockets a process holds; null when it may not be looked into. */
function heldBy(pid: number, ids: ReadonlySet<string>): ReadonlySet<string> | null {
  return platform().listeners?.held(pid, ids) ?? null;
}

/** What a program of a session has inherited from it, whoever its parent is. */
function identityOf(pid: number | null): string | null {
  const environment = pid === null ? [] : (platform().listeners?.environment(pid) ?? []);
  const pane = environment.find((line) => line.startsWith("WSH_PANE="));
  const socket = environment.find((line) => line.startsWith("WSH_SOCKET="));
  return pane === undefined || socket === undefined ? null : `${pane}\0${socket}`;
}
