/**
 * Signs a Mach-O executable ad hoc, as `codesign -s -` does: a code directory with a hash of every page, no certificate.
 * Bun leaves its own signature in executables that it cross-compiles for Intel Macs; that one covers another file, so
 * the result would be killed at its first page. Pure: gives new bytes, or throws and has changed nothing.
 */
import { CS_ADHOC, pageHash, readMachO, viewOf } from "./code-signature.ts";

/** Bytes of a page of hashes: 4 KiB on every Mac, as codesign(1) has it. */
const PAGE_BYTES = 4096;
const PAGE_SHIFT = 12;
/** Segments end at a multiple of this on any Mac. */
const SEGMENT_BYTES = 16_384;
/** A signature's length is a multiple of this. */
const ALIGNMENT = 16;
const HASH_BYTES = 32;
/** Of a code directory of version 0x20400. */
const DIRECTORY_BYTES = 88;
const SUPERBLOB_BYTES = 20;
const CS_EXECSEG_MAIN_BINARY = 1n;

/** @throws Error where the file has no signature whose place could be taken */
export function signAdHoc(executable: Uint8Array, identifier: string): Uint8Array {
  const { signature, text, linkedit } = readMachO(executable);
  if (signature.offset + signature.size < executable.length) throw new Error("something stands behind the signature");
  const name = new TextEncoder().encode(`${identifier}\0`);
  const codeLimit = signature.offset;
  const pages = Math.ceil(codeLimit / PAGE_BYTES);
  const hashes = DIRECTORY_BYTES + name.length;
  const length = SUPERBLOB_BYTES + hashes + pages * HASH_BYTES;
  const size = Math.ceil(length / ALIGNMENT) * ALIGNMENT;

  const bytes = new Uint8Array(codeLimit + size);
  bytes.set(executable.subarray(0, codeLimit));
  const view = viewOf(bytes);
  // Load commands are hashed as well, so they come first.
  view.setUint32(signature.command + 12, size, true);
  const fileSize = codeLimit + size - linkedit.offset;
  view.setBigUint64(linkedit.command + 48, BigInt(fileSize), true);
  view.setBigUint64(linkedit.command + 32, BigInt(Math.ceil(fileSize / SEGMENT_BYTES) * SEGMENT_BYTES), true);

  const put = (from: number, values: readonly number[]): void => {
    for (const [index, value] of values.entries()) view.setUint32(from + 4 * index, value);
  };
  // SuperBlob: magic, length, one blob: type 0 (code directory) and where it stands.
  put(codeLimit, [0xfade0cc0, length, 1, 0, SUPERBLOB_BYTES]);
  const directory = codeLimit + SUPERBLOB_BYTES;
  // Magic, length, version, flags, place of the hashes, of the name, special hashes, hashes, end of what is signed.
  const whole = hashes + pages * HASH_BYTES;
  put(directory, [0xfade0c02, whole, 0x20400, CS_ADHOC, hashes, DIRECTORY_BYTES, 0, pages, codeLimit]);
  // Size and kind (SHA-256) of a hash, platform, page size as a power of two.
  bytes.set([HASH_BYTES, 2, 0, PAGE_SHIFT], directory + 36);
  view.setBigUint64(directory + 64, BigInt(text.offset));
  view.setBigUint64(directory + 72, BigInt(text.size));
  view.setBigUint64(directory + 80, CS_EXECSEG_MAIN_BINARY);
  bytes.set(name, directory + DIRECTORY_BYTES);
  for (let page = 0; page < pages; page++) {
    const hash = pageHash(bytes, page, { codeLimit, pageBytes: PAGE_BYTES });
    bytes.set(hash, directory + hashes + page * HASH_BYTES);
  }
  return bytes;
}
