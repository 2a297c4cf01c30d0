/** Events in panes that no person looks at, and the alerts for people's terminals. Pure. */
import { agentMessage } from "./agent.ts";

/** Nothing; BEL; a notification as iTerm2, kitty and others show it; one as urxvt, foot and VTE do. */
export const alertWays = ["off", "bell", "osc9", "osc777"] as const;
export type AlertWay = (typeof alertWays)[number];

/** A program rang; there is output after silence; a long command has ended. */
export const newsKinds = ["bell", "activity", "finished"] as const;
export type NewsKind = (typeof newsKinds)[number];

export function isNewsKind(name: string): name is NewsKind {
  return (newsKinds as readonly string[]).includes(name);
}

/** The bytes to write to a terminal. @param text may come from programs: it is cleaned and cut */
export function attentionFor(way: AlertWay, session: string, text: string): string {
  switch (way) {
    case "off":
      return "";
    case "bell":
      return "\x07";
    case "osc9":
      // A number first would be another sequence of the same family.
      return `\x1b]9;wsh ${agentMessage(`${session}: ${text}`)}\x1b\\`;
    case "osc777":
      return `\x1b]777;notify;wsh ${session};${agentMessage(text).replaceAll(";", ",")}\x1b\\`;
  }
}
