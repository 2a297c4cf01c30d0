/**
 * Serves a grant: a socket on which a sandbox makes the few requests that rules.ts permits. It owns the socket's
 * directory, the connections, and the list of the grant's panes and questions.
 *
 * Invariants: a peer's own statements (caller, access) are never read. Each request is forwarded as this
 * grant's, with the access `operate` for one session, and for the program that the pane was made for. No
 * connection is forwarded: streams are refused. Every process that can open the socket has exactly these
 * rights. When the grant ends, it accepts no more requests and closes its open questions.
 */
import fs from "node:fs";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { randomToken } from "../../base/random-token.ts";
import { ensureOwnDir, removeIfPossible } from "../../instance/owned-files.ts";
import type { Instance } from "../../instance/paths.ts";
import { isAlive } from "../../platform/alive.ts";
import { platform } from "../../platform/platform.ts";
import type { Caller } from "../../protocol/caller.ts";
import type { Hello } from "../../protocol/control.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { ArrangementSchema } from "../../protocol/layout.ts";
import { PROTOCOL_VERSION } from "../../protocol/messages.ts";
import { parseTarget } from "../../protocol/names.ts";
import { requireInTime } from "../../protocol/requests.ts";
import { VERSION } from "../../protocol/version.ts";
import { findSession } from "../../registry/registry.ts";
import { Connection } from "../../wire/connection.ts";
import { Peer, type PeerHandler, type PeerRequest } from "../../wire/peer.ts";
import { Wire } from "../../wire/socket.ts";
import { type GrantedPane, type GrantState, grantRequest } from "./rules.ts";

/** Maximum connections, and maximum unanswered requests: enough for a sandbox, and no flood. */
const MAX_PEERS = 32;
const MAX_REQUESTS = 32;
/** Maximum panes that a grant makes. */
const MAX_PANES = 32;
/** Number of letters in the directory's name and in the caller's id. */
const NAME_LETTERS = 8;
/** Maximum processes between a hook and the served program. */
const MAX_DEPTH = 32;
const DIRECTORY = /^grant\.(\d+)\.\w+$/;

const ListedSchema = v.array(v.looseObject({ id: v.string() }));
const AskedSchema = v.looseObject({ ask_id: v.optional(v.string()) });
const OpenSchema = v.array(v.looseObject({ ask_id: v.string(), asked_by: v.string() }));

export class Broker implements AsyncDisposable {
  readonly path: string;
  /** The directory made for the socket; null: a person chose the socket's path. */
  private readonly directory: string | null;
  private readonly id = `grant:${randomToken(NAME_LETTERS)}`;
  private readonly peers = new Set<Peer>();
  private readonly listener: { stop(): void };
  private running = 0;
  private isOver = false;

  constructor(
    private readonly instance: Instance,
    private readonly state: GrantState,
    socketPath: string | null,
  ) {
    sweep(instance);
    this.directory =
      socketPath === null ? join(instance.runtimeDir, `grant.${process.pid}.${randomToken(NAME_LETTERS)}`) : null;
    if (this.directory !== null) fs.mkdirSync(this.directory, { mode: 0o700 });
    this.path = this.directory === null ? freePlace(socketPath ?? "") : join(this.directory, "sock");
    this.listener = Wire.listen(this.path, (wire) => this.accept(wire));
    fs.chmodSync(this.path, 0o600);
  }

  private accept(wire: Wire): ReturnType<Parameters<typeof Wire.listen>[1]> {
    const pid = wire.peerPid;
    const handler: PeerHandler = {
      hello: (): Hello => ({ wsh: PROTOCOL_VERSION, version: VERSION, role: "session" }),
      request: (request) => this.request(request, pid),
      stream: (_, peer) => peer.close(),
      closed: (peer) => void this.peers.delete(peer),
    };
    const peer = new Peer(wire, handler);
    this.peers.add(peer);
    if (this.isOver || this.peers.size > MAX_PEERS) peer.close();
    return peer.events;
  }

  private async request({ op, input, target, signal, deadline }: PeerRequest, pid: number | null): Promise<unknown> {
    if (this.isOver) throw new WshError("session_unavailable", "the grant has ended");
    if (this.running >= MAX_REQUESTS) throw new WshError("resource_limit_reached", "too many concurrent requests");
    requireInTime(deadline);
    this.running++;
    try {
      const { state } = this;
      const grantedRequest = grantRequest({ ...state, reporter: this.reporterOf(pid) }, op, input, target);
      if (op === "window.list") return [];
      if (op === "pane.list") return await this.list(signal);
      if (op === "pane.split" && state.panes.size >= MAX_PANES)
        throw new WshError("resource_limit_reached", `a grant has at most ${MAX_PANES} panes`);
      return this.recordAndFilter(op, await this.forward(grantedRequest.pane, op, grantedRequest.input, signal));
    } finally {
      this.running--;
    }
  }

