/** Operations on the paste buffers that a session sees: the instance's (docs/protocol.md, Paste buffers). */
import * as v from "valibot";
import { described, optional } from "../protocol/fields.ts";
import {
  BufferNameSchema,
  imageFormats,
  MAX_IMAGE_DATA,
  MAX_PASTE_BYTES,
  PasteBufferSchema,
} from "../protocol/paste.ts";
import { operation } from "./define.ts";
import { NothingSchema } from "./sessions.ts";

const NamedSchema = v.object({ buffer: v.optional(BufferNameSchema) });
const TextSchema = v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_PASTE_BYTES));

export const bufferOperations = [
  operation({
    name: "buffer.list",
    scope: "session",
    access: "observe",
    shared: true,
    summary: "Paste buffers, newest first",
    input: NothingSchema,
    output: v.array(PasteBufferSchema),
    http: [{ method: "GET", path: "/sessions/:name/buffers" }],
    ws: ["list_buffers"],
  }),
  operation({
    name: "buffer.get",
    scope: "session",
    access: "observe",
    shared: true,
    summary: "The text of a paste buffer (default: the newest copy)",
    input: NamedSchema,
    output: v.object({ ...PasteBufferSchema.entries, text: v.string() }),
    errors: ["buffer_not_found"],
    http: [
      { method: "GET", path: "/sessions/:name/buffer" },
      { method: "GET", path: "/sessions/:name/buffers/:buffer" },
    ],
    ws: ["get_buffer"],
  }),
  operation({
    name: "buffer.set",
    scope: "session",
    access: "operate",
    shared: true,
    summary: "Store a text as a paste buffer; one of the same name is replaced",
    input: v.object({
      buffer: optional(BufferNameSchema, "its name; default: an automatic one"),
      text: TextSchema,
      append: optional(v.boolean(), "append it to the text of the named buffer", false),
    }),
    output: PasteBufferSchema,
    errors: ["payload_too_large"],
    http: [
      { method: "POST", path: "/sessions/:name/buffers", status: 201 },
      { method: "PUT", path: "/sessions/:name/buffers/:buffer" },
    ],
    ws: ["set_buffer"],
  }),
  operation({
    name: "buffer.rename",
    scope: "session",
    access: "operate",
    shared: true,
    summary: "Give a paste buffer a name; another one of that name is deleted",
    input: v.object({ ...NamedSchema.entries, new_name: BufferNameSchema }),
    output: PasteBufferSchema,
    errors: ["buffer_not_found"],
    http: [{ method: "PATCH", path: "/sessions/:name/buffers/:buffer" }],
    ws: ["rename_buffer"],
  }),
  operation({
    name: "buffer.delete",
    scope: "session",
    access: "operate",
    shared: true,
    summary: "Delete a paste buffer (default: the newest copy), or all of them: all or none",
    input: v.object({ ...NamedSchema.entries, all: optional(v.boolean(), "all; answers with the newest") }),
    output: PasteBufferSchema,
    errors: ["buffer_not_found"],
    http: [
      { method: "DELETE", path: "/sessions/:name/buffers/:buffer" },
      { method: "DELETE", path: "/sessions/:name/buffers", fixed: { all: true } },
    ],
    ws: ["delete_buffer"],
  }),
  operation({
    name: "buffer.paste",
    scope: "pane",
    access: "operate",
    types: true,
    shared: true,
    summary: "Type a paste buffer into the terminal (default: the newest copy)",
    input: v.object({
      ...NamedSchema.entries,
      delete: optional(v.boolean(), "delete it afterwards", false),
    }),
    output: PasteBufferSchema,
    errors: ["buffer_not_found", "session_ended", "input_send_failed", "payload_too_large"],
    http: [{ method: "POST", path: "/sessions/:name/paste" }],
    ws: ["paste_buffer"],
  }),
  operation({
    name: "image.paste",
    scope: "pane",
    access: "operate",
    types: true,
    shared: true,
    summary: "Store an image as a file on the session's machine and type its path",
    input: v.object({
      data: described(v.pipe(v.string(), v.base64(), v.maxLength(MAX_IMAGE_DATA)), "base64"),
      format: described(v.picklist(imageFormats), "type of the data"),
    }),
    output: v.object({
      path: described(v.string(), "of the file; typed with quotes if a shell needs them"),
      bytes: described(v.number(), "its size"),
    }),
    errors: ["invalid_request", "session_ended", "input_send_failed", "payload_too_large"],
    http: [{ method: "POST", path: "/sessions/:name/image" }],
    ws: ["paste_image"],
  }),
] as const;
