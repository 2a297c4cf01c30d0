/** Options that the commands on panes share: what to start, where to put it, and amounts of cells. */
import { type Command, Option } from "commander";
import { defined } from "../../protocol/defined.ts";
import type { PaneProgram } from "../../protocol/layout.ts";
import { shellText } from "../../shell/words.ts";
import { collect, UsageError, variables } from "../arguments.ts";

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly shell?: string;
  readonly title?: string;
  readonly keep?: boolean;
  readonly view?: string;
}

export function addProgramOptions(command: Command): Command {
  return command
    .option("--cwd <dir>", "directory to start in (default: that of the pane)")
    .option("--env <name=value>", "set an environment variable (repeatable)", collect)
    .option("--shell <shell>", "path or name of the shell")
    .option("--title <text>", "title of the pane (default: the program's)")
    .option("--keep", "keep the pane after its program exits")
    .option("--view <name>", "show this session or pane instead of a program");
}

/** @param after the words behind `--` @throws UsageError */
export function programOf(
  { cwd, env, shell, title, keep, view }: ProgramOptions,
  after: readonly string[] | null,
): Partial<PaneProgram> {
  if (after !== null && after.length === 0) throw new UsageError("the command after -- is missing");
  if (view !== undefined && after !== null) throw new UsageError("--view cannot be used with a command");
  return {
    ...(after === null ? {} : { command: shellText(after) }),
    ...defined({ cwd }),
    ...(env === undefined ? {} : { env: variables(env) }),
    ...defined({ shell, title }),
    ...(keep === true ? { keep_after_exit: true } : {}),
    ...defined({ view }),
  };
}

export const sides = ["right", "down", "left", "up"] as const;
export type Side = (typeof sides)[number];

export interface PlaceOptions {
  readonly direction?: Side;
  readonly size?: Amount;
  readonly whole?: boolean;
  readonly focus?: boolean;
}

export function addPlaceOptions(command: Command): Command {
  return command
    .addOption(new Option("-d, --direction <side>", "side of the pane (default: right)").choices([...sides]))
    .option("--size <n>", "cells, or a share such as 40%", amount)
    .option("--whole", "along the whole window")
    .option("--focus", "switch attached terminals to it");
}

export function placeOf({ direction, size, whole, focus }: PlaceOptions) {
  return {
    ...defined({ direction }),
    ...(size === undefined ? {} : size),
    ...(whole === true ? { whole } : {}),
    focus: focus === true,
  };
}

/** Cells, or percent. */
export type Amount = { readonly cells: number } | { readonly percent: number };

/** @throws UsageError */
export function amount(text: string): Amount {
  const [, digits, isShare] = /^([1-9]\d{0,3})(%?)$/.exec(text) ?? [];
  const value = Number(digits);
  if (digits !== undefined && isShare === "" && value <= 1000) return { cells: value };
  if (digits !== undefined && isShare === "%" && value < 100) return { percent: value };
  throw new UsageError(`'${text}' is not a size`, "Give cells (20), or a share (40%).");
}
