/** Operations on a session's paste buffers (docs/protocol.md, Paste buffers). */
import * as v from "valibot";
import { MAX_PASTE_BYTES, PasteBufferSchema } from "../protocol/paste.ts";
import { operation } from "./define.ts";
import { NothingSchema } from "./sessions.ts";

const BufferIdSchema = v.pipe(
  v.union([v.number(), v.pipe(v.string(), v.regex(/^\d{1,9}$/), v.transform(Number))]),
  v.integer(),
  v.minValue(1),
  v.description("of `list_buffers`"),
);

export const bufferOperations = [
  operation({
    name: "buffer.list",
    scope: "session",
    access: "observe",
    summary: "Paste buffers of the session, newest first",
    input: NothingSchema,
    output: v.array(PasteBufferSchema),
    errors: [],
    http: [{ method: "GET", path: "/sessions/:name/buffers" }],
    ws: ["list_buffers"],
  }),
  operation({
    name: "buffer.get",
    scope: "session",
    access: "observe",
    summary: "The text of a paste buffer (default: the newest)",
    input: v.object({ buffer_id: v.optional(BufferIdSchema) }),
    output: v.object({ ...PasteBufferSchema.entries, text: v.string() }),
    errors: ["buffer_not_found"],
    http: [
      { method: "GET", path: "/sessions/:name/buffer" },
      { method: "GET", path: "/sessions/:name/buffers/:buffer_id" },
    ],
    ws: ["get_buffer"],
  }),
  operation({
    name: "buffer.add",
    scope: "session",
    access: "operate",
    summary: "Add a text as a paste buffer",
    input: v.object({ text: v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_PASTE_BYTES)) }),
    output: PasteBufferSchema,
    errors: ["payload_too_large"],
    http: [{ method: "POST", path: "/sessions/:name/buffers", status: 201 }],
    ws: ["add_buffer"],
  }),
  operation({
    name: "buffer.delete",
    scope: "session",
    access: "operate",
    summary: "Delete a paste buffer",
    input: v.object({ buffer_id: BufferIdSchema }),
    output: PasteBufferSchema,
    errors: ["buffer_not_found"],
    http: [{ method: "DELETE", path: "/sessions/:name/buffers/:buffer_id" }],
    ws: ["delete_buffer"],
  }),
] as const;
