/** Paste buffers: copied texts that the sessions of an instance share. */
import * as v from "valibot";
import { described } from "./fields.ts";

/** Longest text of a paste buffer, in bytes: terminals' limit for one copy. */
export const MAX_PASTE_BYTES = 1024 * 1024;
/** Maximum number of buffers, and their total bytes: several of the longest. */
export const MAX_BUFFERS = 50;
export const MAX_BUFFER_BYTES = 8 * MAX_PASTE_BYTES;

export const BufferNameSchema = described(
  v.pipe(
    v.string(),
    v.regex(/^[^\p{Cc}\p{Cs}/]{1,100}$/u, "expected 1 to 100 characters without control characters and /"),
    v.normalize("NFC"),
  ),
  "its name, as `buffer.list` gives it",
);

export const PasteBufferSchema = v.object({
  name: described(v.string(), "as given, else buffer0, buffer1 and so on: each copy has the next number"),
  bytes: v.number(),
  at: described(v.number(), "when it was copied, Unix time in ms"),
  begins: described(v.string(), "its first characters"),
});
export type PasteBuffer = v.InferOutput<typeof PasteBufferSchema>;

/** Formats of a pasted image, by the suffixes of their file names. */
export const imageFormats = ["png", "jpeg", "gif", "webp"] as const;
export type ImageFormat = (typeof imageFormats)[number];
/** Characters of a pasted image in base64: the capacity of one message. */
export const MAX_IMAGE_DATA = 960_000;
