/** A tmux command: its syntax, and its implementation by wsh's operations. */
import { defined } from "../../protocol/defined.ts";
import type { Amount } from "../../protocol/size.ts";
import { TmuxError } from "../error.ts";
import { numberFault } from "../options/options.ts";
import type { Command } from "../run.ts";

export type { Command } from "../run.ts";

/** @param most null: any number of arguments */
export function command(
  names: string,
  flags: string,
  [least, most]: readonly [number, number | null],
  usage: string,
  run: Command["run"],
): Command {
  const [name = "", alias] = names.split(" ");
  return { name, ...defined({ alias }), flags, least, most, usage, run };
}

/** @throws TmuxError `width too large` */
export function amount(what: string, text: string, most = 2_147_483_647, least = 1): Amount {
  const isShare = text.endsWith("%");
  const digits = isShare ? text.slice(0, -1) : text;
  const wrong = numberFault(digits, isShare ? 0 : least, isShare ? 100 : most);
  if (wrong !== null) throw new TmuxError(`${what} ${wrong}`);
  return isShare ? { percent: Number(digits) } : { cells: Number(digits) };
}

/** An amount of a room that has so many cells. */
export function cellsOf(given: Amount, room: number): number {
  return "cells" in given ? given.cells : Math.floor((room * given.percent) / 100);
}

/** @throws TmuxError */
export function wholeNumber(what: string, text: string, least: number, most: number): number {
  const wrong = numberFault(text, least, most);
  if (wrong !== null) throw new TmuxError(`${what} ${wrong}`);
  return Number(text);
}
