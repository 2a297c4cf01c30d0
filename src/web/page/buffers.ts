/** The paste buffers of the active session, requested when the palette opens: each is an entry that pastes it. */
import { signal } from "@preact/signals";
import type { PasteBuffer } from "../../protocol/paste.ts";
import type { PageAction } from "./actions.ts";
import { PASTE_PREFIX } from "./open.ts";
import type { Workspace } from "./workspace.ts";

const buffers = signal<readonly PasteBuffer[]>([]);

/** A caller of a single session, or of an older server, gets none. */
export function loadBuffers(workspace: Workspace): void {
  const target = workspace.target();
  buffers.value = [];
  if (target === undefined) return;
  void workspace.control.call<readonly PasteBuffer[]>("list_buffers", {}, target).then(
    (listed) => {
      buffers.value = listed;
    },
    () => {},
  );
}

export function bufferActions(workspace: Workspace): PageAction[] {
  return buffers.value.map(({ name, bytes, begins }) => ({
    name: `${PASTE_PREFIX}${begins.trim().replace(/\s+/g, " ")}`,
    detail: `${name} · ${bytes} bytes`,
    run: () => void workspace.act("paste_buffer", { buffer: name }),
  }));
}
