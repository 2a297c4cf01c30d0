/** A Mach-O file for tests: small, with the parts that a signature needs, and code that does nothing. */
import { viewOf } from "../../packaging/macho/code-signature.ts";

/** Three pages and a part of one. */
export const CODE_BYTES = 3 * 4096 + 1000;

/** A Mach-O file of two segments, with `room` bytes for a signature at its end. */
export function smallExecutable(room: number): Uint8Array {
  const bytes = new Uint8Array(CODE_BYTES + room).map((_, index) => (index * 7) & 0xff);
  const view = viewOf(bytes);
  const segment = 72;
  const put = (at: number, ...values: number[]): void =>
    values.forEach((value, index) => void view.setUint32(at + 4 * index, value, true));
  put(0, 0xfeedfacf, 0x01000007, 3, 2, 3, 2 * segment + 16, 0, 0);
  const names = ["__TEXT", "__LINKEDIT"];
  const places = [
    [0, 8192],
    [8192, CODE_BYTES + room - 8192],
  ] as const;
  for (const [index, name] of names.entries()) {
    const at = 32 + index * segment;
    put(at, 0x19, segment);
    bytes.fill(0, at + 8, at + 24);
    bytes.set(new TextEncoder().encode(name), at + 8);
    const [from = 0, size = 0] = places[index] ?? [];
    for (const [field, value] of [0, size, from, size].entries())
      view.setBigUint64(at + 24 + 8 * field, BigInt(value), true);
  }
  put(32 + 2 * segment, 0x1d, 16, CODE_BYTES, room);
  return bytes;
}
