/** Commands on panes: create, kill, move, resize, select. */
import type { OperationInput } from "../../operations/table.ts";
import { present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Amount } from "../../protocol/size.ts";
import { TmuxError } from "../error.ts";
import { type Pane, placeOf, type ResolvedTarget } from "../model.ts";
import { isDecoration, optionAt } from "../options/options.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { neighbour, stepFrom } from "../targets.ts";
import { amount, type Command, cellsOf, command, wholeNumber } from "./command.ts";
import { respawn } from "./respawn.ts";
import { freeIndex, movesFocus, programOf, takesFocus } from "./start.ts";
import { nameWindow, printMade } from "./windows.ts";

const sides = { L: "left", R: "right", U: "up", D: "down" } as const;

export const paneCommands: readonly Command[] = [
  command(
    "split-window splitw",
    "bc:de:fF:hIl:p:Pt:vZ",
    [0, null],
    "[-bdefhIPvZ] [-c start-directory] [-e environment] [-F format] [-l size] [-t target-pane][shell-command]",
    split,
  ),
  command("kill-pane killp", "at:", [0, 0], "[-a] [-t target-pane]", async (run, args) => {
    const { window, pane } = await run.place(args, "pane");
    const closed = args.has("a") ? window.panes.filter((each) => each !== pane) : [pane];
    const targets = closed.map(({ target }) => target);
    await run.backend.requireAll("pane.close", {}, targets);
    for (const target of targets) await run.backend.call("pane.close", {}, target);
  }),
  command(
    "respawn-pane respawnp",
    "c:e:kt:",
    [0, null],
    "[-k] [-c start-directory] [-e environment] [-t target-pane] [shell-command]",
    async (run, args) => respawn(run, args, await run.place(args, "pane")),
  ),
  command("select-pane selectp", "DgLlMmP:RT:t:UZ", [0, 0], "[-DLlMmRUZ] [-T title] [-t target-pane]", selectPane),
  command("last-pane lastp", "t:Z", [0, 0], "[-Z] [-t target-window]", selectLastPane),
  command(
    "resize-pane resizep",
    "DLRUx:y:t:Z",
    [0, 1],
    "[-DLRUZ] [-x width] [-y height] [-t target-pane] [adjustment]",
    resizePane,
  ),
  command("swap-pane swapp", "dDs:t:UZ", [0, 0], "[-dDUZ] [-s src-pane] [-t dst-pane]", swapPane),
  command(
    "break-pane breakp",
    "abdF:n:Ps:t:",
    [0, 0],
    "[-abdP] [-F format] [-n window-name] [-s src-pane] [-t dst-window]",
    breakPane,
  ),
  ...["join-pane joinp", "move-pane movep"].map((names) =>
    command(names, "bdfhl:p:s:t:v", [0, 0], "[-bdfhv] [-l size] [-s src-pane] [-t dst-pane]", joinPane),
  ),
];

/**
 * Places a pane beside another one. A percentage refers to the pane, or with -f to the window, in whole cells as in
 * tmux.
 */
function positionBeside(
  args: Arguments,
  { window, pane }: ResolvedTarget,
): Pick<OperationInput<"pane.split">, "direction" | "cells" | "percent" | "whole"> {
  const isBefore = args.has("b");
  const direction = args.has("h") ? (isBefore ? "left" : "right") : isBefore ? "up" : "down";
  const whole = args.has("f");
  const { rows, cols } = whole ? window.info : pane.info;
  const size = sizeOf(args, args.has("h") ? cols : rows);
  return { direction, ...size, ...(whole ? { whole } : {}) };
}

function sizeOf(args: Arguments, room: number): { readonly cells?: number } {
  const [size, share] = [args.get("l"), args.get("p")];
  const given: Amount | null =
    size !== undefined
      ? amount("lines", size, 2_147_483_647, 0)
      : share !== undefined
        ? amount("create pane failed: -p", `${share}%`)
        : null;
  if (given === null) return {};
  // tmux clamps an impossible size.
  return { cells: capped(cellsOf(given, room)) };
}

async function split(run: Run, args: Arguments): Promise<void> {
  const place = await run.place(args, "pane");
  const focus = takesFocus(run, args, place);
  const shown = args.has("I") ? await run.backend.shownInput() : null;
  const program = await programOf(run, shown === null ? args : args.withWords([shown]), place);
  const keepField = shown === null ? {} : { keep_after_exit: true };
  const input = { ...positionBeside(args, place), ...program, ...keepField, focus };
  let made: { readonly pane: string };
  try {
    made = await run.backend.call("pane.split", input, place.pane.target);
  } catch (thrown) {
    throw WshError.from(thrown).code === "invalid_layout" ? new TmuxError("no space for new pane") : thrown;
  }
  if (args.has("Z") && movesFocus(run, place))
    await run.backend.call("pane.zoom", { on: true }, focus ? made.pane : place.window.active.target);
  if (focus) await showFocused(run, place);
  await printMade(run, args, made.pane, focus);
}

async function selectLastPane(run: Run, args: Arguments): Promise<void> {
  const place = await run.place(args, "window");
  const last = place.window.panes.find((each) => each.info.last === true);
  if (last === undefined) throw new TmuxError("no last pane");
  await select(run, last, place);
}

