/** Commands on windows and their layouts. */
import { WshError } from "../../protocol/errors.ts";
import { TmuxError } from "../error.ts";
import { placeOf, type Session } from "../model.ts";
import { optionAt } from "../options/options.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { stepFrom } from "../targets.ts";
import { type Command, command, wholeNumber } from "./command.ts";
import { respawn } from "./respawn.ts";
import { freeIndex, keepName, movesFocus, ownWindowName, programOf, takesFocus, visible } from "./start.ts";

const CHANGED = "#{session_name}:#{window_index}.#{pane_index}";

export const windowCommands: readonly Command[] = [
  command(
    "new-window neww",
    "abc:de:F:kn:PSt:",
    [0, null],
    "[-abdkPS] [-c start-directory] [-e environment] [-F format] [-n window-name] [-t target-window] [shell-command]",
    newWindow,
  ),
  command("kill-window killw", "at:", [0, 0], "[-a] [-t target-window]", async (run, args) => {
    const { session, window } = await run.place(args, "window");
    const closed = args.has("a") ? session.windows.filter((each) => each !== window) : [window];
    const targets = closed.map(({ target }) => target);
    await run.backend.requireAll("window.close", {}, targets);
    for (const target of targets) await run.backend.call("window.close", {}, target);
  }),
  command("rename-window renamew", "t:", [1, 1], "[-t target-window] new-name", async (run, args) => {
    const place = await run.place(args, "window");
    await nameWindow(run, place.window.target, await run.format(args.word(0) ?? "", place));
  }),
  command("select-window selectw", "lnpTt:", [0, 0], "[-lnpT] [-t target-window]", async (run, args) => {
    if (args.has("n") || args.has("p") || args.has("l")) {
      const { session } = await run.place(args, "session");
      return turn(run, session, args.has("n") ? "next" : args.has("p") ? "previous" : "last");
    }
    const { session, window } = await run.place(args, "window");
    if (args.has("T") && session.current === window) return turn(run, session, "last");
    await run.backend.call("window.select", {}, window.target);
    run.setDefaultPane(window.active.target);
  }),
  ...(["next", "previous", "last"] as const).map((to) => {
    const alias = to === "previous" ? "prev" : to;
    const [flags, usage] = to === "last" ? ["t:", "[-t target-session]"] : ["at:", "[-a] [-t target-session]"];
    return command(`${to}-window ${alias}`, flags, [0, 0], usage, async (run, args) => {
      const { session } = await run.place(args, "session");
      // No window has a pending alert: wsh shows agents that need people by itself.
      if (args.has("a")) throw new TmuxError(`no ${to} window`);
      await turn(run, session, to);
    });
  }),
  command("link-window linkw", "abdks:t:", [0, 0], "[-abdk] [-s src-window] [-t dst-window]", async (run, args) => {
    const targets = await run.targets();
    const { window } = targets.find(args.get("s"), "window");
    const { index } = targets.findIndex(args.get("t"));
    if (index === window.index) throw new TmuxError(`same index: ${index}`);
    throw new TmuxError("wsh cannot link a window: it has one place in one session");
  }),
  command("unlink-window unlinkw", "kt:", [0, 0], "[-k] [-t target-window]", async (run, args) => {
    const { window } = await run.place(args, "window");
    if (!args.has("k")) throw new TmuxError("window only linked to one session");
    await run.backend.call("window.close", {}, window.target);
  }),
  command("move-window movew", "abdkrs:t:", [0, 0], "[-abdkr] [-s src-window] [-t dst-window]", moveWindow),
  command("swap-window swapw", "ds:t:", [0, 0], "[-d] [-s src-window] [-t dst-window]", swapWindows),
  command("rotate-window rotatew", "DUt:Z", [0, 0], "[-DUZ] [-t target-window]", async (run, args) => {
    const { window } = await run.place(args, "window");
    await run.backend.call("layout.rotate", { backwards: !args.has("D") }, window.target);
  }),
  command(
    "respawn-window respawnw",
    "c:e:kt:",
    [0, null],
    "[-k] [-c start-directory] [-e environment] [-t target-window] [shell-command]",
    async (run, args) => {
      const place = await run.place(args, "window");
      const [first] = place.window.panes;
      if (first === undefined) return;
      const isAlive = place.window.panes.some(({ info }) => info.state !== "exited");
      if (!args.has("k") && isAlive)
        throw new TmuxError(`respawn window failed: window ${place.session.name}:${place.window.index} still active`);
      for (const { target } of place.window.panes.slice(1)) await run.backend.call("pane.close", {}, target);
      await respawn(run, args, { ...place, pane: first });
    },
  ),
  command(
    "resize-window resizew",
    "aADLRt:Ux:y:",
    [0, 1],
    "[-aADLRU] [-x width] [-y height] [-t target-window] [adjustment]",
    async (run, args) => {
      const { session, window } = await run.place(args, "window");
      const by = wholeNumber("adjustment", args.word(0) ?? "1", 1, 1000);
      const step = (more: string, less: string): number => (args.has(more) ? by : args.has(less) ? -by : 0);
      const { info } = window;
      if (args.has("a") || args.has("A")) {
        // The smallest or the largest size among the terminals that show the session.
        const all = session.info.attached === 0 ? [] : await run.backend.call("session.clients", {}, session.target);
        const of = (sizes: readonly number[]): number => (args.has("a") ? Math.min(...sizes) : Math.max(...sizes));
        const size = { rows: of(all.map(({ rows }) => rows)), cols: of(all.map(({ cols }) => cols)), force: true };
        return void (all.length > 0 && (await run.backend.call("session.resize", size, session.target)));
      }
      const [wide, high] = [step("R", "L"), step("D", "U")];
      const cols = args.get("x") ?? (wide === 0 ? undefined : String(Math.max(2, info.cols + wide)));
      const rows = args.get("y") ?? (high === 0 ? undefined : String(Math.max(1, info.rows + high)));
      await run.backend.call(
        "session.resize",
        {
          rows: rows === undefined ? window.info.rows : wholeNumber("height", rows, 1, 1000),
          cols: cols === undefined ? window.info.cols : wholeNumber("width", cols, 2, 1000),
          force: true,
        },
        session.target,
      );
    },
  ),
];

