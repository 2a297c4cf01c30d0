/** Variables of formats while a hook runs. Pure. */
import type { ResolvedTarget } from "../model.ts";
import { quotedValue } from "../options/options.ts";
import { type Arguments, orderedWords, type Syntax } from "../parse/arguments.ts";

/** Variables for the place of an event. */
export function placeVariables({ session, window, pane }: ResolvedTarget): Readonly<Record<string, string>> {
  return {
    hook_session: session.id,
    hook_session_name: session.name,
    hook_window: window.id,
    hook_window_name: window.name,
    hook_pane: pane.id,
  };
}

/** Variables for the words of the command that triggers the hook. */
export function argumentVariables(command: Syntax, args: Arguments): Readonly<Record<string, string>> {
  const flags = [...command.flags.replaceAll(":", "")].filter((flag) => args.has(flag));
  const takesValue = (flag: string): boolean => command.flags.includes(`${flag}:`);
  return Object.fromEntries([
    ["hook_arguments", orderedWords(command, args).map(quotedValue).join(" ")],
    ...args.words.map((word, i) => [`hook_argument_${i}`, word]),
    ...flags.map((flag) => [`hook_flag_${flag}`, takesValue(flag) ? args.get(flag) : "1"]),
    ...flags.filter(takesValue).flatMap((flag) => args.all(flag).map((value, i) => [`hook_flag_${flag}_${i}`, value])),
  ]);
}
