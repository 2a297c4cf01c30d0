/**
 * Destinations for a person: the instance's sessions, windows and panes, requested from the processes that serve them.
 * Each call opens and closes a connection; a process that does not answer in time is omitted.
 */
import * as v from "valibot";
import type { Instance } from "../../instance/paths.ts";
import { requireRights } from "../../operations/rights.ts";
import { activePane } from "../../protocol/active-pane.ts";
import { agentWords, urgencyOf } from "../../protocol/agent.ts";
import type { Acting } from "../../protocol/caller.ts";
import { asSeenBy } from "../../protocol/concealed.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { formatTarget, parseTarget, sessionId, sessionNumber, type Target } from "../../protocol/names.ts";
import { agentOfCaller, ownerOf } from "../../protocol/owner.ts";
import { commandNow, requirePane, type SessionInfo } from "../../protocol/session.ts";
import { meantWindow } from "../../protocol/window-target.ts";
import { processState } from "../../registry/liveness.ts";
import { listSessions } from "../../registry/registry.ts";
import { Connection } from "../../wire/connection.ts";
import { askProcess, askServerOperation } from "../calls/ask-process.ts";
import { findPermittedSession } from "../calls/permitted-targets.ts";

/** Longest wait for a process's answer, in ms, and most sessions asked for a list. */
const ANSWER_MS = 1_000;
const MAX_SESSIONS = 256;
/** Longest wait for a new session, in ms. */
const START_MS = 10_000;

export type SwitcherScope = "windows" | "sessions" | "agents";

/** The rows of a switcher, and the actions of its keys. */
export interface SwitcherSource {
  readonly title: string;
  /** The text of an empty list. */
  readonly emptyText: string;
  /** The question before a row's object is closed. */
  closeQuestion(row: SwitcherRow): string;
  list(): Promise<readonly SwitcherRow[]>;
  /** Its current contents; null: it does not answer. Absent: rows have none. */
  preview?(row: SwitcherRow): Promise<readonly string[] | null>;
  close(row: SwitcherRow): Promise<void>;
  /** Absent: rows cannot be renamed. */
  rename?(row: SwitcherRow, name: string): Promise<void>;
  /** Absent: nothing can be created here. */
  create?(name: string): Promise<SwitcherRow>;
}

const titles: Readonly<Record<SwitcherScope, string>> = {
  windows: "Sessions, windows and panes",
  sessions: "Sessions",
  agents: "Agents, those that need you first",
};

/** The sessions, windows and panes of the instance. */
export function placesSource(instance: Instance, kind: SwitcherScope, by: Acting): SwitcherSource {
  return {
    title: titles[kind],
    emptyText: kind === "agents" ? "no agent is running" : "no match",
    closeQuestion: ({ kind: placeKind, session, name }) =>
      `end ${placeKind === "session" ? `session '${session}'` : `${placeKind} ${name}`} and all its programs?`,
    list: () => listDestinations(instance, kind, by),
    preview: (row) => preview(row, by),
    close: (row) => close(row, by),
    rename: (row, name) => rename(row, name, by),
    create: (name) => create(instance, name, by),
  };
}

export interface SwitcherRow {
  readonly kind: "session" | "window" | "pane" | "buffer" | "client";
  readonly session: string;
  /** The session's number, and the socket of its process. */
  readonly number: number;
  readonly socket: string;
  /** Its target in calls: `@s3`, `@w5`, `@7`. */
  readonly target: string;
  /** The pane for its preview. */
  readonly pane: string;
  readonly name: string;
  readonly description: string;
  /** Depth in the tree. */
  readonly depth: number;
  /** Urgency of its agent, 0 being the most urgent; null: it has no agent. */
  readonly urgency: number | null;
}

function requestOf(by: Acting, socket: string, op: string, input: unknown, target?: string): Promise<unknown> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  return askProcess(socket, op, input, { by, ...defined({ target }), signal });
}

/** All places of a kind that a caller may see; agents by how urgently they need a person. */
export async function listDestinations(
  instance: Instance,
  kind: SwitcherScope,
  { caller }: Acting,
): Promise<SwitcherRow[]> {
  const { only } = caller;
  const agent = agentOfCaller(caller) === null ? null : ownerOf(caller);
  const entries = listSessions(instance).filter(({ ended, name, socket, session }) => {
    if (only !== undefined && (session === null || sessionId(session) !== only)) return false;
    return !ended && name !== null && processState(socket) === "alive";
  });
  const infos = await Promise.all(
    entries.slice(0, MAX_SESSIONS).map(async ({ socket }) => {
      const connection = await Connection.open(socket, "cli", {}, ANSWER_MS).catch(() => null);
      connection?.connection.close();
      return connection?.hello.info === undefined ? null : { info: asSeenBy(connection.hello.info, agent), socket };
    }),
  );
  const places = infos.flatMap((each) => (each === null ? [] : placesInSession(each.info, each.socket)));
  if (kind === "sessions") return places.filter((place) => place.kind === "session");
  if (kind === "windows") return places;
  const agents = places.filter((place) => place.kind === "pane" && place.urgency !== null);
  return agents.toSorted((a, b) => (a.urgency ?? 0) - (b.urgency ?? 0)).map((place) => ({ ...place, depth: 0 }));
}

