/** `wsh pane`: lists, moves, changes and closes the panes of a session. */

import { Argument, type Command, Option } from "commander";
import { defined } from "../../protocol/defined.ts";
import { resizeRules } from "../../protocol/option-rules.ts";
import type { Amount } from "../../protocol/size.ts";
import { requireOptions, UsageError, wholeNumber } from "../arguments.ts";
import {
  addBoundsOptions,
  amount,
  type BoundsOptions,
  boundsGiven,
  type ProgramOptions,
  programOf,
  type Side,
  sides,
} from "../panes/options.ts";
import { endedText, paneTable, printChange } from "../panes/output.ts";
import { type ParsedArguments, paneAction, wordsOf } from "../panes/target.ts";
import { print, printJson, printText } from "../print.ts";
import { onOff } from "./window.ts";

const selectTargets = ["left", "right", "up", "down", "next", "previous", "last"] as const;

interface PaneOptions extends BoundsOptions {
  readonly float?: boolean;
  readonly to?: string;
  readonly direction?: Side;
  readonly by?: number;
  readonly rows?: Amount;
  readonly cols?: Amount;
  readonly size?: Amount;
  readonly cwd?: string;
  readonly focus?: boolean;
  readonly json?: boolean;
}

const actions = [
  ...(["list", "close", "select", "resize", "zoom", "swap", "move"] as const),
  ...(["float", "tile", "hide", "show", "title", "keep", "respawn"] as const),
] as const;
type Action = (typeof actions)[number];

export function register(program: Command): void {
  const pane = program
    .command("pane")
    .addArgument(new Argument("[action]", "action (default: list)").choices([...actions]))
    .addArgument(new Argument("[name...]", "session or pane (default: this one), and the arguments below"))
    .usage("[options] [ACTION] [TARGET] [-- COMMAND…]")
    .description(
      "list; close: ends its program; select: makes it the active pane; resize; zoom [TARGET]; swap [TARGET] OTHER; " +
        "move: beside --to, or into a new window; float: above the tiled panes, at --at with --width and --height, or " +
        "moved by --direction; tile, hide, show: of a floating pane; title [TARGET] TEXT; keep [TARGET] on|off: keep the pane after its " +
        "program exits; respawn: restart its program, or run COMMAND.",
    );
  addBoundsOptions(pane)
    .option("--to <target>", `select: ${selectTargets.join(", ")}; move: a pane, window or session`)
    .addOption(
      new Option("-d, --direction <side>", "resize: direction of the border; move, float: side").choices([...sides]),
    )
    .option("--by <n>", "resize, float: cells (default: 1)", wholeNumber(1))
    .option("--float", "move: above the tiled panes there")
    .option("--rows <n>", "resize: cells, or a share such as 40%", amount)
    .option("--cols <n>", "resize: cells, or a share such as 40%", amount)
    .option("--size <n>", "move: cells, or a share such as 40%", amount)
    .option("--cwd <dir>", "respawn: directory to start in")
    .option("--focus", "move: switch attached terminals to it")
    .option("--json", "print the answer as JSON")
    .action(paneAction<Action, PaneOptions>("respawn", runAction));
}

async function runAction(
  action: Action,
  { words, after, options, withSession, change }: ParsedArguments<PaneOptions>,
): Promise<void> {
  const { json } = options;
  switch (action) {
    case "list": {
      const [panes, windows] = await withSession(wordsOf(action, words).target, (session) =>
        Promise.all([session.call("pane.list", {}), session.call("window.list", {})]),
      );
      return json === true ? printJson(panes) : print(paneTable(panes, windows));
    }
    case "close": {
      const closed = await withSession(wordsOf(action, words).target, (session) => session.call("pane.close", {}));
      return json === true ? printJson(closed) : printText(`Pane ${closed.closed} closed${endedText(closed.ended)}.\n`);
    }
    case "select": {
      const { target } = wordsOf(action, words);
      return change(target, "pane.select", selectTargetOf(options.to));
    }
    case "resize": {
      const { target } = wordsOf(action, words);
      const input = resizing(options);
      return change(target, "pane.resize", input);
    }
    case "zoom":
      return change(wordsOf(action, words).target, "pane.zoom", {});
    case "swap": {
      const { target, rest } = wordsOf(action, words, ["the other pane"]);
      return change(target, "pane.swap", { with: rest[0] ?? "" });
    }
    case "move": {
      const { to, direction, size, focus } = options;
      const input = {
        ...defined({ to, direction }),
        ...size,
        ...boundsGiven(options),
        float: options.float === true,
        focus: focus === true,
      };
      const moved = await withSession(wordsOf(action, words).target, (session) => session.call("pane.move", input));
      return printChange(moved, "pane", json);
    }
    case "float":
    case "tile":
    case "hide":
    case "show": {
      const { direction, by } = options;
      const bounds = { ...boundsGiven(options), ...defined({ direction, by }) };
      const input =
        action === "float"
          ? { on: true, ...bounds }
          : action === "tile"
            ? { on: false }
            : { hidden: action === "hide" };
      return change(wordsOf(action, words).target, "pane.float", input);
    }
    case "title": {
      const { target, rest } = wordsOf(action, words, ["a text"]);
      const title = rest[0] === "" ? null : (rest[0] ?? null);
      return change(target, "pane.update", { title });
    }
    case "keep": {
      const { target, rest } = wordsOf(action, words, ["on or off"]);
      const input = { keep_after_exit: onOff(rest[0]) };
      return change(target, "pane.update", input);
    }
    case "respawn": {
      const started: ProgramOptions = defined({ cwd: options.cwd });
      const input = programOf(started, after);
      const made = await withSession(wordsOf(action, words).target, (session) => session.call("pane.respawn", input));
      return printChange(made, "pane", json);
    }
  }
}

/** @throws UsageError */
function selectTargetOf(to: string | undefined): { readonly to?: (typeof selectTargets)[number] } {
  if (to === undefined) return {};
  const way = selectTargets.find((each) => each === to);
  if (way === undefined) throw new UsageError(`'${to}' is not one of ${selectTargets.join(", ")}`);
  return { to: way };
}

/** @throws UsageError */
function resizing({ direction, by, rows, cols }: PaneOptions) {
  if (direction === undefined && rows === undefined && cols === undefined) {
    throw new UsageError("'resize' needs --rows, --cols or --direction");
  }
  requireOptions(resizeRules, { direction, rows, cols });
  return {
    ...defined({ direction, by }),
    ...(rows === undefined ? {} : "cells" in rows ? { rows: rows.cells } : { rows_percent: rows.percent }),
    ...(cols === undefined ? {} : "cells" in cols ? { cols: cols.cells } : { cols_percent: cols.percent }),
  };
}
