/** Key bindings of copy mode: vi's, emacs's, and those that both share. Pure. */

import type { modeKeyChoices } from "../protocol/attach.ts";

export const lookActions = {
  up: "up",
  down: "down",
  left: "left",
  right: "right",
  word_back: "previous word",
  word_forth: "next word",
  word_end: "end of the word",
  line_start: "start of the line",
  line_first: "first non-blank character",
  line_end: "end of the line",
  view_top: "top of the screen",
  view_middle: "middle of the screen",
  view_bottom: "bottom of the screen",
  page_up: "page up",
  page_down: "page down",
  half_up: "half page up",
  half_down: "half page down",
  scroll_up: "scroll up",
  scroll_down: "scroll down",
  paragraph_back: "previous blank line",
  paragraph_forth: "next blank line",
  top: "oldest line",
  bottom: "newest line, including new output",
  command_back: "previous command",
  command_forth: "next command",
  search_forth: "search forward",
  search_back: "search backward",
  match_forth: "next match",
  match_back: "previous match",
  select: "start or clear the selection",
  select_lines: "select lines",
  select_rectangle: "select a rectangle",
  select_output: "select a command's output",
  other_end: "other end of the selection",
  copy: "copy the selection and exit",
  copy_line: "copy the line and exit",
  cancel: "clear the selection, else exit",
  leave: "leave",
} as const;
export type LookAction = keyof typeof lookActions;

export type ModeKeys = (typeof modeKeyChoices)[number];

const shared: Readonly<Record<string, LookAction>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
  PageUp: "page_up",
  PageDown: "page_down",
  Home: "line_start",
  End: "line_end",
  "ctrl+Home": "top",
  "ctrl+End": "bottom",
  "ctrl+ArrowUp": "scroll_up",
  "ctrl+ArrowDown": "scroll_down",
  Enter: "copy",
  Escape: "cancel",
  "ctrl+c": "leave",
  q: "leave",
  h: "left",
  j: "down",
  k: "up",
  l: "right",
  w: "word_forth",
  b: "word_back",
  e: "word_end",
  "0": "line_start",
  "^": "line_first",
  $: "line_end",
  H: "view_top",
  M: "view_middle",
  L: "view_bottom",
  "{": "paragraph_back",
  "}": "paragraph_forth",
  g: "top",
  G: "bottom",
  "[": "command_back",
  "]": "command_forth",
  "/": "search_forth",
  "?": "search_back",
  n: "match_forth",
  N: "match_back",
  v: "select",
  V: "select_lines",
  o: "select_output",
  O: "other_end",
  y: "copy",
  Y: "copy_line",
  "ctrl+u": "half_up",
  "ctrl+d": "half_down",
};

const own: Readonly<Record<ModeKeys, Readonly<Record<string, LookAction>>>> = {
  vi: {
    " ": "select",
    "ctrl+v": "select_rectangle",
    "ctrl+b": "page_up",
    "ctrl+f": "page_down",
    "ctrl+y": "scroll_up",
    "ctrl+e": "scroll_down",
  },
  emacs: {
    " ": "page_down",
    "ctrl+ ": "select",
    R: "select_rectangle",
    "ctrl+p": "up",
    "ctrl+n": "down",
    "ctrl+b": "left",
    "ctrl+f": "right",
    "alt+b": "word_back",
    "alt+f": "word_end",
    "ctrl+a": "line_start",
    "alt+m": "line_first",
    "ctrl+e": "line_end",
    "alt+v": "page_up",
    "ctrl+v": "page_down",
    "alt+<": "top",
    "alt+>": "bottom",
    "alt+{": "paragraph_back",
    "alt+}": "paragraph_forth",
    "ctrl+s": "search_forth",
    "ctrl+r": "search_back",
    "alt+w": "copy",
    "ctrl+w": "copy",
    "ctrl+g": "cancel",
  },
};

export function isLookAction(name: string): name is LookAction {
  return Object.hasOwn(lookActions, name);
}

/** @param changes by key: an action, or null for none; one that this version does not know does nothing */
export function lookKeys(
  mode: ModeKeys,
  changes: Readonly<Record<string, string | null>> = {},
): Readonly<Record<string, LookAction | null>> {
  const changed = Object.entries(changes).map(([key, action]): [string, LookAction | null] => [
    key,
    action !== null && isLookAction(action) ? action : null,
  ]);
  return { ...shared, ...own[mode], ...Object.fromEntries(changed) };
}
