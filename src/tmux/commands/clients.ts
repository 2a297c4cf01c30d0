/** Commands on clients: those that look at a session, and those in control mode, which change themselves. */
import { WshError } from "../../protocol/errors.ts";
import type { ControlClient } from "../backend.ts";
import { TmuxError } from "../error.ts";
import { isTrue } from "../formats/syntax.ts";
import { placeOf, type Session } from "../model.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import type { State } from "../state.ts";
import { around } from "../targets.ts";
import { type Command, command } from "./command.ts";
import { hasTable } from "./keys.ts";

const CLIENT =
  "#{client_name}: #{session_name} [#{client_width}x#{client_height} #{client_termname}]" +
  "#{?client_flags, (,}#{client_flags}#{?client_flags,),}";

/** What a command about a client means: one in control mode, or the terminal that was used last in a session. */
export type Client =
  | { readonly control: string; readonly pid: number; readonly session: Session }
  | { readonly control: null; readonly session: Session };

export const clientCommands: readonly Command[] = [
  command("list-clients lsc", "F:f:t:", [0, 0], "[-F format] [-t target-session]", async (run, args) => {
    const { model, state } = await run.load();
    const sessions = args.has("t") ? [(await run.place(args, "session")).session] : model.sessions;
    for (const session of sessions) {
      const own = controlling(run, state, session).map(([name, { pid, flags }]) => ({
        ...clientOf(session, 0),
        ...{ client_name: name, client_flags: flags, client_control_mode: "1", client_pid: String(pid) },
      }));
      const people = Array.from({ length: session.info.attached }, (_, i) => clientOf(session, i));
      for (const extra of [...own, ...people]) {
        const filter = args.get("f");
        if (filter !== undefined && !isTrue(await run.format(filter, placeOf(session), extra))) continue;
        await run.print(await run.format(args.get("F") ?? CLIENT, placeOf(session), extra));
      }
    }
  }),
  command(
    "detach-client detach",
    "aE:s:t:P",
    [0, 0],
    "[-aP] [-E shell-command] [-s target-session] [-t target-client]",
    detach,
  ),
  command(
    "switch-client switchc",
    "c:Elnprt:T:Z",
    [0, 0],
    "[-ElnprZ] [-c target-client] [-t target-session] [-T key-table]",
    switchClient,
  ),
  command(
    "refresh-client refresh",
    "A:B:cC:Df:F:lLRSt:U",
    [0, 1],
    "[-cDlLRSU] [-A pane:state] [-B name:what:format] [-C XxY] [-f flags] [-t target-client] [adjustment]",
    refresh,
  ),
];

function clientOf(session: Session, index: number) {
  const { rows, cols } = session.info;
  return {
    ...{ client_name: `wsh-${session.name}-${index}`, client_session: session.name, client_termname: "xterm-256color" },
    ...{ client_width: String(cols), client_height: String(rows), client_utf8: "1", client_flags: "" },
    ...{ client_readonly: "0", client_prefix: "0", client_control_mode: "0" },
  };
}

/**
 * The client that a flag names; without it the caller's own: the client in control mode that asks, the terminal at the
 * caller's session, or else one at any.
 * @throws TmuxError `no current client`, `can't find client: x`
 */
export async function clientFor(run: Run, named: string | undefined): Promise<Client> {
  const { model, state } = await run.load();
  const all: readonly (Client & { readonly name: string })[] = model.sessions.flatMap((session) => [
    ...controlling(run, state, session).map(([name, { pid }]) => ({ name, control: name, pid, session })),
    ...Array.from({ length: session.info.attached }, (_, i) => ({
      ...{ name: clientOf(session, i).client_name, control: null, session },
    })),
  ]);
  if (named !== undefined) {
    const found = all.find(({ name }) => name === named.replace(/:$/, ""));
    if (found === undefined) throw new TmuxError(`can't find client: ${named.replace(/:$/, "")}`);
    return found;
  }
  const { current } = await run.targets();
  const own = all.find(({ control }) => control !== null && control === run.backend.control?.name);
  const people = all.filter(({ control }) => control === null);
  const here = [...people, ...all].find(({ session }) => session.id === current?.session.id);
  const any = people.toSorted((a, b) => b.session.info.last_activity_ms - a.session.info.last_activity_ms)[0];
  const found = own ?? here ?? any ?? all[0];
  if (found === undefined) throw new TmuxError("no current client");
  return found;
}

/** The same, where a person must see something. @throws TmuxError */
export async function terminalFor(run: Run, named: string | undefined): Promise<Session> {
  const { control, session } = await clientFor(run, named);
  if (control !== null && session.info.attached === 0) throw new TmuxError("no current client");
  return session;
}

