/** Commands on whole sessions. */
import { WshError } from "../../protocol/errors.ts";
import { TmuxError } from "../error.ts";
import { placeOf, type Session } from "../model.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { type Command, command, wholeNumber } from "./command.ts";
import { freeIndex, givenVariables, keepName, ownName, programOf, visible } from "./start.ts";
import { nameWindow } from "./windows.ts";

/** Size of a session where no terminal is attached to any, as in tmux. */
const SIZE = { rows: 24, cols: 80 };
const MOST_CELLS = 1000;

export const sessionCommands: readonly Command[] = [
  {
    ...command(
      "new-session new",
      "Ac:dDe:EF:f:n:Ps:t:x:Xy:",
      [0, null],
      "[-AdDEPX] [-c start-directory] [-e environment] [-F format] [-f flags] [-n window-name] [-s session-name] " +
        "[-t target-session] [-x width] [-y height] [shell-command]",
      newSession,
    ),
    needsNoSession: true,
  },
  command(
    "attach-session attach",
    "c:dEf:rt:x",
    [0, 0],
    "[-dErx] [-c working-directory] [-f flags] [-t target-session]",
    attach,
  ),
  command("has-session has", "t:", [0, 0], "[-t target-session]", async (run, args) => {
    await run.place(args, "session");
  }),
  command("kill-session", "aCt:", [0, 0], "[-aC] [-t target-session]", async (run, args) => {
    const { session } = await run.place(args, "session");
    // -C clears tmux's alerts; wsh has none of them.
    if (args.has("C")) return;
    const { model } = await run.load();
    const ended = args.has("a") ? model.sessions.filter((each) => each.id !== session.id) : [session];
    await killAll(run, ended);
  }),
  command("kill-server", "", [0, 0], "", async (run) => {
    const { model } = await run.load();
    await killAll(run, model.sessions);
  }),
  { ...command("start-server start", "", [0, 0], "", async () => {}), needsNoSession: true },
  command("rename-session rename", "t:", [1, 1], "[-t target-session] new-name", async (run, args) => {
    const place = await run.place(args, "session");
    const shown = sessionName(await run.format(args.word(0) ?? "", place));
    if (shown === "") throw new TmuxError(`invalid session: ${args.word(0)}`);
    const { model } = await run.load();
    if (shown === place.session.name) return;
    if (model.sessions.some(({ name }) => name === shown)) throw new TmuxError(`duplicate session: ${shown}`);
    const own = freeName(
      ownName(shown),
      model.sessions.filter(({ id }) => id !== place.session.id),
    );
    await run.backend.call("session.update", { name: own }, place.session.target);
    await keepName(run, place.session.target, own, shown);
  }),
];

async function killAll(run: Run, sessions: readonly Session[]): Promise<void> {
  const targets = sessions.map(({ target }) => target);
  await run.backend.requireAll("session.kill", {}, targets);
  await Promise.all(targets.map((target) => run.backend.kill(target)));
}

/** tmux reserves `:` and `.` for targets. */
function sessionName(name: string): string {
  return visible(name.replace(/[:.]/g, "_"));
}

/** Two tmux names may convert to the same wsh name. */
function freeName(own: string, others: readonly Session[]): string {
  let name = own;
  for (let i = 2; others.some(({ info }) => info.name === name); i++) name = `${own.slice(0, 60)}_${i}`;
  return name;
}

