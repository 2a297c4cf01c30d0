/** Events in panes that nobody looks at, and alerts of people's terminals for them. Pure. */
import { agentMessage } from "./agent.ts";

/** No alert; BEL; a notification in the form of iTerm2 and others; of urxvt, foot and VTE; of kitty. */
export const alertModes = ["off", "bell", "osc9", "osc777", "osc99"] as const;
export type AlertMode = (typeof alertModes)[number];

/** A program's bell; output after silence; the end of a long command. */
export const newsKinds = ["bell", "activity", "finished"] as const;
export type NewsKind = (typeof newsKinds)[number];

export function isNewsKind(name: string): name is NewsKind {
  return (newsKinds as readonly string[]).includes(name);
}

/** How a terminal shows a notification, according to its client's environment; if unknown, it rings. */
export function notificationsOf(env: Readonly<Record<string, string | undefined>>): AlertMode {
  const term = env.TERM ?? "";
  // Inside a multiplexer, other variables may describe the surrounding terminal.
  if (/^(screen|tmux)/.test(term)) return "bell";
  if (term === "xterm-kitty" || env.KITTY_WINDOW_ID !== undefined) return "osc99";
  if (/^(foot|rxvt)/.test(term) || env.VTE_VERSION !== undefined) return "osc777";
  return /iterm|wezterm|ghostty/i.test(`${env.TERM_PROGRAM ?? ""} ${term}`) ? "osc9" : "bell";
}

/** A program's own notification. */
export const notificationForms = ["OSC 9", "OSC 99", "OSC 777"] as const;
export type NotificationForm = (typeof notificationForms)[number];

/** Whether a terminal certainly shows a program's own notification. @param form absent: there is none */
export function showsNotification(way: AlertMode, form: NotificationForm | undefined): boolean {
  if (form === undefined) return false;
  // kitty shows them all.
  return way === "osc99" || (way === "osc9" && form === "OSC 9") || (way === "osc777" && form === "OSC 777");
}

/**
 * The bytes to write to a terminal. @param session empty: the text already names it. @param text may come from
 * programs: it is cleaned and cut
 */
export function attentionFor(way: AlertMode, session: string, text: string): string {
  const message = session === "" ? text : `${session}: ${text}`;
  switch (way) {
    case "off":
      return "";
    case "bell":
      return "\x07";
    case "osc9":
      // A number first would be another sequence of the same family.
      return `\x1b]9;wsh ${agentMessage(message)}\x1b\\`;
    case "osc777":
      return `\x1b]777;notify;wsh ${session};${agentMessage(text).replaceAll(";", ",")}\x1b\\`;
    case "osc99":
      return `\x1b]99;;wsh ${agentMessage(message)}\x1b\\`;
  }
}
