/**
 * Watches subscribed resources for changes. One long poll watches a session's output for all its subscribers,
 * and only while there are any; the gateway's own feed reports changes of the session list. Subscribers are
 * notified of a change at most a few times a second, and read again. Every watch ends with its last
 * subscriber, or when its owner may no longer read the session: no person is asked to permit a subscription.
 */
import { pause } from "../../base/deadline.ts";
import type { Call, CallContext } from "../../operations/call.ts";
import type { Caller } from "../../protocol/caller.ts";
import { isConcealedFrom } from "../../protocol/concealed.ts";
import { WshError } from "../../protocol/errors.ts";
import { ownerOf } from "../../protocol/owner.ts";

/** Pause between two updates of one session, in ms: "at most a few a second". */
const UPDATE_PAUSE_MS = 300;
/** Length of one long poll, in ms; then another begins. */
const POLL_MS = 300_000;
/** Pause after an unreachable session, in ms. */
const RETRY_MS = 1_000;

/** Calls back with a session's id when it started, ended or was renamed. */
export type SessionFeed = (changed: (id: string) => void) => Disposable;

export const SESSIONS_URI = "wsh://sessions";

/** Codes of a session, or a machine, that does not exist. */
const missingCodes: ReadonlySet<string> = new Set(["session_not_found", "machine_not_found"]);

export function isMissing(code: string): boolean {
  return missingCodes.has(code);
}

interface Watch {
  readonly listeners: Set<() => void>;
  readonly stop: Disposable;
}

/** The session that a resource belongs to, undefined for the list and for unknown URIs. */
export function sessionOf(uri: string): string | undefined {
  const name = /^wsh:\/\/sessions\/([^/]+)\/(?:screen|scrollback)$/.exec(uri)?.[1];
  return name === undefined ? undefined : decoded(name);
}

/** Decodes a part of a URI; undefined when its percent escapes are invalid. */
export function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

export class Changes {
  private readonly watches = new Map<string, Watch>();

  constructor(
    private readonly call: Call,
    private readonly feed: SessionFeed,
  ) {}

  /** Sessions started or ended. @param only id of the only session that the listener may see */
  onSessions(changed: () => void, only?: string): Disposable {
    return this.feed((id) => {
      if (only === undefined || id === only) changed();
    });
  }

  /** The URI's resource changed. An unknown URI never does. @param caller the listener */
  onResource(uri: string, changed: () => void, caller: Caller): Disposable {
    const session = sessionOf(uri);
    if (uri !== SESSIONS_URI && session === undefined) return { [Symbol.dispose]() {} };
    const key = `${rightsOf(caller)} ${uri}`;
    const watch = this.watches.get(key) ?? this.begin(key, session, caller);
    watch.listeners.add(changed);
    return {
      [Symbol.dispose]: () => {
        watch.listeners.delete(changed);
        if (watch.listeners.size > 0 || this.watches.get(key) !== watch) return;
        this.watches.delete(key);
        watch.stop[Symbol.dispose]();
      },
    };
  }

  private begin(key: string, session: string | undefined, caller: Caller): Watch {
    const listeners = new Set<() => void>();
    const notify = () => {
      for (const listener of listeners) listener();
    };
    const reportLast = (): void => {
      if (this.watches.get(key) === watch) this.watches.delete(key);
      notify();
    };
    const stop =
      session === undefined
        ? this.onSessions(notify, caller.only)
        : this.followOutput(session, notify, reportLast, caller);
    const watch = { listeners, stop };
    this.watches.set(key, watch);
    return watch;
  }

  /** @param reportLast reports the last change: the session cannot be read any longer */
  private followOutput(session: string, notify: () => void, reportLast: () => void, caller: Caller): Disposable {
    const ended = new AbortController();
    void this.poll(session, notify, reportLast, caller, ended.signal);
    return { [Symbol.dispose]: () => ended.abort() };
  }

  private async poll(
    session: string,
    notify: () => void,
    reportLast: () => void,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<void> {
    const context: CallContext & { session: string } = {
      signal,
      session,
      access: "observe",
      caller: { ...caller, id: "mcp:subscriptions", connected: true },
    };
    let since: number | undefined;
    while (!signal.aborted) {
      try {
        // Reading would ask the person if the session has become private since the last update.
        if (isConcealedFrom(await this.call("session.get", {}, context))) return reportLast();
        since ??= (await this.call("status.get", {}, context)).output_cursor;
        const result = await this.call("output.get", { since, wait_ms: POLL_MS, max_bytes: 0 }, context);
        if (signal.aborted) return;
        if (result.output_cursor !== since) notify();
        since = result.output_cursor;
        await pause(UPDATE_PAUSE_MS, signal);
      } catch (thrown) {
        if (signal.aborted) return;
        // Permanently gone: reported once, so that a reader notices.
        const { code } = WshError.from(thrown);
        if (isMissing(code)) return reportLast();
        // The name now belongs to another pane.
        if (code === "invalid_cursor") notify();
        since = undefined;
        await pause(RETRY_MS, signal);
      }
    }
  }
}

/** Equal for callers that may read the same sessions. */
export function rightsOf(caller: Caller): string {
  return JSON.stringify([ownerOf(caller).name, caller.only ?? ""]);
}