async function newSession(run: Run, args: Arguments): Promise<void> {
  if (args.has("t")) throw new TmuxError("session groups are not supported");
  const { model } = await run.load();
  const around = (await run.targets()).current;
  const requestedName = args.get("s");
  const tmuxName = requestedName === undefined ? null : sessionName(await run.format(requestedName, around ?? {}));
  if (tmuxName === "") throw new TmuxError(`invalid session: ${requestedName}`);
  const existing = model.sessions.find(({ name }) => name === tmuxName);
  if (existing !== undefined) {
    if (args.has("A")) return attachTo(run, existing, { detachOthers: args.has("D"), readOnly: false });
    throw new TmuxError(`duplicate session: ${tmuxName}`);
  }
  if (!args.has("d") && !run.backend.hasTerminal) throw new TmuxError("open terminal failed: not a terminal");
  const program = await programOf(run, args, null);
  const wshName = tmuxName === null ? null : freeName(ownName(tmuxName), model.sessions);
  const usual = usualSize(model.sessions);
  const creation = {
    name: wshName,
    command: program.command,
    cwd: program.cwd,
    env: program.env ?? null,
    rows: side(args.get("y"), "height", usual.rows),
    cols: side(args.get("x"), "width", usual.cols),
  };
  const info = await run.backend.create(creation).catch((thrown) => {
    // A session of this name exists that the caller may not know.
    throw WshError.from(thrown).code === "session_name_conflict"
      ? new TmuxError(`duplicate session: ${tmuxName}`)
      : thrown;
  });
  await run.refresh();
  if (wshName !== null && tmuxName !== null && wshName !== tmuxName) await keepName(run, info.id, wshName, tmuxName);
  const variables = Object.entries(givenVariables(args));
  if (variables.length > 0)
    await run.change((state) => {
      state.environments[info.id] = Object.fromEntries(
        variables.map(([name, value]) => [name, { value, hidden: false }]),
      );
    });
  const session = await sessionOf(run, info.id);
  if (program.keep_after_exit !== undefined)
    await run.backend.call("pane.update", { keep_after_exit: program.keep_after_exit }, session.current.active.target);
  const base = await freeIndex(run, { ...session, windows: [] });
  if (base !== session.current.index) await run.backend.call("window.update", { index: base }, session.current.target);
  const window = args.get("n");
  if (window !== undefined) await nameWindow(run, session.current.target, window);
  const created = await sessionOf(run, info.id);
  run.setDefaultPane(created.current.active.target);
  run.setCreatedPane(created.current.active.target);
  if (args.has("P")) await run.print(await run.format(args.get("F") ?? "#{session_name}:", placeOf(created)));
  if (!args.has("d")) await attachTo(run, created, { detachOthers: false, readOnly: false });
}

/** The session's current state. */
async function sessionOf(run: Run, target: string): Promise<Session> {
  const { model } = await run.refresh();
  const session = model.sessions.find((each) => each.target === target);
  if (session === undefined) throw new TmuxError("create window failed: its command has ended");
  return session;
}

/** The size of the attached session that was used last, so that layouts fit the terminal that shows them next. */
function usualSize(sessions: readonly Session[]): { readonly rows: number; readonly cols: number } {
  const [last] = sessions
    .flatMap(({ info }) => (info.attached > 0 ? [info] : []))
    .toSorted((a, b) => a.last_activity_ms - b.last_activity_ms);
  return last ?? SIZE;
}

/** @throws TmuxError `width invalid` */
function side(text: string | undefined, what: string, defaultValue: number): number {
  if (text === undefined || text === "-") return defaultValue;
  return Math.min(MOST_CELLS, wholeNumber(what, text, 1, 65_535));
}

async function attach(run: Run, args: Arguments): Promise<void> {
  const { session } = await run.place(args, "session");
  if (!run.backend.hasTerminal) throw new TmuxError("open terminal failed: not a terminal");
  await attachTo(run, session, { detachOthers: args.has("d"), readOnly: args.has("r") });
}

async function attachTo(
  run: Run,
  session: Session,
  { detachOthers, readOnly }: { readonly detachOthers: boolean; readonly readOnly: boolean },
): Promise<void> {
  if (!run.backend.hasTerminal) throw new TmuxError("open terminal failed: not a terminal");
  if (detachOthers) await run.backend.call("session.detach", {}, session.target);
  run.status = await run.backend.attach(session.info, { readOnly });
}
