/** Lists the clients of an instance: terminals attached to its sessions, and clients in control mode. */
import type { OperationOutput } from "../../operations/table.ts";
import { TmuxError } from "../error.ts";
import { clientName } from "../facts.ts";
import type { ResolvedTarget, Session } from "../model.ts";
import type { ExtraVariables, Run } from "../run.ts";

/** A client, as commands address it. */
export interface TmuxClient {
  readonly name: string;
  readonly session: Session;
  /** The process of a client in control mode; null for a terminal. */
  readonly pid: number | null;
  /** The terminal's number in the session; null in control mode. */
  readonly terminal: number | null;
  /** Whether it is the client used last in its session. */
  readonly isUsed: boolean;
  /** Variables of formats about the client. */
  readonly variables: ExtraVariables;
}

/** Clients ordered by session, then by the time at which they attached. */
export async function clientsOf(run: Run, sessions: readonly Session[]): Promise<readonly TmuxClient[]> {
  const { model, state } = await run.load();
  const all = sessions.map(async (session) => {
    // A session that has ended meanwhile has no clients.
    const terminals =
      session.info.attached === 0 ? [] : await run.backend.call("session.clients", {}, session.target).catch(() => []);
    const controls = Object.entries(state.clients).flatMap(([name, { pid, session: shown, flags }]): TmuxClient[] => {
      if (shown !== session.target || pid <= 1 || !run.backend.isAlive(pid)) return [];
      const { rows, cols } = session.info;
      const ownVariables = { client_flags: flags, client_control_mode: "1", client_pid: String(pid) };
      const variables = { ...commonVariables(run, session, { name, rows, cols }), ...ownVariables };
      return [{ name, session, pid, terminal: null, isUsed: false, variables }];
    });
    return [...controls, ...terminals.map((each) => terminalOf(run, session, each))];
  });
  return (await Promise.all(all)).flat().map((client) => {
    const last = lastSession({ model, state }, client)?.name ?? "";
    return { ...client, variables: { ...client.variables, client_last_session: last } };
  });
}

/** The session that a client showed before its current one; undefined if it reached the current one by other means. */
export function lastSession(
  { model, state }: Awaited<ReturnType<Run["load"]>>,
  { name, session }: Pick<TmuxClient, "name" | "session">,
): Session | undefined {
  const left = state.left[name];
  return left?.to === session.target ? model.sessions.find(({ target }) => target === left.from) : undefined;
}

function terminalOf(run: Run, session: Session, viewer: OperationOutput<"session.clients">[number]): TmuxClient {
  const { client, terminal, rows, cols, read_only: isReadOnly, used, since, last_key: lastKey } = viewer;
  const name = clientName(session, viewer);
  const flags = ["attached", used ? "focused" : "", isReadOnly ? "read-only" : "", "UTF-8"];
  const seconds = (ms: number): string => String(Math.floor(ms / 1000));
  const ownVariables = {
    client_flags: flags.filter((flag) => flag !== "").join(","),
    client_readonly: isReadOnly ? "1" : "0",
    client_tty: terminal ?? "",
    client_created: seconds(since),
    client_activity: seconds(lastKey ?? since),
  };
  const variables = { ...commonVariables(run, session, { name, rows, cols }), ...ownVariables };
  return { name, session, pid: null, terminal: client, isUsed: used, variables };
}

function commonVariables(
  { backend }: Run,
  session: Session,
  { name, rows, cols }: { readonly name: string; readonly rows: number; readonly cols: number },
): ExtraVariables {
  return {
    client_name: name,
    client_session: session.name,
    client_termname: "xterm-256color",
    client_tty: "",
    client_width: String(cols),
    client_height: String(rows),
    client_utf8: "1",
    client_key_table: "root",
    client_readonly: "0",
    client_prefix: "0",
    client_control_mode: "0",
    client_user: backend.account.name,
    client_uid: String(backend.account.uid),
    client_pid: "",
  };
}

/**
 * The client that a flag names. Without the flag, it is the caller's own: the client in control mode that
 * sent the command, the terminal that was used last in the caller's session, or else in any session.
 * @throws TmuxError `no current client`, `can't find client: x`
 */
export async function clientFor(run: Run, named: string | undefined): Promise<TmuxClient> {
  const { model } = await run.load();
  const all = await clientsOf(run, model.sessions);
  if (named !== undefined) {
    const name = named.replace(/:$/, "");
    const client = all.find((each) => each.name === name || each.name === `/dev/${name}`);
    if (client === undefined) throw new TmuxError(`can't find client: ${name}`);
    return client;
  }
  const { current } = await run.targets();
  const own = all.find(({ name, pid }) => pid !== null && name === run.backend.control?.name);
  const people = all
    .filter(({ terminal }) => terminal !== null)
    .toSorted((a, b) => Number(b.isUsed) - Number(a.isUsed));
  const here = [...people, ...all].find(({ session }) => session.id === current?.session.id);
  const any = people.toSorted((a, b) => a.session.info.last_activity_ms - b.session.info.last_activity_ms)[0];
  const chosen = own ?? here ?? any ?? all[0];
  if (chosen === undefined) throw new TmuxError("no current client");
  return chosen;
}

/** Expands a format for a place and, if the format asks for one, the current client. */
export async function formatWithClient(run: Run, template: string, place: Partial<ResolvedTarget>): Promise<string> {
  const client = template.includes("client_") ? await clientFor(run, undefined).catch(() => null) : null;
  return run.format(template, place, client?.variables);
}

/** Like clientFor, but only a terminal, since a person must see something. @throws TmuxError */
export async function terminalFor(run: Run, named: string | undefined): Promise<Session> {
  const { terminal, session } = await clientFor(run, named);
  if (terminal === null && session.info.attached === 0) throw new TmuxError("no current client");
  return session;
}
