/**
 * Decides whether a line may be typed at the visible prompt of a shell that wsh cannot query, by the program's state,
 * earlier input, and the text before the cursor. Pure; refuses in case of doubt.
 */
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import type { ProgramState } from "../state/classify.ts";

/** Silence after which a terminal relayed elsewhere counts as at rest, in ms: a slow connection's round trip. */
const REST_MS = 300;
/** Continuation prompts, at which a shell appends the line to the previous one: `> ` of sh, `dquote> ` of zsh. */
const continuationPrompt =
  /^\s*(?:(?:[bd]?quote|heredocd?|pipe|cmdsubst|cmdor|cmdand|subsh|cursh|braceparam|mathsubst|math|array|for|foreach|while|until|repeat|select|if|then|elif|else|case|function|errexit)[a-z ]*)?>\s*$/;
/** Prompts of programs other than shells: Python, IPython, debuggers, `mysql>` and similar. */
const interpreterPrompt = /^\s*(?:>>>|\.\.\.|In ?\[\d+\]:|\((?:gdb|lldb|Pdb|[\w-]*db)\)|[\w()-]+(?:[=-][#>]|>))\s*$/;
const secretPrompt = /pass(?:word|phrase|code)|\bPIN\b|\bOTP\b/i;
/** The last characters of most shell prompts. */
const promptEnd = /[$#%>❯➜λ»\])~]\s*$/u;

export interface PromptScreen {
  readonly state: ProgramState;
  /** Age of the last output or input in ms. */
  readonly quietMs: number;
  /** The text before the cursor on its line. */
  readonly before: string;
  /** Whether that line has received input. */
  readonly isTouched: boolean;
}

/** The error to refuse with; null when the line may be typed. `isPassing`: waiting may help. */
export function refusalAt(screen: PromptScreen): { readonly error: WshError; readonly isPassing: boolean } | null {
  const { state, quietMs, before, isTouched } = screen;
  const process = state.foreground?.name ?? null;
  const refuse = (message: string, isPassing = false, hint?: string) => {
    const details = { process, state: state.state, ...defined({ hint }) };
    return { error: new WshError("not_at_prompt", message, details), isPassing };
  };
  const why = `${state.state}: ${state.why}`;
  if (state.state === "password" || state.state === "fullscreen") return refuse(`nothing can be typed there (${why})`);
  if (isTouched) {
    return {
      error: new WshError("prompt_not_empty", "the line at the cursor is not empty"),
      isPassing: false,
    };
  }
  if (continuationPrompt.test(before)) {
    return refuse(
      `'${before.trim()}' is a continuation prompt: an earlier command is unfinished`,
      true,
      "Press Ctrl+C first.",
    );
  }
  // A shell on this machine, as the kernel shows it.
  if (state.state === "prompt") return state.settled ? null : refuse(`the shell is busy (${why})`, true);
  const isElsewhere = state.relay !== null || state.decidedFrom === "flags";
  if (!isElsewhere) {
    const hint = "'typed' works only for shells; send input to other programs with {run}.";
    return refuse(
      `'${process ?? "the program"}' does not show a shell's prompt (${why})`,
      state.state === "running",
      hint,
    );
  }
  if (quietMs < REST_MS) return refuse(`the terminal is busy (${why})`, true);
  if (secretPrompt.test(before)) return refuse(`'${before.trim()}' asks for a secret`);
  if (interpreterPrompt.test(before)) return refuse(`'${before.trim()}' is not a shell's prompt`);
  if (!promptEnd.test(before)) return refuse(`the cursor follows '${before.trim()}', which is not a prompt`, true);
  return null;
}
