/** What `input.send` and `run` type: text or bytes, keys, Enter; decoded and checked wholly before anything is sent. */
import { WshError } from "../protocol/errors.ts";
import { encodeKeys, type KeyModes } from "./encode.ts";

/** Longest decoded input (docs/protocol.md, Limits). */
const MAX_INPUT_BYTES = 1024 * 1024;
const encoder = new TextEncoder();
const PASTE_BEGIN = encoder.encode("\x1b[200~");
const PASTE_END = encoder.encode("\x1b[201~");
/** The marker's last byte. */
const TILDE = 0x7e;

export interface Typing {
  readonly data?: string | undefined;
  readonly encoding: "utf8" | "base64";
  readonly keys?: readonly string[] | undefined;
  readonly submit: boolean;
  readonly paste: boolean;
}

/**
 * The writes to make, in order; Enter of `submit` is one of its own, so that a program can tell it from pasted text.
 * @throws WshError invalid_request (base64), payload_too_large, unknown_key
 */
export function decodeInput(typing: Typing, modes: KeyModes & { readonly bracketedPaste: boolean }): Uint8Array[] {
  const { data, encoding, keys = [], submit, paste } = typing;
  const bytes = data === undefined ? new Uint8Array() : encoding === "base64" ? fromBase64(data) : encoder.encode(data);
  if (bytes.length > MAX_INPUT_BYTES) {
    throw new WshError("payload_too_large", `the input has ${bytes.length} bytes; ${MAX_INPUT_BYTES} are allowed`);
  }
  const pressed = encodeKeys(keys, modes);
  const parts = bytes.length === 0 ? [] : paste && modes.bracketedPaste ? [bracket(bytes)] : [bytes];
  if (pressed.length > 0) parts.push(pressed);
  if (submit) parts.push(encodeKeys(["Enter"], modes));
  return parts;
}

/** Removes end markers from the text: one would end the paste early and let the rest be typed. */
function bracket(bytes: Uint8Array): Uint8Array {
  const inside = new Uint8Array(bytes.length);
  let length = 0;
  for (const byte of bytes) {
    inside[length++] = byte;
    // Compared with the kept bytes, since removing one marker can join the halves of another.
    const start = length - PASTE_END.length;
    if (byte === TILDE && start >= 0 && PASTE_END.every((marker, at) => inside[start + at] === marker)) length = start;
  }
  return new Uint8Array(Buffer.concat([PASTE_BEGIN, inside.subarray(0, length), PASTE_END]));
}

function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    throw new WshError("invalid_request", "'data' is not base64", { hint: "Use standard, padded base64." });
  }
}
