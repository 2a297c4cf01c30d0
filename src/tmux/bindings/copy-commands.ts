/** Maps commands of tmux's copy mode (`send-keys -X NAME`) to actions of wsh's copy mode. Pure. */
import type { CopyModeAction } from "../../keys/copy-table.ts";
import type { CopyModeAct } from "../../protocol/copy-mode.ts";
import { TmuxError } from "../error.ts";

const actions: Readonly<Record<string, CopyModeAction>> = {
  "cursor-up": "up",
  "cursor-down": "down",
  "cursor-left": "left",
  "cursor-right": "right",
  "previous-word": "word_back",
  "next-word": "word_forth",
  "next-word-end": "word_end",
  "previous-space": "space_back",
  "next-space": "space_forth",
  "next-space-end": "space_end",
  "jump-again": "jump_again",
  "jump-reverse": "jump_reverse",
  "next-matching-bracket": "bracket",
  "start-of-line": "line_start",
  "back-to-indentation": "line_first",
  "end-of-line": "line_end",
  "top-line": "view_top",
  "middle-line": "view_middle",
  "bottom-line": "view_bottom",
  "page-up": "page_up",
  "page-down": "page_down",
  "halfpage-up": "half_up",
  "halfpage-down": "half_down",
  "scroll-up": "scroll_up",
  "scroll-down": "scroll_down",
  "previous-paragraph": "paragraph_back",
  "next-paragraph": "paragraph_forth",
  "history-top": "top",
  "history-bottom": "bottom",
  "search-again": "match_forth",
  "search-reverse": "match_back",
  "begin-selection": "select",
  "select-line": "select_lines",
  "rectangle-toggle": "select_rectangle",
  "other-end": "other_end",
  "copy-selection-and-cancel": "copy",
  "copy-pipe-and-cancel": "copy",
  "copy-line": "copy_line",
  cancel: "leave",
};

/** Commands that take a text. */
const promptActions: Readonly<Record<string, CopyModeAction>> = {
  "search-forward-text": "search_forth",
  "search-backward-text": "search_back",
  "jump-forward": "jump_forth",
  "jump-backward": "jump_back",
  "jump-to-forward": "till_forth",
  "jump-to-backward": "till_back",
};

/** Clipboard programs that a copy may be piped to; wsh itself puts the copy on the clipboard. */
const clipboards = /^(?:xclip|xsel|pbcopy|wl-copy|clip\.exe|reattach-to-user-namespace pbcopy)(?:\s|$)/;

/** The action of copy mode for the words of `send-keys -X`. @throws TmuxError if there is none */
export function copyAct([name = "", ...words]: readonly string[], count: number): CopyModeAct {
  const [text = ""] = words;
  const typed = promptActions[name];
  if (typed !== undefined && words.length === 1 && text !== "") return { action: typed, count, text };
  const action = copyAction(["send-keys", "-X", name, ...words]);
  if (action === null) throw new TmuxError(`copy mode in wsh has no ${name}`);
  return { action, count, text: "" };
}

/** The shell command of `send-keys -X copy-pipe-and-cancel COMMAND`; null: the clipboard is enough. */
export function pipeOf([name, command, ...rest]: readonly string[]): string | null {
  const isPipe = name === "copy-pipe-and-cancel" && command !== undefined && command !== "" && rest.length === 0;
  return isPipe && !clipboards.test(command) ? command : null;
}

/**
 * The action of `send-keys -X …`; null for any other command, and for a copy that also goes to a command.
 * @throws TmuxError if copy mode has no such action
 */
export function copyAction(words: readonly string[]): CopyModeAction | null {
  if (words[0] !== "send-keys" || words[1]?.startsWith("-") !== true || !words[1].includes("X")) return null;
  const [, flags, name = "", argument, ...rest] = words;
  if (flags === "-X" && pipeOf(words.slice(2)) !== null) return null;
  const action = flags === "-X" ? actions[name] : undefined;
  if (action === undefined || rest.length > 0 || (argument !== undefined && name !== "copy-pipe-and-cancel"))
    throw new TmuxError(`copy mode in wsh has no ${words.slice(1).join(" ")}`);
  return action;
}