export async function nameWindow(run: Run, target: string, name: string): Promise<void> {
  const shown = visible(name);
  const own = ownWindowName(shown);
  await run.backend.call("window.update", { name: own }, target);
  await run.refresh();
  await keepName(run, target, own, shown);
  await run.change((state) => {
    state.own[target] = { ...state.own[target], "automatic-rename": "off" };
  });
}

async function newWindow(run: Run, args: Arguments): Promise<void> {
  const targets = await run.targets();
  const place = targets.find(undefined, "window");
  const isBeside = args.has("a") || args.has("b");
  let { session, index, window } = targets.findIndex(args.get("t"));
  if (isBeside) {
    index = (window ?? session.current).index + (args.has("a") ? 1 : 0);
    window = null;
  }
  const nameFormat = args.get("n");
  const name = nameFormat === undefined ? undefined : await run.format(nameFormat, place);
  if (args.has("S") && name !== undefined) {
    const existing = session.windows.filter((each) => each.name === name);
    const [only] = existing;
    if (existing.length > 1) throw new TmuxError(`multiple windows named ${name}`);
    if (only !== undefined) {
      if (!args.has("d")) await run.backend.call("window.select", {}, only.target);
      return;
    }
  }
  if (window !== null) {
    if (args.get("t") === undefined) index = null;
    else if (!args.has("k")) throw new TmuxError(`create window failed: index ${index} in use`);
  }
  const current = { ...place, session, window: session.current, pane: session.current.active };
  const program = await programOf(run, args, current, false);
  const focus = takesFocus(run, args, current);
  const replaced = args.has("k") ? window : null;
  const created = await run.backend.call(
    "window.create",
    {
      ...program,
      index: replaced === null && index !== null ? index : await freeIndex(run, session),
      make_room: isBeside,
      focus,
    },
    session.target,
  );
  if (replaced !== null && index !== null) {
    await run.backend.call("window.close", {}, replaced.target);
    await run.backend.call("window.update", { index }, created.window);
  }
  await run.refresh();
  if (name !== undefined)
    await nameWindow(run, created.window, name).catch((thrown) => {
      // The pane's program has ended at once.
      if (!WshError.from(thrown).code.endsWith("_not_found")) throw thrown;
    });
  await printMade(run, args, created.pane, focus);
}

