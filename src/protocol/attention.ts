/** Events in panes that nobody views, and the alerts for them at people's terminals. Pure. */
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

/** A program's own notification. */
export const notificationForms = ["OSC 9", "OSC 99", "OSC 777"] as const;
export type NotificationForm = (typeof notificationForms)[number];

/** How a terminal shows notifications of wsh, and the forms of programs' own ones that it shows by itself. */
export interface NotificationSupport {
  readonly notifies: AlertMode;
  readonly shows: readonly NotificationForm[];
}

/** According to the environment of a terminal's client; an unknown terminal rings. */
export function notificationSupport(env: Readonly<Record<string, string | undefined>>): NotificationSupport {
  const term = env.TERM ?? "";
  const program = `${env.TERM_PROGRAM ?? ""} ${term}`;
  // Inside a multiplexer, other variables may describe the surrounding terminal.
  if (/^(screen|tmux)/.test(term)) return { notifies: "bell", shows: [] };
  if (term === "xterm-kitty" || env.KITTY_WINDOW_ID !== undefined)
    return { notifies: "osc99", shows: notificationForms };
  // Since 1.18; an older one ignores OSC 99, as it does without wsh.
  if (/^foot/.test(term)) return { notifies: "osc777", shows: notificationForms };
  if (/^rxvt/.test(term) || env.VTE_VERSION !== undefined) return { notifies: "osc777", shows: ["OSC 777"] };
  if (/wezterm|ghostty/i.test(program)) return { notifies: "osc9", shows: ["OSC 9", "OSC 777"] };
  return /iterm/i.test(program) ? { notifies: "osc9", shows: ["OSC 9"] } : { notifies: "bell", shows: [] };
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
