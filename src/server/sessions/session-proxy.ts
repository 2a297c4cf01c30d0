/**
 * One session process from the gateway's view: its connection, and its newest info with its validity. An info that is
 * still valid is returned without asking; its times are ages, which are advanced here.
 */
import * as v from "valibot";
import { emptySession } from "../../protocol/concealed.ts";
import { type Listing, ListingSchema, PEER_TIMEOUT_MS } from "../../protocol/control.ts";
import { WshError } from "../../protocol/errors.ts";
import { formatTarget, paneId, sessionId, sessionNumber, type Target, windowId } from "../../protocol/names.ts";
import { type EndReason, type SessionInfo, SessionInfoSchema } from "../../protocol/session.ts";
import { VERSION } from "../../protocol/version.ts";
import type { SessionEntry } from "../../registry/directories.ts";
import type { Connection, RequestContext } from "../../wire/connection.ts";
import { freshnessOf } from "../../wire/freshness.ts";
import { patience } from "../../wire/patience.ts";
import type { Exit } from "./lifecycle-events.ts";

/** Time without an answer after which a ping follows a request, in ms: half of the limit for the answer. */
const PING_AFTER_MS = PEER_TIMEOUT_MS / 2;
/** Interval between pings while a request is unanswered, in ms. */
const PING_AGAIN_MS = 10_000;

/** The gateway's own requests. */
export const CONTEXT: RequestContext = {
  caller: { kind: "cli", id: "server", connected: true },
  access: "admin",
};

const WatchedSchema = v.looseObject({ listing: v.optional(v.unknown()) });

export class SessionProxy {
  /** Newest info from the session process; a placeholder until its first hello. */
  info: SessionInfo;
  /** The validity of the info; null: it was never reported. */
  private listing: Listing | null = null;
  /** Time at which the info arrived, and the session process's newest change, which the info may lack. */
  private infoAt = performance.now();
  private newestChange = 0;
  connection: Connection | null = null;
  /** Version of wsh, as its process reports. */
  version = VERSION;
  /** Why it cannot be used, if so; null without a connection: its first answer is pending. */
  error: WshError | null = null;
  /** An end announced before the connection ended, which is therefore not a crash. */
  announcedEnd: ({ readonly reason: EndReason } & Exit) | null = null;
  /** Whether it has only panes of another session. */
  isForeign = false;
  /** Whether a client that waited for its program's end was notified. */
  isEndReported = false;
  /** Whether it was asked to end, or has ended: lookups no longer find it, though its process may take a while. */
  isLeaving = false;
  /** Whether the gateway itself is closing the connection. */
  isDropped = false;

  constructor(
    /** Its registry entry; ids and name only after a request for them. */
    public entry: SessionEntry,
    server: string,
  ) {
    this.info = placeholder(entry, server);
  }

  /**
   * A wait may take minutes, so silence alone does not mean failure: a long request is followed by pings, and a
   * session process is unavailable only when it leaves a ping unanswered as well.
   * @throws the session process's error, or the reason why it cannot be asked
   */
  async request(op: string, input: unknown, context: RequestContext): Promise<unknown> {
    const { connection } = this;
    if (connection === null) throw this.error ?? unavailable(this.info.name);
    const hung = Promise.withResolvers<never>();
    hung.promise.catch(() => {});
    let timer = setTimeout(ping, PING_AFTER_MS);
    let stopPatience = (): void => {};
    const onTimeout = (): void => hung.reject(unanswered(this.info.name));
    function ping(): void {
      if (connection === null) return;
      stopPatience = patience(connection.path, PEER_TIMEOUT_MS - PING_AFTER_MS, onTimeout);
      connection.request("peer.ping", {}, CONTEXT).then(
        () => {
          stopPatience();
          if (isWaiting) timer = setTimeout(ping, PING_AGAIN_MS);
        },
        () => {}, // the connection has ended, and with it the request
      );
    }
    let isWaiting = true;
    try {
      return await Promise.race([connection.request(op, input, context), hung.promise]);
    } catch (error) {
      throw connection.isClosed ? this.lostError() : error;
    } finally {
      isWaiting = false;
      clearTimeout(timer);
      stopPatience();
    }
  }

  /** Whether its session has several panes, as far as known. */
  get hasManyPanes(): boolean {
    const { windows } = this.info;
    return windows.length > 1 || (windows[0]?.panes.length ?? 0) > 1;
  }

  /** Address to which streams connect. */
  get address(): string {
    return this.entry.socket;
  }

