/** Session operations on paste buffers. */
import type { SessionHandlers } from "./context.ts";

type BufferOperation = "buffer.list" | "buffer.get" | "buffer.add" | "buffer.delete";

export const bufferHandlers: Pick<SessionHandlers, BufferOperation> = {
  "buffer.list": ({ buffers }) => buffers.list(),
  "buffer.get": ({ buffers }, { buffer_id }) => buffers.get(buffer_id),
  "buffer.add": ({ buffers }, { text }) => buffers.add(text),
  "buffer.delete": ({ buffers }, { buffer_id }) => buffers.remove(buffer_id),
};