async function selectPane(run: Run, args: Arguments): Promise<void> {
  if (args.has("l")) return selectLastPane(run, args);
  const place = await run.place(args, "pane");
  const { window, pane } = place;
  if (args.has("m") || args.has("M")) {
    const marked = args.has("M") ? null : pane.target;
    await run.backend.requireOwnSessions("select-pane -m");
    await run.change((state) => {
      state.marked = marked === state.marked ? null : marked;
    });
    return;
  }
  const style = args.get("P");
  if (style !== undefined) {
    if (!isDecoration("window-style", style)) await run.backend.requireOwn(pane.target, `select-pane -P ${style}`);
    await run.change(({ own }) => {
      own[pane.target] = { ...own[pane.target], "window-style": style, "window-active-style": style };
    });
  }
  if (args.has("g")) return run.print(optionAt((await run.load()).state, place, "window-style") ?? "");
  const title = args.get("T");
  if (title !== undefined) {
    await run.backend.call("pane.update", { title: (await run.format(title, place)).slice(0, 256) }, pane.target);
    return;
  }
  const side = directionOf(args);
  const to = side === null ? pane : neighbour(window, pane, side);
  if (to !== null) await select(run, to, place);
}

function directionOf(args: Arguments): (typeof sides)[keyof typeof sides] | null {
  for (const flag of ["L", "R", "U", "D"] as const) if (args.has(flag)) return sides[flag];
  return null;
}

/** Selects the active pane of a hidden window without showing the window. */
async function showFocused(run: Run, { session, window }: ResolvedTarget): Promise<void> {
  if (window !== session.current) await run.backend.call("window.select", {}, session.current.target);
}

async function select(run: Run, pane: Pane, place: ResolvedTarget): Promise<void> {
  await run.backend.call("pane.select", {}, pane.target);
  await showFocused(run, place);
  run.setDefaultPane(pane.target);
}

async function resizePane(run: Run, args: Arguments): Promise<void> {
  const { window, pane } = await run.place(args, "pane");
  if (args.has("Z")) {
    const on = window.info.zoomed !== true;
    if (on && window.active !== pane) await run.backend.call("pane.select", {}, pane.target);
    await run.backend.call("pane.zoom", { on }, window.active === pane || on ? pane.target : window.active.target);
    return;
  }
  const [width, height] = [args.get("x"), args.get("y")];
  if (width !== undefined)
    await run.backend.call("pane.resize", { cols: sideOf("width", width, window.info.cols) }, pane.target);
  if (height !== undefined)
    await run.backend.call("pane.resize", { rows: sideOf("height", height, window.info.rows) }, pane.target);
  const direction = directionOf(args);
  const by = args.word(0);
  const step = by === undefined ? 1 : wholeNumber("adjustment", by, 1, 2_147_483_647);
  if (direction !== null) await run.backend.call("pane.resize", { direction, by: capped(step) }, pane.target);
}

/** @throws TmuxError `width invalid` */
function sideOf(what: string, text: string, room: number): number {
  return capped(cellsOf(amount(what, text, 2_147_483_647, 0), room));
}

function capped(cells: number): number {
  return Math.min(1000, Math.max(1, cells));
}

async function swapPane(run: Run, args: Arguments): Promise<void> {
  const targets = await run.targets();
  const target = targets.find(args.get("t"), "pane");
  const step = args.has("D") ? 1 : args.has("U") ? -1 : 0;
  const other =
    step === 0 ? targets.find(args.get("s"), "pane").pane : stepFrom(target.window.panes, target.pane, step);
  if (other === null || other === target.pane) return;
  await run.backend.call("pane.swap", { with: other.target }, target.pane.target);
  if (!movesFocus(run, target)) return;
  // With -d the place of the target keeps the focus, not the pane.
  const focused = !args.has("d") ? target.pane : target.pane.info.active ? other : null;
  if (focused !== null) await run.backend.call("pane.select", {}, focused.target);
}

async function breakPane(run: Run, args: Arguments): Promise<void> {
  const targets = await run.targets();
  const { session, window, pane } = targets.find(args.get("s"), "pane");
  const to = targets.findIndex(args.get("t"));
  if (to.window !== null && !args.has("a") && !args.has("b")) throw new TmuxError(`index in use: ${to.index}`);
  const name = args.get("n");
  const otherSession = to.session.id === session.id ? null : to.session;
  if (window.panes.length === 1) {
    const index = to.index ?? (await freeIndex(run, to.session));
    const focus = takesFocus(run, args, otherSession === null ? { session, window, pane } : placeOf(otherSession));
    if (otherSession === null) await run.backend.call("window.update", { index }, window.target);
    else await run.backend.call("window.move", { to: otherSession.target, index, focus }, window.target);
    if (name !== undefined) await nameWindow(run, window.target, name);
    return;
  }
  const focus = takesFocus(run, args, { session, window, pane });
  const index = to.window === null ? to.index : null;
  if (otherSession !== null)
    await run.backend.call("pane.move", { to: otherSession.target, focus: false }, pane.target);
  const arrangement = await run.backend.call("pane.move", { to: null, ...present({ index }), focus }, pane.target);
  await run.refresh();
  if (name !== undefined) await nameWindow(run, arrangement.window, name);
  await printMade(run, args, pane.target, focus);
}

async function joinPane(run: Run, args: Arguments): Promise<void> {
  const targets = await run.targets();
  const target = targets.find(args.get("t"), "pane");
  const source = targets.find(args.get("s"), "pane");
  if (target.pane === source.pane) throw new TmuxError("source and target panes must be different");
  const focus = takesFocus(run, args, target);
  await run.backend.call(
    "pane.move",
    { to: target.pane.target, ...positionBeside(args, target), focus },
    source.pane.target,
  );
  run.setDefaultPane(source.pane.target);
}