async function detach(run: Run, args: Arguments): Promise<void> {
  if (args.has("E") || args.has("P"))
    throw new TmuxError("wsh cannot run or end the program around a terminal that it detaches");
  const { model, state } = await run.load();
  if (args.has("s")) {
    const { session } = await run.place(args, "session", "s");
    await clientFor(run, undefined);
    for (const [, { pid }] of controlling(run, state, session)) run.backend.detach(pid);
    await run.backend.call("session.detach", {}, session.target);
    return;
  }
  const client = await clientFor(run, args.get("t"));
  if (!args.has("a")) {
    if (client.control === null) await run.backend.call("session.detach", { which: "used" }, client.session.target);
    else if (client.control === run.backend.control?.name) run.backend.control.leave();
    else run.backend.detach(client.pid);
    return;
  }
  for (const session of model.sessions) {
    const isKept = client.control === null && session.id === client.session.id;
    for (const [name, { pid }] of controlling(run, state, session))
      if (name !== client.control) run.backend.detach(pid);
    if (session.info.attached > 0)
      await run.backend.call("session.detach", { which: isKept ? "others" : "all" }, session.target);
  }
}

/** Clients in control mode that show a session. */
function controlling({ backend }: Run, state: State, { target }: Session) {
  return Object.entries(state.clients).filter(
    ([, { pid, session }]) => session === target && pid > 1 && backend.isAlive(pid),
  );
}

/** The client in control mode that asks. @throws TmuxError where another is meant, or none asks */
function controlOf(run: Run, args: Arguments, flag: string): ControlClient {
  const { control } = run.backend;
  const named = args.get(flag);
  if (named !== undefined && named !== control?.name) throw new TmuxError(`can't find client: ${named}`);
  if (control === null) throw new TmuxError("no current client");
  return control;
}

async function switchClient(run: Run, args: Arguments): Promise<void> {
  const client = await clientFor(run, args.get("c"));
  const table = args.get("T");
  if (table !== undefined)
    throw new TmuxError(
      hasTable(run.backend.readState(), table)
        ? `a terminal of wsh enters a table by a key: bind-key KEY switch-client -T ${table}`
        : `table ${table} doesn't exist`,
    );
  const { model } = await run.load();
  if (args.has("l")) throw new TmuxError("can't find last session");
  const isPlace = /[:.%]/.test(args.get("t") ?? "");
  const step = args.has("n") ? 1 : args.has("p") ? -1 : 0;
  const next = step === 0 ? null : around(model.sessions, client.session, step);
  if (step !== 0 && (next === null || next === client.session))
    throw new TmuxError(`can't find ${step === 1 ? "next" : "previous"} session`);
  const to = next === null ? await run.place(args, isPlace ? "pane" : "session") : placeOf(next);
  const { session, window, pane } = to;
  if (isPlace && window !== session.current) await run.backend.call("window.select", {}, window.target);
  if (isPlace && pane !== window.active) await run.backend.call("pane.select", {}, pane.target);
  if (client.control !== null) {
    if (client.control !== run.backend.control?.name) throw new TmuxError(`can't find client: ${client.control}`);
    return run.backend.control.show(session.target);
  }
  if (session.id !== client.session.id)
    await run.backend.call("terminal.show", { view: "go", target: session.target }, client.session.target);
}

async function refresh(run: Run, args: Arguments): Promise<void> {
  const changes = ["A", "B", "C", "F", "f"].some((flag) => args.has(flag));
  // Clients draw by themselves.
  if (!changes) return void (await clientFor(run, args.get("t")));
  const control = controlOf(run, args, "t");
  for (const flag of ["F", "f"]) if (args.has(flag)) control.setFlags(args.get(flag) ?? "");
  for (const each of args.all("A")) {
    const [pane = "", to] = each.split(/:(.*)/s);
    if (to !== undefined) control.setPane(pane, to);
  }
  for (const each of args.all("B")) {
    const [name = "", about, format] = each.split(/:([^:]*):(.*)/s);
    if (about !== undefined && format !== undefined) control.subscribe(name, { about, format });
    else if (!each.includes(":")) control.subscribe(name, null);
  }
  const size = args.get("C");
  if (size !== undefined) await resize(run, control, size);
}

async function resize(run: Run, { session }: ControlClient, size: string): Promise<void> {
  const [, window, x, y] = /^(@\d+:)?(?:(\d+)[x,](\d+))?$/.exec(size) ?? [];
  if (window !== undefined && x === undefined) return;
  const [cols, rows] = [Number(x), Number(y)];
  if (x === undefined) throw new TmuxError("bad size argument");
  if (cols < 1 || rows < 1 || cols > 10_000 || rows > 10_000) throw new TmuxError("size too small or too big");
  if (session === null) return;
  const limits = { rows: Math.min(rows, 1000), cols: Math.max(2, Math.min(cols, 1000)) };
  try {
    await run.backend.call("session.resize", limits, session);
  } catch (thrown) {
    // People's terminals decide the size.
    if (WshError.from(thrown).code !== "size_held") throw thrown;
  }
}
