/**
 * Which options of exec exclude or need others. One table for every way in: the operations, the MCP tool and the
 * command line, each with its own names for the options.
 */
import { WshError } from "./errors.ts";

export type ExecOption =
  | ("session" | "create" | "clear_line" | "typed" | "integrate")
  | ("background" | "until" | "steps" | "sequence" | "parallel" | "pipeline")
  | ("stdin" | "show" | "beside" | "keep");

interface OptionRule {
  readonly option: ExecOption;
  readonly needs?: ExecOption;
  readonly excludes?: readonly ExecOption[];
  readonly hint?: string;
}

const JOIN = "Join the commands with ';' or '&&'.";

/** `session`: the command runs at a prompt; `steps`: there are several commands, `sequence`: one after the other. */
const rules: readonly OptionRule[] = [
  { option: "background", excludes: ["steps"], hint: JOIN },
  { option: "until", excludes: ["steps"], hint: JOIN },
  { option: "pipeline", excludes: ["background", "until", "show", "create", "typed", "integrate", "clear_line"] },
  { option: "show", excludes: ["create", "typed", "integrate", "clear_line", "stdin"] },
  { option: "show", excludes: ["sequence"], hint: "Set mode to parallel, or omit show." },
  { option: "session", excludes: ["stdin", "parallel", "pipeline", "show", "beside"], hint: "Omit the session." },
  { option: "keep", needs: "show" },
  { option: "beside", needs: "show" },
  { option: "clear_line", needs: "session" },
  { option: "create", needs: "session" },
  { option: "typed", needs: "session" },
  { option: "integrate", needs: "session" },
  { option: "typed", excludes: ["integrate"] },
  { option: "typed", excludes: ["background", "until"], hint: "A typed command has no id to wait for." },
];

/** @throws WshError invalid_request, by the first broken rule */
export function requireCombinable(given: Parameters<typeof execFault>[0]): void {
  const fault = execFault(given);
  if (fault !== null) throw new WshError("invalid_request", fault.message, { hint: fault.hint });
}

/**
 * The first broken rule; null without one.
 * @param given options with their values; undefined and false: not given
 */
export function execFault(
  given: Readonly<Partial<Record<ExecOption, unknown>>>,
  nameOf = (option: ExecOption): string => `'${option}'`,
): { readonly message: string; readonly hint?: string } | null {
  const isGiven = (option: ExecOption): boolean => given[option] !== undefined && given[option] !== false;
  for (const { option, needs, excludes = [], ...hint } of rules) {
    if (!isGiven(option)) continue;
    const other = excludes.find(isGiven);
    if (other !== undefined) return { message: `${nameOf(option)} cannot be used with ${nameOf(other)}`, ...hint };
    if (needs !== undefined && !isGiven(needs)) return { message: `${nameOf(option)} needs ${nameOf(needs)}`, ...hint };
  }
  return null;
}
