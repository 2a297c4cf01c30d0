/**
 * The input of `input.send` and `run`: text or bytes, keys, Enter; decoded and checked completely before anything is
 * sent.
 */
import { WshError } from "../protocol/errors.ts";
import { PASTE_BEGIN, PASTE_END } from "../protocol/pasted-text.ts";
import { encodeKeys, type KeyModes } from "./encode.ts";
import { parseKeyName } from "./parse-name.ts";

/** Longest decoded input (docs/protocol.md, Limits). */
const MAX_INPUT_BYTES = 1024 * 1024;
const encoder = new TextEncoder();
const pasteBegin = encoder.encode(PASTE_BEGIN);
const pasteEnd = encoder.encode(PASTE_END);
const ESC = 0x1b;
/** The marker's last byte. */
const TILDE = 0x7e;

export interface InputRequest {
  readonly data?: string | undefined;
  readonly encoding: "utf8" | "base64";
  readonly keys?: readonly string[] | undefined;
  readonly submit: boolean;
  readonly paste: boolean;
}

interface InputModes extends KeyModes {
  readonly bracketedPaste: boolean;
  /** Whether each line is a text of its own: at a shell's prompt each is a command. */
  readonly takesLines: boolean;
}

/**
 * Text typed first, and the Enter of `submit`: a separate key, so that a program can distinguish it from pasted text.
 */
interface DecodedInput {
  readonly text: Uint8Array;
  readonly enter: Uint8Array | null;
}

/**
 * Several lines to be submitted as one text are a paste if the program has asked for pastes.
 * @throws WshError invalid_request (base64), payload_too_large, unknown_key
 */
export function decodeInput(typing: InputRequest, modes: InputModes): DecodedInput {
  const { data, encoding, keys = [], submit, paste } = typing;
  const bytes = data === undefined ? new Uint8Array() : encoding === "base64" ? fromBase64(data) : encoder.encode(data);
  if (bytes.length > MAX_INPUT_BYTES) {
    throw new WshError("payload_too_large", `the input has ${bytes.length} bytes; the limit is ${MAX_INPUT_BYTES}`);
  }
  const isPaste =
    bytes.length > 0 && modes.bracketedPaste && (paste || (submit && modes.takesLines && hasSeveralLines(bytes)));
  return {
    text: new Uint8Array(
      Buffer.concat([isPaste ? bracketPaste(bytes) : bytes, encodeKeys(keys.map(parseKeyName), modes)]),
    ),
    enter: submit ? encodeKeys([parseKeyName("Enter")], modes) : null,
  };
}

/**
 * Checks the rules that do not depend on the program's modes.
 * @throws WshError invalid_request (base64), unknown_key
 */
export function requireTypable({ data, encoding, keys = [] }: Pick<InputRequest, "data" | "encoding" | "keys">): void {
  if (data !== undefined && encoding === "base64") fromBase64(data);
  for (const key of keys) parseKeyName(key);
}

/** Whether a line end precedes the last byte. An escape sequence is a key. */
function hasSeveralLines(bytes: Uint8Array): boolean {
  const index = bytes.findIndex((byte) => byte === 0x0a || byte === 0x0d);
  return index >= 0 && index < bytes.length - 1 && !bytes.includes(ESC);
}

/** Removes end markers from the text: one would end the paste early and let the rest be typed. */
function bracketPaste(bytes: Uint8Array): Uint8Array {
  const inside = new Uint8Array(bytes.length);
  let length = 0;
  for (const byte of bytes) {
    inside[length++] = byte;
    // Compared with the kept bytes, since removing one marker can join the halves of another.
    const start = length - pasteEnd.length;
    if (byte === TILDE && start >= 0 && pasteEnd.every((marker, index) => inside[start + index] === marker))
      length = start;
  }
  return new Uint8Array(Buffer.concat([pasteBegin, inside.subarray(0, length), pasteEnd]));
}

function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    throw new WshError("invalid_request", "'data' is not base64", { hint: "Use standard, padded base64." });
  }
}
