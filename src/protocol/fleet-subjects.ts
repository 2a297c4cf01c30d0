/**
 * Subjects of a fleet on its NATS servers (docs/machines.md, Your own NATS cluster). Access and user are in the subject
 * only: the NATS servers prevent publishing under another's name, and a machine ignores claims about either in
 * messages. Names are one token each: other characters are written as `%2E`. Pure.
 */
import type { Access } from "./caller.ts";
import { isMachineName } from "./names.ts";

/** First token of every subject of this version. */
const ROOT = "wsh1";
/** Name of the service by which NATS's own tools find machines. */
export const SERVICE = "wsh";

const accesses: readonly string[] = ["observe", "operate", "admin"] satisfies readonly Access[];
const streamPattern = /^[A-Za-z0-9]{8,40}$/;

/** A request's user, operation and machine. */
export interface RequestSubject {
  readonly machine: string;
  readonly access: Access;
  readonly user: string;
  readonly operation: string;
}

/** A stream of a user to a machine: upstream messages are the user's. */
export interface StreamSubject {
  readonly machine: string;
  readonly access: Access;
  readonly user: string;
  readonly stream: string;
}

export function encodeToken(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Null: encodeToken cannot have produced it. */
function decodeToken(token: string): string | null {
  const text = token.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return text !== "" && encodeToken(text) === token ? text : null;
}

export function requestSubject({ machine, access, user, operation }: RequestSubject): string {
  return `${ROOT}.q.${machine}.${access}.${user}.${encodeToken(operation)}`;
}

export function upSubject({ machine, access, user, stream }: StreamSubject): string {
  return `${ROOT}.u.${machine}.${access}.${user}.${stream}`;
}

export function downSubject({ machine, user, stream }: Omit<StreamSubject, "access">): string {
  return `${ROOT}.d.${user}.${machine}.${stream}`;
}

export function beatSubject(machine: string): string {
  return `${ROOT}.up.${machine}`;
}

/** Subjects of all requests and streams to a machine, and of all machines' heartbeats. */
export const requestsTo = (machine: string): string => `${ROOT}.q.${machine}.>`;
export const streamsTo = (machine: string): string => `${ROOT}.u.${machine}.>`;
export const everyBeat = beatSubject("*");

/** Events of a machine's sessions. */
export const eventSubject = (machine: string): string => `${ROOT}.ev.${machine}.sessions`;

/** The subject of NATS's service protocol for all machines, or for one. */
export function serviceSubject(verb: "PING" | "INFO", machine?: string): string {
  return `$SRV.${verb}.${SERVICE}${machine === undefined ? "" : `.${machine}`}`;
}

/** @returns null for other subjects */
export function parseRequestSubject(subject: string): RequestSubject | null {
  const parts = partsOf(subject, "q");
  const operation = parts === null ? null : decodeToken(parts.last);
  return parts === null || operation === null ? null : { ...parts.to, operation };
}

/** @returns null for other subjects */
export function parseUpSubject(subject: string): StreamSubject | null {
  const parts = partsOf(subject, "u");
  return parts === null || !streamPattern.test(parts.last) ? null : { ...parts.to, stream: parts.last };
}

/** The machine that sends the heartbeat; null: not a heartbeat. */
export function parseBeatSubject(subject: string): string | null {
  const [root, kind, machine, ...rest] = subject.split(".");
  const isBeat = root === ROOT && kind === "up" && machine !== undefined && rest.length === 0;
  return isBeat && isMachineName(machine) ? machine : null;
}

/**
 * Subject of a user's answer: the NATS servers let only the user read it, and only `from` write it, a machine or `$js`.
 * (No machine has permission to answer to arbitrary subjects, since the caller chooses them.)
 */
export function inboxSubject(user: string, from: string, id: string): string {
  return `_INBOX.${user}.${from}.${id}`;
}

/** Whether a machine may send an answer for a user to the subject; for all machines, from `$all`. */
export function isInbox(subject: string | undefined, user: string, from: string): subject is string {
  return subject?.startsWith(`_INBOX.${user}.${from}.`) ?? false;
}

/** A unique name for a stream. */
export function newStreamName(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

function partsOf(subject: string, kind: "q" | "u") {
  const [root, own, machine, access, user, last, ...rest] = subject.split(".");
  if (root !== ROOT || own !== kind || last === undefined || rest.length > 0) return null;
  if (machine === undefined || !isMachineName(machine) || user === undefined || !isMachineName(user)) return null;
  if (access === undefined || !isAccess(access)) return null;
  return { to: { machine, access, user }, last };
}

function isAccess(text: string): text is Access {
  return accesses.includes(text);
}
