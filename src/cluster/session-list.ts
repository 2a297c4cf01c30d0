/**
 * Sessions of another machine from its last list, in the form of a list here: the session, or its JSON, which is
 * created once and cached, since lists show thousands of unchanged ones. Parts that depend on the time are inserted for
 * each list: the ages, whether the machine answers, and since when it does not. Pure.
 */
import { asSeenBy } from "../protocol/concealed.ts";
import type { Owner } from "../protocol/owner.ts";
import type { SessionInfo } from "../protocol/session.ts";
import { addressedSession } from "./machine-prefix.ts";

export interface ListedSession {
  /** The session by its name here, `m1/dev`. Its ages date from its machine's report. */
  readonly info: SessionInfo;
  /** Its JSON after a comma, without the parts that depend on the time. */
  readonly json: string;
}

export function listedSession(machine: string, session: SessionInfo): ListedSession {
  const info = addressedSession(machine, session);
  return { info, json: listedJson(info) };
}

function listedJson({ last_activity_ms: _last, idle_ms: _idle, ...constant }: SessionInfo): string {
  return `,${JSON.stringify(constant).slice(0, -1)},"last_activity_ms":`;
}

/** The elements of a list: each function adds a session to it. */
export interface ListForm<T> {
  add(list: T[], info: SessionInfo): void;
  /** Adds a session, so many ms after its machine's report. */
  addAged(list: T[], session: ListedSession, ms: number): void;
  /** Adds a session whose machine does not answer. @param at Unix time in ms of the report */
  addLastSeen(list: T[], session: ListedSession, at: number): void;
}

export const asSessions: ListForm<SessionInfo> = {
  add: (list, info) => void list.push(info),
  addAged(list, { info }, ms) {
    list.push({ ...info, idle_ms: info.idle_ms + ms, last_activity_ms: info.last_activity_ms + ms });
  },
  addLastSeen: (list, { info }, at) => void list.push(lastSeen(info, at)),
};

/** Pieces of JSON (jsonOf), each session after a comma: joining strings only at the end costs several times less. */
export const asJson: ListForm<string> = {
  add: (list, info) => void list.push(",", JSON.stringify(info)),
  addAged(list, { info: { last_activity_ms, idle_ms }, json }, ms) {
    const last = finite(last_activity_ms + ms);
    // The two ages are nearly always equal.
    list.push(json, last, ',"idle_ms":', idle_ms === last_activity_ms ? last : finite(idle_ms + ms), "}");
  },
  addLastSeen: (list, { info }, at) => void list.push(",", JSON.stringify(lastSeen(info, at))),
};

/** The form of a list that an AI agent reads. */
export function formSeenBy<T>(form: ListForm<T>, agent: Owner): ListForm<T> {
  const seen = (session: ListedSession): ListedSession => {
    const info = asSeenBy(session.info, agent);
    return info === session.info ? session : { info, json: listedJson(info) };
  };
  return {
    add: (list, info) => form.add(list, asSeenBy(info, agent)),
    addAged: (list, session, ms) => form.addAged(list, seen(session), ms),
    addLastSeen: (list, session, at) => form.addLastSeen(list, seen(session), at),
  };
}

export function jsonOf([first, ...pieces]: readonly string[]): string {
  return first === undefined ? "[]" : ["[", first.slice(1), ...pieces, "]"].join("");
}

function lastSeen(info: SessionInfo, at: number): SessionInfo {
  return { ...info, as_of: at, state: "unresponsive" };
}

/** Like JSON.stringify: another machine may write 1e999. */
function finite(value: number): string {
  return Number.isFinite(value) ? String(value) : "null";
}
