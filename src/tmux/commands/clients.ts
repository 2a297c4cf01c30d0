/** Commands on clients: those that look at a session, and those in control mode, which change themselves. */
import { WshError } from "../../protocol/errors.ts";
import type { ControlClient } from "../backend.ts";
import { TmuxError } from "../error.ts";
import { placeOf, type Session } from "../model.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import type { State } from "../state.ts";
import { around } from "../targets.ts";
import { type Command, command } from "./command.ts";

const CLIENT =
  "#{client_name}: #{session_name} [#{client_width}x#{client_height} #{client_termname}]" +
  "#{?client_flags, (,}#{client_flags}#{?client_flags,),}";

export const clientCommands: readonly Command[] = [
  command("list-clients lsc", "F:t:", [0, 0], "[-F format] [-t target-session]", async (run, args) => {
    const { model, state } = await run.load();
    const sessions = args.has("t") ? [(await run.place(args, "session")).session] : model.sessions;
    for (const session of sessions) {
      const own = controlling(run, state, session).map(([name, { pid, flags }]) => ({
        ...clientOf(session, 0),
        ...{ client_name: name, client_flags: flags, client_control_mode: "1", client_pid: String(pid) },
      }));
      const people = Array.from({ length: session.info.attached }, (_, i) => clientOf(session, i));
      for (const extra of [...own, ...people])
        await run.print(await run.format(args.get("F") ?? CLIENT, placeOf(session), extra));
    }
  }),
  command("detach-client detach", "as:t:", [0, 0], "[-a] [-s target-session] [-t target-client]", async (run, args) => {
    const { control } = run.backend;
    const { model, state } = await run.load();
    const named = args.get("t");
    const all = model.sessions.flatMap((each) => controlling(run, state, each));
    const isOwn = named === undefined || named === control?.name;
    const kept = named ?? control?.name ?? all.at(-1)?.[0];
    if (!isOwn && !all.some(([name]) => name === named)) throw new TmuxError(`can't find client: ${named}`);
    if (args.has("a")) {
      for (const [name, { pid }] of all) if (name !== kept) run.backend.detach(pid);
      for (const each of model.sessions) if (each.info.attached > 0) await detachPeople(run, each);
      return;
    }
    if (args.has("s")) {
      const { session } = await run.place(args, "session", "s");
      for (const [, { pid }] of controlling(run, state, session)) run.backend.detach(pid);
      return detachPeople(run, session);
    }
    if (control !== null && isOwn) return control.leave();
    if (named !== undefined) return run.backend.detach(state.clients[named]?.pid ?? 0);
    const { session } = await run.place(args, "session", "s");
    const [client] = controlling(run, state, session);
    if (session.info.attached > 0) return detachPeople(run, session);
    if (client === undefined) throw new TmuxError("no current client");
    run.backend.detach(client[1].pid);
  }),
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
  };
}

async function detachPeople(run: Run, { target }: Session): Promise<void> {
  await run.backend.call("session.detach", {}, target);
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
  const control = controlOf(run, args, "c");
  if (args.has("T")) throw new TmuxError(`table ${args.get("T")} doesn't exist`);
  const { model } = await run.load();
  const shown = model.sessions.find(({ target }) => target === control.session);
  if (args.has("l")) throw new TmuxError("can't find last session");
  if (args.has("n") || args.has("p")) {
    const next = shown === undefined ? null : around(model.sessions, shown, args.has("n") ? 1 : -1);
    if (next === null) throw new TmuxError(`can't find ${args.has("n") ? "next" : "previous"} session`);
    return control.show(next.target);
  }
  const isPlace = /[:.%]/.test(args.get("t") ?? "");
  const { session, window, pane } = await run.place(args, isPlace ? "pane" : "session");
  if (isPlace && window !== session.current) await run.backend.call("window.select", {}, window.target);
  if (isPlace && pane !== window.active) await run.backend.call("pane.select", {}, pane.target);
  await control.show(session.target);
}

async function refresh(run: Run, args: Arguments): Promise<void> {
  const { state } = await run.load();
  const changes = ["A", "B", "C", "F", "f"].some((flag) => args.has(flag));
  // Clients draw by themselves.
  if (!changes && Object.keys(state.clients).some((name) => name === (args.get("t") ?? name))) return;
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
