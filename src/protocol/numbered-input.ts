/** A piece of input with its number, in the form from a page: `number:u32 big-endian, bytes`. Pure. */

/** Highest number of a piece of input. */
export const MAX_INPUT_NUMBER = 0xffff_ffff;
const NUMBER_BYTES = 4;

export interface NumberedInput {
  /** From 1; 0: unnumbered input that was already interpreted. */
  readonly number: number;
  readonly bytes: Uint8Array;
}

export function encodeInput({ number, bytes }: NumberedInput): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(NUMBER_BYTES + bytes.length);
  new DataView(message.buffer).setUint32(0, number);
  message.set(bytes, NUMBER_BYTES);
  return message;
}

/** Null for a message that is too short. */
export function decodeInput(message: Uint8Array): NumberedInput | null {
  if (message.length < NUMBER_BYTES) return null;
  const number = new DataView(message.buffer, message.byteOffset).getUint32(0);
  return { number, bytes: message.subarray(NUMBER_BYTES) };
}