function placesInSession({ id, name, windows, state, attached }: SessionInfo, socket: string): SwitcherRow[] {
  const sessionFields = { session: name, number: sessionNumber(id), socket };
  const activePaneId = (shownWindows: typeof windows): string => activePane({ windows: shownWindows })?.id ?? "";
  const count = windows.length === 1 ? state.replaceAll("_", " ") : `${windows.length} windows`;
  const session: SwitcherRow = {
    ...sessionFields,
    kind: "session",
    target: id,
    pane: activePaneId(windows),
    name,
    depth: 0,
    urgency: null,
    description: attached > 0 ? `${count}, attached` : count,
  };
  return [
    session,
    ...windows.flatMap((window): SwitcherRow[] => [
      {
        ...sessionFields,
        kind: "window",
        target: window.id,
        pane: activePaneId([window]),
        depth: 1,
        urgency: null,
        name: `${window.index}: ${window.name}`,
        description: window.active ? "shown" : "",
      },
      ...window.panes.map((pane): SwitcherRow => {
        const stateText = pane.agent === undefined ? pane.state : `${pane.agent.name} ${agentWords(pane.agent)}`;
        return {
          ...sessionFields,
          kind: "pane",
          target: pane.id,
          pane: pane.id,
          depth: 2,
          name: `${pane.id} ${pane.title === "" ? commandNow(pane) : pane.title}`,
          description: stateText.replaceAll("_", " "),
          urgency: pane.agent === undefined ? null : urgencyOf(pane.agent),
        };
      }),
    ]),
  ];
}

/** The session, window or pane that a target names. @throws WshError session_not_found, session_unavailable */
export async function findPlace(instance: Instance, target: string, by: Acting): Promise<SwitcherRow> {
  const parsed = parseTarget(target);
  const entry = findPermittedSession(instance, by, target);
  const { socket } = entry;
  const { connection, hello } = await Connection.open(socket, "cli", {}, ANSWER_MS);
  connection.close();
  const { info } = hello;
  if (info === undefined) throw new WshError("session_unavailable", `'${target}' is being started`);
  requirePane(info, parsed);
  const targetId = parsed.kind === "session" ? resolveId(info, parsed) : formatTarget(parsed);
  const place = placesInSession(info, socket).find((each) => each.target === targetId);
  if (place === undefined) throw new WshError("session_not_found", `'${target}' no longer exists`);
  return place;
}

/** Id of a target's subject in a session. */
function resolveId({ id, windows }: SessionInfo, target: Extract<Target, { kind: "session" }>): string {
  if (target.window === undefined || target.window === "") return id;
  const match = meantWindow(windows, target, { automatic: ({ name }) => name, id: (window) => window.id });
  const pane = match?.window.panes.find(({ index }) => index === match.pane);
  return pane?.id ?? match?.window.id ?? id;
}

const ScreenSchema = v.object({ lines: v.array(v.string()) });

/** The current contents of a place; null when it does not answer. */
async function preview({ pane, socket }: SwitcherRow, by: Acting): Promise<readonly string[] | null> {
  try {
    return v.parse(ScreenSchema, await requestOf(by, socket, "screen.get", { format: "plain" }, pane)).lines;
  } catch {
    return null;
  }
}

/** Gives a window or pane the focus of its session. @throws WshError of that session, session_not_found */
export async function focus(place: SwitcherRow, by: Acting): Promise<void> {
  if (place.kind !== "session")
    await callPlace(by, place, place.kind === "window" ? "window.select" : "pane.select", {});
}

/** @throws WshError of the session, session_not_found */
async function close(place: SwitcherRow, by: Acting): Promise<void> {
  if (place.kind === "session") await callPlace(by, place, "session.kill", { reason: "killed" });
  else await callPlace(by, place, place.kind === "window" ? "window.close" : "pane.close", {});
}

/** @throws WshError of the session, session_not_found */
async function rename(place: SwitcherRow, name: string, by: Acting): Promise<void> {
  if (place.kind === "session") await callPlace(by, place, "session.update", { name });
  else if (place.kind === "window") await callPlace(by, place, "window.update", { name });
  else await callPlace(by, place, "pane.update", { title: name });
}

async function callPlace(
  by: Acting,
  { target, socket, session }: SwitcherRow,
  op: string,
  input: unknown,
): Promise<void> {
  try {
    await requestOf(by, socket, op, input, target);
  } catch (thrown) {
    if (processState(socket) === "alive") throw thrown;
    throw new WshError("session_not_found", `session '${session}' no longer exists`);
  }
}

/** Starts a session with the person's shell. @returns its place @throws WshError session_create_failed */
async function create(instance: Instance, name: string, by: Acting): Promise<SwitcherRow> {
  requireRights(by, { name: "sessions.create", access: "operate", scope: "server" }, null);
  if (by.caller.via === undefined && by.caller.agent === undefined) await startSession(instance, name);
  else
    await askServerOperation(
      instance,
      by,
      "sessions.create",
      name === "" ? {} : { name },
      AbortSignal.timeout(START_MS),
    );
  const sessions = await listDestinations(instance, "sessions", by);
  const created =
    sessions.find((place) => place.session === name) ?? sessions.toSorted((a, b) => b.number - a.number)[0];
  if (created === undefined) throw new WshError("session_not_found", `session '${name}' has already ended`);
  return created;
}

/** Runs in this process's environment, like a session that a person starts. */
async function startSession(instance: Instance, name: string): Promise<void> {
  const { selfCommand } = await import("../../launch/launch.ts");
  const child = Bun.spawn([...selfCommand(["new", "--socket", instance.httpSocket, ...(name === "" ? [] : [name])])], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    timeout: START_MS,
    killSignal: "SIGKILL",
  });
  const [code, errorText] = await Promise.all([child.exited, new Response(child.stderr).text()]);
  if (code !== 0) throw new WshError("session_create_failed", errorText.split("\n")[0]?.replace(/^wsh: /, "") ?? "");
}
