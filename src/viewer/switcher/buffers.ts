/** The paste buffers as a list of the switcher: Enter pastes the chosen one. */
import type { Caller } from "../../protocol/caller.ts";
import type { PasteBuffers } from "../../session/paste-buffers.ts";
import type { SwitcherSource } from "./destinations.ts";

/** Lines of a text that fit into a preview at most. */
const PREVIEW_LINES = 500;
/** Characters of the text beside a buffer's name. */
const DESCRIPTION_CHARS = 28;

export function buffersSource(buffers: PasteBuffers, by: Caller): SwitcherSource {
  return {
    title: "Paste buffers, the newest first",
    emptyText: "nothing has been copied yet",
    closeQuestion: ({ name }) => `delete ${name}?`,
    list: async () =>
      buffers.list().map(({ name, begins }) => ({
        kind: "buffer",
        session: "",
        number: -1,
        socket: "",
        depth: 0,
        urgency: null,
        target: name,
        pane: name,
        name,
        description: begins.trim().replace(/\s+/g, " ").slice(0, DESCRIPTION_CHARS),
      })),
    preview: async ({ target }) => buffers.get(target, by).text.split("\n", PREVIEW_LINES),
    close: async ({ target }) => void buffers.remove(target, by),
    rename: async ({ target }, name) => void buffers.rename(target, name, by),
  };
}
