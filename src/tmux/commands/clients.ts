/** Commands on clients: terminals that show a session, and clients in control mode, which change themselves. */
import { WshError } from "../../protocol/errors.ts";
import type { ControlClient } from "../backend.ts";
import { TmuxError } from "../error.ts";
import { isTrue } from "../formats/syntax.ts";
import { placeOf } from "../model.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { stepFrom } from "../targets.ts";
import { clientFor, clientsOf, lastSession, type TmuxClient } from "./client-list.ts";
import { type Command, command } from "./command.ts";
import { hasTable } from "./keys.ts";

const CLIENT =
  "#{client_name}: #{session_name} [#{client_width}x#{client_height} #{client_termname}]" +
  "#{?client_flags, (,}#{client_flags}#{?client_flags,),}";

export const clientCommands: readonly Command[] = [
  command("list-clients lsc", "F:f:t:", [0, 0], "[-F format] [-t target-session]", async (run, args) => {
    const { model } = await run.load();
    const sessions = args.has("t") ? [(await run.place(args, "session")).session] : model.sessions;
    for (const { session, variables } of await clientsOf(run, sessions)) {
      const filter = args.get("f");
      if (filter !== undefined && !isTrue(await run.format(filter, placeOf(session), variables))) continue;
      await run.print(await run.format(args.get("F") ?? CLIENT, placeOf(session), variables));
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

async function detach(run: Run, args: Arguments): Promise<void> {
  if (args.has("E") || args.has("P"))
    throw new TmuxError("wsh cannot run or end the program around a terminal that it detaches");
  const { model } = await run.load();
  const sessions = args.has("s") ? [(await run.place(args, "session", "s")).session] : model.sessions;
  const client = await clientFor(run, args.has("s") ? undefined : args.get("t"));
  const all = args.has("s") || args.has("a") ? await clientsOf(run, sessions) : [client];
  for (const each of all) if (args.has("s") || !args.has("a") || each.name !== client.name) await leave(run, each);
}

async function leave(run: Run, { name, session, pid, terminal }: TmuxClient): Promise<void> {
  if (terminal !== null) {
    await run.backend.call("session.detach", { client: terminal }, session.target).catch((thrown) => {
      // The client has left meanwhile.
      if (WshError.from(thrown).code !== "client_not_found") throw thrown;
    });
  } else if (name === run.backend.control?.name) run.backend.control.leave();
  else if (pid !== null) {
    await run.backend.requireOwn(session.target, "detach-client");
    run.backend.end(pid);
  }
}

/**
 * The client in control mode that sent the command. @throws TmuxError if -t names another, or no such client sent it
 */
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
        ? `a terminal in wsh enters a table by a key: bind-key KEY switch-client -T ${table}`
        : `table ${table} doesn't exist`,
    );
  const { model } = await run.load();
  const last = args.has("l") ? lastSession(await run.load(), client) : null;
  if (last === undefined) throw new TmuxError("can't find last session");
  const isPlace = /[:.%]/.test(args.get("t") ?? "");
  const step = args.has("n") ? 1 : args.has("p") ? -1 : 0;
  const next = step === 0 ? last : stepFrom(model.sessions, client.session, step);
  if (step !== 0 && (next === null || next === client.session))
    throw new TmuxError(`can't find ${step === 1 ? "next" : "previous"} session`);
  const destination = next === null ? await run.place(args, isPlace ? "pane" : "session") : placeOf(next);
  const { session, window, pane } = destination;
  if (isPlace && window !== session.current) await run.backend.call("window.select", {}, window.target);
  if (isPlace && pane !== window.active) await run.backend.call("pane.select", {}, pane.target);
  if (client.terminal === null) {
    if (client.name !== run.backend.control?.name) throw new TmuxError(`can't find client: ${client.name}`);
    return run.backend.control.show(session.target);
  }
  if (session.id === client.session.id) return;
  const go = { view: "go", target: session.target, client: client.terminal } as const;
  await run.backend.call("terminal.show", go, client.session.target);
  await run.change((state) => {
    state.left[client.name] = { from: client.session.target, to: session.target };
  });
}

async function refresh(run: Run, args: Arguments): Promise<void> {
  const changes = ["A", "B", "C", "F", "f"].some((flag) => args.has(flag));
  // Clients redraw by themselves.
  if (!changes) return void (await clientFor(run, args.get("t")));
  const control = controlOf(run, args, "t");
  for (const flag of ["F", "f"]) if (args.has(flag)) control.setFlags(args.get(flag) ?? "");
  for (const each of args.all("A")) {
    const [pane = "", to] = each.split(/:(.*)/s);
    if (to !== undefined) control.setPane(pane, to);
  }
  for (const each of args.all("B")) {
    const [name = "", about, format] = each.split(/:([^:]*):(.*)/s);
    if (about !== undefined && format !== undefined) control.subscribe(name, { watched: about, format });
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
    // The terminals of people decide the size.
    if (WshError.from(thrown).code !== "size_held") throw thrown;
  }
}