  /** Requests the info; after its answer the session process reports when it becomes outdated. */
  async watch(connection: Connection): Promise<void> {
    const answer = v.parse(WatchedSchema, await connection.request("peer.watch", {}, CONTEXT));
    if (!this.updateInfo(answer, answer.listing)) throw unavailable(this.info.name);
  }

  /** Stores an info from the session process, with its validity if reported; false: it is not an info. */
  updateInfo(value: unknown, listing: unknown): boolean {
    const info = v.safeParse(SessionInfoSchema, value);
    if (!info.success) return false;
    const parsed = v.safeParse(ListingSchema, listing);
    this.info = info.output;
    this.infoAt = performance.now();
    this.listing = parsed.success ? parsed.output : null;
    return true;
  }

  /** A change that outdates its info. */
  noteChange(change: number): void {
    this.newestChange = Math.max(this.newestChange, change);
  }

  get freshness(): "known" | "ask" | "stopped" {
    return this.listing === null ? "ask" : freshnessOf(this.listing, this.newestChange);
  }

  /** Whether something has changed there that the info may lack. */
  get isOutdated(): boolean {
    return this.connection !== null && this.listing !== null && this.freshness === "ask";
  }

  /** The current info: while nothing happens, only ages grow. */
  get infoNow(): SessionInfo {
    const ms = Math.floor(performance.now() - this.infoAt);
    const { idle_ms, last_activity_ms } = this.info;
    return { ...this.info, idle_ms: idle_ms + ms, last_activity_ms: last_activity_ms + ms };
  }

  /** Info from the registry, for a session process that has not reported more itself. */
  updateEntry(entry: SessionEntry): void {
    const { name, ended } = entry;
    this.entry = entry;
    if (this.connection === null && name !== null) {
      this.info = { ...this.info, ...idsOf(entry), name, running: !ended };
    }
  }

  /** Ends the session for the server. */
  async end(): Promise<void> {
    await this.request("peer.end", { reason: "server_stopped" }, CONTEXT);
  }

  /** Why a request got no answer before its connection ended. */
  private lostError(): WshError {
    const { name } = this.info;
    if (this.isLeaving) return new WshError("session_not_found", `session '${name}' was ended`);
    if (this.isDropped) return new WshError("server_unavailable", "the server is shutting down");
    return new WshError("session_crashed", `the session process of '${name}' has died`, { session: name });
  }
}

/** The number of a session, which orders it among others: a process may be younger than its session. */
export function sessionOf({ info, entry }: SessionProxy): number {
  return /^@s\d+$/.test(info.id) ? sessionNumber(info.id) : (entry.session ?? entry.id);
}

/** Whether the id belongs to this session process's session or window. */
function hasId({ info, entry }: SessionProxy, id: string): boolean {
  if (info.id === id) return true;
  if (info.windows.length === 0) return entry.window !== null && windowId(entry.window) === id;
  return info.windows.some((window) => window.id === id);
}

/** Whether the target addresses this session process's session or window, for any caller. */
export function isTargetOf(target: Target, proxy: SessionProxy): boolean {
  if (target.kind === "session") return proxy.info.name === target.name;
  return target.kind !== "pane" && hasId(proxy, formatTarget(target));
}

export function unavailable(name: string): WshError {
  return new WshError("session_unavailable", `the session process of '${name}' does not answer`);
}

/** The request was sent. */
function unanswered(name: string): WshError {
  const message = `the session process of '${name}' does not answer: the request may or may not have been carried out`;
  return new WshError("session_unavailable", message, {
    session: name,
    hint: "It may still be carried out. Check {status} and {screen} before you repeat it.",
  });
}

export function unresponsive(info: SessionInfo): SessionInfo {
  return { ...info, state: "unresponsive" };
}

/** Ids from the registry: only the pane's while the session is being created, or for another version. */
function idsOf({ id, session }: SessionEntry): Pick<SessionInfo, "id" | "pane_id"> {
  const pane_id = paneId(id);
  return { id: session === null ? pane_id : sessionId(session), pane_id };
}

/** Placeholder for a session process without a hello: its ids and name, if they are in the registry. */
function placeholder(entry: SessionEntry, server: string): SessionInfo {
  return {
    ...idsOf(entry),
    name: entry.name ?? paneId(entry.id),
    server,
    ...emptySession,
    running: !entry.ended,
    state: "unresponsive",
    created_at: 0,
  };
}
