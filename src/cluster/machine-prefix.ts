/**
 * Prefixes the machine's name to every session, window and pane in another machine's answers, as callers here must name
 * them: `m1/dev`, `m1/@7`. A bare name would mean a session here. Only fields with names and ids change, never text of
 * a terminal. Pure.
 */
import { parsePlace } from "../protocol/names.ts";

/** Fields that hold a target whatever it looks like, and those that hold one when it is an id. */
const targetFields: ReadonlySet<string> = new Set([
  ...["session", "view", "pane", "pane_id", "window_id", "session_id", "new_pane"],
]);
const idFields: ReadonlySet<string> = new Set(["id", "window", "from", "to", "active", "target"]);
/** Lists of targets: each entry's id is one in any form. */
const placeLists: ReadonlySet<string> = new Set(["windows", "panes"]);
/** Fields with program output or people's text: nothing below them is changed. */
const textFields: ReadonlySet<string> = new Set(["output", "screen", "lines", "text", "env", "answer", "spans"]);
const idPattern = /^@[sw]?\d+$/;

/** @param outputType the type of the operation's output */
export function addressedOutput(
  machine: string,
  outputType: "sessions" | "commands" | undefined,
  answer: unknown,
): unknown {
  const changed = walk(machine, answer);
  if (outputType === undefined) return changed;
  if (outputType === "commands") return withMachine(machine, changed);
  return Array.isArray(changed)
    ? changed.map((one) => withMachineName(machine, one))
    : withMachineName(machine, changed);
}

/** Commands of a machine's history: most have a session, imported ones do not. */
function withMachine(machine: string, page: unknown): unknown {
  if (typeof page !== "object" || page === null || !("commands" in page) || !Array.isArray(page.commands)) return page;
  return { ...page, commands: page.commands.map((command) => ({ ...command, server: machine })) };
}

/** Fields of events that hold a session's name. */
const nameFields = ["name", "old_name", "new_name"] as const;

/** The parameters of another machine's event. */
export function addressedEvent(machine: string, params: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = walk(machine, params) as Record<string, unknown>;
  const { session } = fields;
  const names = nameFields.flatMap((field) => {
    const name = params[field];
    return typeof name === "string" ? [[field, `${machine}/${name}`] as const] : [];
  });
  const whole = typeof session === "object" ? { session: withMachineName(machine, session) } : {};
  return { ...fields, ...Object.fromEntries(names), ...whole };
}

/** A session of another machine as lists show it here. */
export function addressedSession<T extends object>(machine: string, info: T): T {
  return withMachineName(machine, walk(machine, info)) as T;
}

function withMachineName(machine: string, session: unknown): unknown {
  if (typeof session !== "object" || session === null) return session;
  const name = "name" in session && typeof session.name === "string" ? { name: `${machine}/${session.name}` } : {};
  // Text that is not an id would be a name, namely of a session here.
  const id = "id" in session && typeof session.id === "string" ? { id: withPrefix(machine, session.id) } : {};
  return { ...session, ...name, ...id, ...("server" in session ? { server: machine } : {}) };
}

/**
 * Runs for each field of each session of a list: unchanged parts are copied whole.
 * @param list the field that holds the value
 */
function walk(machine: string, value: unknown, list = ""): unknown {
  if (Array.isArray(value)) return value.map((each) => walk(machine, each, list));
  if (typeof value !== "object" || value === null) return value;
  const changed: Record<string, unknown> = { ...value };
  for (const key of Object.keys(changed)) {
    const own = changed[key];
    if (typeof own === "string") {
      const isTarget = targetFields.has(key) || (key === "id" && placeLists.has(list));
      if (isTarget ? own !== "" : idFields.has(key) && idPattern.test(own)) changed[key] = `${machine}/${own}`;
    } else if (typeof own === "object" && own !== null && !textFields.has(key)) changed[key] = walk(machine, own, key);
  }
  return changed;
}

/** Adds the prefix, at most once. */
function withPrefix(machine: string, id: string): string {
  return id.startsWith(`${machine}/`) ? id : `${machine}/${id}`;
}

/** The fields of an error other than its message. */
export function addressedDetails(machine: string, details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return walk(machine, details) as Record<string, unknown>;
}

/** Matches targets in fields, never in text: there a quote has a backslash before it. */
const targetInJson = /"(?:(session|pane|pane_id|window_id|session_id)":"([^"\\]+)|(id|window)":"(@[sw]?\d+))"/g;

/**
 * JSON of an event or a picture. Runs for each of them, so it is not walked through; it is serialized again first,
 * since a blank or an escape in it would hide a field.
 * @param session a session's name or id for callers here; without a machine in it, the JSON is returned unchanged
 * @throws SyntaxError for invalid JSON
 */
export function addressedJson(session: string, json: string): string {
  const { machine } = parsePlace(session);
  if (machine === null) return json;
  return JSON.stringify(JSON.parse(json)).replace(
    targetInJson,
    (_, field = "", target = "", idField = "", id = "") => `"${field}${idField}":"${machine}/${target}${id}"`,
  );
}
