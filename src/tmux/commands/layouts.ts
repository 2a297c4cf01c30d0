/** Commands on window layouts. The state keeps each window's last preset and earlier layout, for next-layout and -o. */
import { WshError } from "../../protocol/errors.ts";
import { layoutPresetNames } from "../../protocol/layout-presets.ts";
import { TmuxError } from "../error.ts";
import type { ResolvedTarget } from "../model.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { amount, type Command, cellsOf, command } from "./command.ts";

type Preset = (typeof layoutPresetNames)[number];

/** In the order of tmux 3.3a. */
const cycle: readonly Preset[] = ["even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled"];

export const layoutCommands: readonly Command[] = [
  command("select-layout selectl", "Enopt:", [0, 1], "[-Enop] [-t target-pane] [layout-name]", selectLayout),
  ...(["next", "previous"] as const).map((to) =>
    command(`${to}-layout ${to.slice(0, 4)}l`, "t:", [0, 0], "[-t target-window]", async (run, args) =>
      selectPreset(run, await run.place(args, "window"), to),
    ),
  ),
];

/** Sets the main pane's size to the value of its option, if the option is set. */
async function sizeMain(run: Run, preset: string, { session, window }: ResolvedTarget): Promise<void> {
  const [, axis] = /^main-(horizontal|vertical)/.exec(preset) ?? [];
  if (axis === undefined || window.panes.length < 2) return;
  const { model, state } = await run.refresh();
  const name = axis === "vertical" ? "main-pane-width" : "main-pane-height";
  const set = state.own[window.target]?.[name] ?? state.own[session.target]?.[name] ?? state.window[name];
  const shown = model.findPane(window.active.target)?.window;
  const [main] = shown?.panes ?? [];
  if (set === undefined || shown === undefined || main === undefined) return;
  const room = axis === "vertical" ? shown.info.cols : shown.info.rows;
  // The other panes keep one cell, and the border takes one.
  const cells = Math.min(cellsOf(amount(name, set), room), room - 2);
  if (cells < 1) return;
  const input = axis === "vertical" ? { cols: cells } : { rows: cells };
  await run.backend.call("pane.resize", input, main.target);
}

async function selectLayout(run: Run, args: Arguments): Promise<void> {
  const place = await run.place(args, "pane");
  const { window, pane } = place;
  if (args.has("E")) {
    await run.backend.call("layout.equalise", { around: true }, pane.target);
    return;
  }
  if (args.has("n") || args.has("p")) return selectPreset(run, place, args.has("n") ? "next" : "previous");
  const { state } = await run.load();
  const record = state.layouts[window.target];
  const name = args.has("o") ? record?.before : (args.word(0) ?? record?.preset);
  if (name === undefined) return;
  const exact = layoutPresetNames.find((each) => each === name);
  const [only, second] = layoutPresetNames.filter((each) => each.startsWith(name));
  const preset = exact ?? (second === undefined ? only : undefined);
  if (preset !== undefined) return arrange(run, place, preset);
  await changed(run, place, undefined, async () => {
    try {
      await run.backend.call("layout.set", { tmux: name }, window.target);
    } catch (thrown) {
      const { code } = WshError.from(thrown);
      throw code === "invalid_layout" || code === "invalid_request" ? new TmuxError(`invalid layout: ${name}`) : thrown;
    }
  });
}

/** Applies the preset before or after the last one. */
async function selectPreset(run: Run, place: ResolvedTarget, to: "next" | "previous"): Promise<void> {
  const { state } = await run.load();
  const last = cycle.map(String).indexOf(state.layouts[place.window.target]?.preset ?? "");
  const at = to === "next" ? last + 1 : last === -1 ? -1 : last - 1;
  const preset = cycle.at(at % cycle.length);
  if (preset !== undefined) await arrange(run, place, preset);
}

async function arrange(run: Run, place: ResolvedTarget, preset: Preset): Promise<void> {
  await changed(run, place, preset, async () => {
    await run.backend.call("layout.preset", { preset }, place.window.target);
    await sizeMain(run, preset, place);
  });
}

async function changed(
  run: Run,
  { session, window }: ResolvedTarget,
  preset: Preset | undefined,
  make: () => Promise<void>,
) {
  const { windows } = await run.backend.call("layout.get", {}, session.target);
  const before = windows.find(({ id }) => id === window.target)?.tmux ?? "";
  await make();
  await run.change((state) => {
    state.layouts[window.target] = { before, preset: preset ?? state.layouts[window.target]?.preset };
  });
}
