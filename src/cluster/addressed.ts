/**
 * Answers of another machine, with every session, window and pane named as this machine's callers must name it:
 * `m1/dev`, `m1/@7`. A bare name in an answer would be taken for a session here. Only fields that hold names and ids are
 * changed, never text of a terminal. Pure.
 */

/** Fields that hold a target whatever it looks like, and those that hold one when it is an id. */
const targetFields: ReadonlySet<string> = new Set(["session", "view"]);
const idFields: ReadonlySet<string> = new Set([
  ...["id", "pane", "pane_id", "window", "window_id", "session_id", "from", "to", "active", "target", "new_pane"],
]);
/** Fields with what programs print or people write: nothing below them is changed. */
const textFields: ReadonlySet<string> = new Set(["output", "screen", "lines", "text", "env", "answer", "spans"]);
const idPattern = /^@[sw]?\d+$/;

/** An answer of operations on one session, or of those that return sessions. */
export function addressedAnswer(machine: string, operation: string, answer: unknown): unknown {
  const changed = walk(machine, answer);
  if (operation === "history.search") return withMachine(machine, changed);
  if (!returnsSessions.has(operation)) return changed;
  return Array.isArray(changed) ? changed.map((one) => named(machine, one)) : named(machine, changed);
}

/** Commands of a machine's history: most have a session, imported ones have none. */
function withMachine(machine: string, page: unknown): unknown {
  if (typeof page !== "object" || page === null || !("commands" in page) || !Array.isArray(page.commands)) return page;
  return { ...page, commands: page.commands.map((command) => ({ ...command, server: machine })) };
}

/** Their answer is a session, or several, which has its name in `name`. */
const returnsSessions: ReadonlySet<string> = new Set([
  "sessions.list",
  "sessions.create",
  "session.get",
  "session.update",
  "session.restart",
]);

/** Fields of events that hold a session's name. */
const nameFields = ["name", "old_name", "new_name"] as const;

/** What an event of another machine says. */
export function addressedEvent(machine: string, params: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const said = walk(machine, params) as Record<string, unknown>;
  const { session } = said;
  const names = nameFields.flatMap((field) => {
    const name = params[field];
    return typeof name === "string" ? [[field, `${machine}/${name}`] as const] : [];
  });
  const whole = typeof session === "object" ? { session: named(machine, session) } : {};
  return { ...said, ...Object.fromEntries(names), ...whole };
}

/** A session of another machine as lists show it here. */
export function addressedSession<T extends object>(machine: string, info: T): T {
  return named(machine, walk(machine, info)) as T;
}

function named(machine: string, session: unknown): unknown {
  if (typeof session !== "object" || session === null) return session;
  const name = "name" in session && typeof session.name === "string" ? { name: `${machine}/${session.name}` } : {};
  return { ...session, ...name, ...("server" in session ? { server: machine } : {}) };
}

function walk(machine: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => walk(machine, each));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, own]) => {
      if (textFields.has(key)) return [key, own];
      if (typeof own !== "string") return [key, walk(machine, own)];
      const isTarget = targetFields.has(key) ? own !== "" : idFields.has(key) && idPattern.test(own);
      return [key, isTarget ? `${machine}/${own}` : own];
    }),
  );
}

/** Ids in fields, never in text: there a quote has a backslash before it. */
const idInJson = /"(id|pane|pane_id|window|window_id|session|session_id)":"(@[sw]?\d+)"/g;

/** JSON of an event or a picture. Runs for each of them, so it is not parsed. */
export function addressedJson(machine: string, json: string): string {
  return json.replace(idInJson, `"$1":"${machine}/$2"`);
}