/** Prints the `-P` format of a new pane; later commands default to that pane. */
export async function printMade(run: Run, args: Arguments, pane: string, focused: boolean): Promise<void> {
  const { model } = await run.refresh();
  run.setCreatedPane(pane);
  if (focused || !args.has("d")) run.setDefaultPane(pane);
  if (!args.has("P")) return;
  const place = model.findPane(pane);
  // The pane of a command that has ended at once is gone; the caller still needs its id.
  await run.print(
    await run.format(
      args.get("F") ?? CHANGED,
      place ?? {},
      place === undefined ? { pane_id: pane.replace("@", "%") } : {},
    ),
  );
}

async function turn(run: Run, session: Session, to: "next" | "previous" | "last"): Promise<void> {
  const window =
    to === "last"
      ? session.windows.find((each) => each.info.last === true)
      : stepFrom(session.windows, session.current, to === "next" ? 1 : -1);
  if (window === undefined || window === null || window === session.current) throw new TmuxError(`no ${to} window`);
  await run.backend.call("window.select", {}, window.target);
  run.setDefaultPane(window.active.target);
}

async function moveWindow(run: Run, args: Arguments): Promise<void> {
  const targets = await run.targets();
  if (args.has("r")) {
    const { session } = await run.place(args, "session");
    const { state } = await run.load();
    const base = Number(optionAt(state, { session }, "base-index") ?? 0);
    const all = session.windows.map((window, i) => ({ window, index: base + i }));
    // Windows that move down go first, in ascending order, then the others in descending order: each number is then
    // free.
    const down = all.filter(({ window, index }) => index < window.index);
    const up = all.filter(({ window, index }) => index > window.index).toReversed();
    for (const { window, index } of [...down, ...up]) await run.backend.call("window.update", { index }, window.target);
    return;
  }
  const source = targets.find(args.get("s"), "window");
  const { session, index, window } = targets.findIndex(args.get("t"));
  const isBeside = args.has("a") || args.has("b");
  const destination = isBeside
    ? (window ?? session.current).index + (args.has("a") ? 1 : 0)
    : (index ?? (await freeIndex(run, session)));
  const isHere = session.id === source.session.id;
  if (isHere && !isBeside && destination === source.window.index) throw new TmuxError(`same index: ${destination}`);
  const replaced = isBeside ? undefined : session.windows.find((each) => each.index === destination);
  if (replaced !== undefined && !args.has("k")) throw new TmuxError(`index in use: ${destination}`);
  const focus = takesFocus(run, args, isHere ? source : placeOf(session));
  const { target } = source.window;
  const move = (where: { readonly index?: number; readonly make_room?: boolean }) =>
    run.backend.call("window.move", { to: session.target, ...where, focus }, target);
  await move(replaced === undefined ? { index: destination, make_room: isBeside } : {});
  if (replaced === undefined) return;
  // The replaced window is closed last: it may be the only one of its session.
  await run.backend.call("window.close", {}, replaced.target);
  await move({ index: destination });
}

async function swapWindows(run: Run, args: Arguments): Promise<void> {
  const targets = await run.targets();
  const [source, target] = [targets.find(args.get("s"), "window"), targets.find(args.get("t"), "window")];
  if (source.window === target.window) return;
  await run.backend.call("window.swap", { with: target.window.target }, source.window.target);
  // With -d the numbers of the two windows stay selected; without it, the windows do.
  const swapped = [
    { place: target, incoming: source.window },
    { place: source, incoming: target.window },
  ];
  const isWithin = source.session.id === target.session.id;
  const selected = args.has("d")
    ? swapped.slice(0, isWithin ? 1 : 2)
    : swapped.filter(({ place }) => place.session.current === place.window);
  for (const { place, incoming } of selected)
    if (movesFocus(run, place)) await run.backend.call("window.select", {}, incoming.target);
}
