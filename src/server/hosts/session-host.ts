/**
 * One session process as the gateway knows it: the connection to it, and its newest info with what says how good that still
 * is. An info that nothing has overtaken is shown without asking; times in it are ages, which grow here.
 */
import * as v from "valibot";
import type { SessionEntry } from "../../instance/registry/directories.ts";
import { restOf, runsOf } from "../../platform/process-runs.ts";
import { type Listing, ListingSchema, PEER_TIMEOUT_MS } from "../../protocol/control.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, sessionId } from "../../protocol/names.ts";
import { type EndReason, type SessionInfo, SessionInfoSchema } from "../../protocol/session.ts";
import type { Connection, RequestContext } from "../../wire/connection.ts";

/** A request without an answer for this long is followed by a ping, in ms: half of what a host has to answer it. */
const PING_AFTER_MS = PEER_TIMEOUT_MS / 2;
/** Interval between pings while a request is unanswered, in ms. */
const PING_AGAIN_MS = 10_000;

/** The gateway's own requests. */
export const CONTEXT: RequestContext = {
  caller: { kind: "cli", id: "server", connected: true },
  access: "admin",
};

/** One host as the gateway knows it. */
export class Host {
  /** Newest info that the host sent; a placeholder until its first hello. */
  info: SessionInfo;
  /** How good that is; null when it was never said. */
  private listing: Listing | null = null;
  /** When the info came, and the host's newest change that it may not know of. */
  private knownAt = performance.now();
  private change = 0;
  connection: Connection | null = null;
  /** Why it cannot be used, when it cannot. */
  trouble: WshError | null = null;
  /** Said before the connection ended, so that its end is no crash. */
  farewell: { reason: EndReason; exit_code: number | null; signal: string | null } | null = null;
  /** A client that waited for its program's end was told of it. */
  endTold = false;
  /** It was asked to end, or has ended: it cannot be found any more, though its process may take a while. */
  isLeaving = false;
  /** The gateway itself ends the connection. */
  isDropped = false;

  constructor(
    /** What the registry says of it; its ids and name only once it was asked for them. */
    public entry: SessionEntry,
    server: string,
  ) {
    this.info = placeholder(entry, server);
  }

  /**
   * A wait may take minutes, so silence alone is no failure: a request that takes long is followed by pings, and only
   * a host that leaves one of those unanswered too is unavailable.
   * @throws what the host answered, or why it cannot be asked
   */
  async request(op: string, input: unknown, context: RequestContext): Promise<unknown> {
    const { connection } = this;
    if (connection === null) throw this.trouble ?? unavailable(this.info.name);
    const hung = Promise.withResolvers<never>();
    hung.promise.catch(() => {});
    let timer = setTimeout(ping, PING_AFTER_MS);
    const over = (): void => hung.reject(unavailable(this.info.name));
    function ping(): void {
      timer = setTimeout(over, PEER_TIMEOUT_MS - PING_AFTER_MS);
      connection?.request("host.ping", {}, CONTEXT).then(
        () => {
          clearTimeout(timer);
          if (waiting) timer = setTimeout(ping, PING_AGAIN_MS);
        },
        () => {}, // the connection has ended, and with it the request
      );
    }
    let waiting = true;
    try {
      return await Promise.race([connection.request(op, input, context), hung.promise]);
    } catch (error) {
      throw connection.isClosed ? this.lostError() : error;
    } finally {
      waiting = false;
      clearTimeout(timer);
    }
  }

  /** Takes over an info that the host sent, with how good it is when that was said; false when it is none. */
  learn(value: unknown, listing: unknown): boolean {
    const info = v.safeParse(SessionInfoSchema, value);
    if (!info.success) return false;
    const said = v.safeParse(ListingSchema, listing);
    this.info = info.output;
    this.knownAt = performance.now();
    this.listing = said.success ? said.output : null;
    return true;
  }

  /** Its info is overtaken by this change. */
  overtaken(change: number): void {
    this.change = Math.max(this.change, change);
  }

  /**
   * `known`: the info holds. `ask`: only the host can tell. `stopped`: it cannot answer. The process is looked at too,
   * since one that is stopped or hangs reports nothing.
   */
  get standing(): "known" | "ask" | "stopped" {
    const { listing } = this;
    if (listing === null) return "ask";
    const rest = restOf(listing.host);
    if (rest === "stopped") return "stopped";
    const { lasting } = listing;
    if (rest !== "asleep" || lasting === null || listing.change < this.change) return "ask";
    return lasting === "reported" || runsOf(lasting.pid) === lasting.runs ? "known" : "ask";
  }

  /** The info as of now: while nothing happens, ages grow. */
  get infoNow(): SessionInfo {
    const ms = Math.floor(performance.now() - this.knownAt);
    const { idle_ms, last_activity_ms } = this.info;
    return { ...this.info, idle_ms: idle_ms + ms, last_activity_ms: last_activity_ms + ms };
  }

  /** What the registry says of a host that has not said more itself. */
  registeredAs(entry: SessionEntry): void {
    const { name, ended } = entry;
    this.entry = entry;
    if (this.connection === null && name !== null) {
      this.info = { ...this.info, ...idsOf(entry), name, running: !ended };
    }
  }

  /** Ends the session with the server. A process of an older version knows this as its operation only. */
  async end(): Promise<void> {
    const input = { reason: "server_stopped" };
    try {
      await this.request("host.end", input, CONTEXT);
    } catch (thrown) {
      if (!(thrown instanceof WshError) || thrown.code !== "unknown_method") throw thrown;
      await this.request("session.kill", input, CONTEXT);
    }
  }

  /** Why a request was not answered whose connection has ended. */
  private lostError(): WshError {
    const { name } = this.info;
    if (this.isLeaving) return new WshError("session_not_found", `session '${name}' was ended`);
    if (this.isDropped) return new WshError("server_unavailable", "the server ends");
    return new WshError("host_crashed", `the session process of '${name}' has died`);
  }
}

export function unavailable(name: string): WshError {
  return new WshError("host_unavailable", `the session process of '${name}' does not answer`);
}

export function unresponsive(info: SessionInfo): SessionInfo {
  return { ...info, state: "unresponsive" };
}

/** What the registry tells of a host's ids: only its pane's while it is being set up, and of one of another version. */
function idsOf({ id, session }: SessionEntry): Pick<SessionInfo, "id" | "pane_id"> {
  const pane_id = paneId(id);
  return { id: session === null ? pane_id : sessionId(session), pane_id };
}

/** What is known of a host that has not said hello: its ids and name, where the registry has told them. */
function placeholder(entry: SessionEntry, server: string): SessionInfo {
  return {
    ...idsOf(entry),
    name: entry.name ?? paneId(entry.id),
    server,
    pid: null,
    command: "",
    rows: 0,
    cols: 0,
    clients: 0,
    attached: 0,
    tags: [],
    last_activity_ms: 0,
    idle_ms: 0,
    running: !entry.ended,
    state: "unresponsive",
    cwd: null,
    title: "",
    exit_code: null,
    signal: null,
    created_at: 0,
    windows: [],
  };
}
