/** Session operations on paste buffers. */
import { ownerOf } from "../../protocol/owner.ts";
import type { SessionHandlers } from "./context.ts";

type BufferOperation = "buffer.list" | "buffer.get" | "buffer.set" | "buffer.rename" | "buffer.delete";

export const bufferHandlers: Pick<SessionHandlers, BufferOperation> = {
  "buffer.list": ({ buffers }) => buffers.list(),
  "buffer.get": ({ buffers }, { buffer }) => buffers.get(buffer),
  "buffer.set": ({ buffers }, { buffer: name, text, append }, { caller }) =>
    buffers.set({ text, name, append, owner: ownerOf(caller) }),
  "buffer.rename": ({ buffers }, { buffer, new_name }) => buffers.rename(buffer, new_name),
  "buffer.delete": ({ buffers }, { buffer }) => buffers.remove(buffer),
};