  /** Sends a request to the process that now has the pane, as this grant. */
  private async forward(pane: GrantedPane, op: string, input: object, signal?: AbortSignal): Promise<unknown> {
    const { socket } = findSession(this.instance, parseTarget(pane.id));
    const { connection } = await Connection.open(socket, "cli");
    try {
      return await connection.request(op, input, {
        caller: this.callerAt(pane),
        access: "operate",
        target: pane.id,
        ...defined({ signal }),
      });
    } finally {
      connection.close();
    }
  }

  private callerAt({ session, program }: GrantedPane): Caller {
    const { id, state } = this;
    const via = { token: state.name, id, peer: null };
    return { kind: "http", id, name: state.name, connected: true, only: session, via, ...defined({ program }) };
  }

  /** Records new panes and questions of the grant, and filters foreign ones from an answer. */
  private recordAndFilter(op: string, result: unknown): unknown {
    const { state } = this;
    if (op === "ask") {
      const { ask_id } = v.parse(AskedSchema, result);
      if (ask_id !== undefined) state.openQuestions.add(ask_id);
    }
    if (op !== "pane.split" && op !== "pane.update") return result;
    const made = v.parse(ArrangementSchema, result);
    if (op === "pane.split") {
      const info = made.windows.flatMap(({ panes }) => panes).find(({ id }) => id === made.pane);
      // A program that has already ended cannot be identified.
      const program = info?.pid ?? 0;
      state.panes.set(made.pane, { id: made.pane, session: made.session_id, program });
    }
    return { ...made, windows: [] };
  }

  /** The grant's panes as their sessions list them; forgets those that are gone. */
  private async list(signal: AbortSignal): Promise<unknown[]> {
    const listed: unknown[] = [];
    for (const pane of this.state.panes.values()) {
      const answered = await this.forward(pane, "pane.list", {}, signal).catch((thrown) => WshError.from(thrown));
      if (answered instanceof WshError) continue;
      const entry = v.parse(ListedSchema, answered).find(({ id }) => id === pane.id);
      if (entry !== undefined) listed.push(entry);
    }
    return listed;
  }

  /** The process that a hook reports for, if it runs below this one; otherwise the served program. */
  private reporterOf(pid: number | null): number {
    const { processes } = platform();
    let at = pid ?? 0;
    for (let depth = 0; at > 1 && depth < MAX_DEPTH; depth++) {
      if (at === process.pid) return pid ?? this.state.reporter;
      at = processes.stat(at)?.ppid ?? 0;
    }
    return this.state.reporter;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    this.listener.stop();
    for (const peer of [...this.peers]) peer.close();
    if (this.directory === null) removeIfPossible(this.path);
    else removeDirectory(this.directory);
    const { home, name } = this.state;
    const open = await this.forward(home, "ask.list", {}).catch(() => []);
    for (const { ask_id, asked_by } of v.is(OpenSchema, open) ? open : []) {
      if (asked_by === name) await this.forward(home, "ask.cancel", { ask_id }).catch(() => {});
    }
  }
}

/** @throws WshError unsafe_path for a directory that others may enter, invalid_request for an existing path */
function freePlace(path: string): string {
  ensureOwnDir(dirname(path));
  const isDead = platform().sockets.connect(path).kind === "refused" && fs.lstatSync(path).isSocket();
  if (isDead) removeIfPossible(path);
  if (!fs.existsSync(path)) return path;
  throw new WshError("invalid_request", `'${path}' is in use`, { hint: "Name a path that does not exist." });
}

/** Removes the sockets of grants whose process is gone. */
function sweep({ runtimeDir }: Instance): void {
  for (const name of fs.readdirSync(runtimeDir)) {
    const pid = DIRECTORY.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) removeDirectory(join(runtimeDir, name));
  }
}

/** Removes only the socket and its directory: other files that a sandbox left there stay, and no link is followed. */
function removeDirectory(directory: string): void {
  try {
    fs.rmSync(join(directory, "sock"), { force: true });
    fs.rmdirSync(directory);
  } catch {
    // The directory holds other files.
  }
}
