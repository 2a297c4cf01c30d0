/** Paste buffers: texts copied in a session. */
import * as v from "valibot";

/** Longest text of a paste buffer, in bytes: terminals' limit for one copy. */
export const MAX_PASTE_BYTES = 1024 * 1024;

export const PasteBufferSchema = v.object({
  id: v.pipe(v.number(), v.description("increases with each copy")),
  bytes: v.number(),
  at: v.pipe(v.number(), v.description("when it was copied, Unix time in ms")),
  begins: v.pipe(v.string(), v.description("its first characters")),
});
export type PasteBuffer = v.InferOutput<typeof PasteBufferSchema>;
