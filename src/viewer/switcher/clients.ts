/** The terminals attached to a session, as a list of the switcher: Enter disconnects the chosen one. */
import type { Session } from "../../session/session.ts";
import type { SwitcherSource } from "./destinations.ts";

/** @param currentViewer the terminal that shows the list */
export function clientsSource(
  { viewers, name }: Pick<Session, "viewers" | "name">,
  currentViewer: number,
): SwitcherSource {
  return {
    title: `Terminals attached to ${name}; Enter disconnects`,
    emptyText: "no terminal is attached",
    closeQuestion: ({ name: client }) => `disconnect ${client}?`,
    list: async () =>
      viewers.all.map(({ id, size, page, readOnly, since }) => ({
        kind: "client",
        session: name,
        number: -1,
        socket: "",
        depth: 0,
        urgency: null,
        target: String(id),
        pane: String(id),
        name: `${page ?? `terminal ${id}`}${id === currentViewer ? " (this one)" : ""}`,
        description: `${size.cols}x${size.rows}${readOnly ? " read-only" : ""} since ${new Date(since).toTimeString().slice(0, 5)}`,
      })),
    close: async ({ target }) => viewers.all.find(({ id }) => String(id) === target)?.end({ reason: "detached" }),
  };
}
