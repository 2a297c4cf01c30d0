/**
 * The code signature of a 64-bit Mach-O executable: where it is, what it says, whether the file still is what was signed.
 *
 * A signature is a SuperBlob at the end of the file; its CodeDirectory holds a hash of every page before it. The kernel
 * checks a page when it is first used and kills the process where the hash differs, so a single bad page makes an
 * executable that starts on no Mac. Formats: <mach-o/loader.h> and <kern/cs_blobs.h> of xnu. Numbers of the Mach-O are
 * little-endian, those of the signature big-endian.
 */

const MH_MAGIC_64 = 0xfeedfacf;
const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const HEADER_BYTES = 32;
const CSMAGIC_EMBEDDED_SIGNATURE = 0xfade0cc0;
const CSMAGIC_CODEDIRECTORY = 0xfade0c02;
/** hashType 2: SHA-256. */
const CS_HASHTYPE_SHA256 = 2;
/** No certificate: the signature says only that the file is whole. */
export const CS_ADHOC = 0x2;

export interface MachO {
  readonly bytes: Uint8Array;
  /** Where the signature stands, and how much room it has; where LC_CODE_SIGNATURE stands among the load commands. */
  readonly signature: { readonly offset: number; readonly size: number; readonly command: number };
  readonly text: { readonly offset: number; readonly size: number };
  readonly linkedit: { readonly offset: number; readonly size: number; readonly command: number };
}

export interface CodeDirectory {
  readonly identifier: string;
  readonly flags: number;
  /** Bytes of the file that the hashes cover, from its beginning. */
  readonly codeLimit: number;
  readonly pageBytes: number;
  readonly pages: number;
  /** Where the first page's hash stands in the file. */
  readonly hashes: number;
  readonly hashBytes: number;
}

/** @throws Error naming what is not as in a signed 64-bit executable */
export function readMachO(bytes: Uint8Array): MachO {
  const view = viewOf(bytes);
  if (bytes.length < HEADER_BYTES || view.getUint32(0, true) !== MH_MAGIC_64)
    throw new Error("not a 64-bit Mach-O file");
  let signature: MachO["signature"] | null = null;
  let text: MachO["text"] | null = null;
  let linkedit: MachO["linkedit"] | null = null;
  let at = HEADER_BYTES;
  for (let left = view.getUint32(16, true); left > 0; left--) {
    const kind = view.getUint32(at, true);
    const size = view.getUint32(at + 4, true);
    if (size < 8 || at + size > bytes.length) throw new Error(`a load command at ${at} has ${size} bytes`);
    if (kind === LC_CODE_SIGNATURE) {
      signature = { offset: view.getUint32(at + 8, true), size: view.getUint32(at + 12, true), command: at };
    }
    if (kind === LC_SEGMENT_64) {
      const name = textAt(bytes, at + 8, at + 24);
      const place = {
        offset: Number(view.getBigUint64(at + 40, true)),
        size: Number(view.getBigUint64(at + 48, true)),
      };
      if (name === "__TEXT") text = place;
      if (name === "__LINKEDIT") linkedit = { ...place, command: at };
    }
    at += size;
  }
  if (signature === null) throw new Error("there is no LC_CODE_SIGNATURE");
  if (text === null || linkedit === null) throw new Error("there is no __TEXT or no __LINKEDIT");
  if (signature.offset + signature.size > bytes.length) throw new Error("the signature ends past the file's end");
  return { bytes, signature, text, linkedit };
}

/** The SHA-256 code directory. @throws Error naming what is wrong with the signature */
function codeDirectoryOf({ bytes, signature }: MachO): CodeDirectory {
  const view = viewOf(bytes);
  const base = signature.offset;
  if (view.getUint32(base) !== CSMAGIC_EMBEDDED_SIGNATURE) throw new Error("the signature is no embedded signature");
  for (let left = view.getUint32(base + 8), at = base + 12; left > 0; left--, at += 8) {
    const blob = base + view.getUint32(at + 4);
    if (view.getUint32(blob) !== CSMAGIC_CODEDIRECTORY || view.getUint8(blob + 37) !== CS_HASHTYPE_SHA256) continue;
    const version = view.getUint32(blob + 8);
    const large = version >= 0x20300 ? Number(view.getBigUint64(blob + 56)) : 0;
    return {
      identifier: textAt(bytes, blob + view.getUint32(blob + 20), bytes.length),
      flags: view.getUint32(blob + 12),
      codeLimit: large > 0 ? large : view.getUint32(blob + 32),
      pageBytes: 2 ** view.getUint8(blob + 39),
      pages: view.getUint32(blob + 28),
      hashes: blob + view.getUint32(blob + 16),
      hashBytes: view.getUint8(blob + 36),
    };
  }
  throw new Error("the signature has no code directory with SHA-256");
}

export interface Verdict {
  readonly directory: CodeDirectory;
  /** Numbers of the pages whose hash is another, ascending. */
  readonly badPages: readonly number[];
  /** What else makes the kernel refuse the file. */
  readonly faults: readonly string[];
}

/** Compares every page with its hash. @throws Error where there is no signature to compare with */
export function checkSignature(bytes: Uint8Array): Verdict {
  const file = readMachO(bytes);
  const directory = codeDirectoryOf(file);
  const { codeLimit, pageBytes, pages, hashes, hashBytes } = directory;
  const faults: string[] = [];
  if (codeLimit !== file.signature.offset) {
    faults.push(`the hashes cover ${codeLimit} bytes, and the signature begins at ${file.signature.offset}`);
  }
  if (pages !== Math.ceil(codeLimit / pageBytes)) faults.push(`${pages} hashes for ${codeLimit} bytes`);
  const badPages: number[] = [];
  for (let page = 0; page < pages; page++) {
    const expected = bytes.subarray(hashes + page * hashBytes, hashes + (page + 1) * hashBytes);
    if (!Bun.deepEquals(pageHash(bytes, page, directory), new Uint8Array(expected))) badPages.push(page);
  }
  return { directory, badPages, faults };
}

/** SHA-256 of one page; the last one ends where the signed part does. */
export function pageHash(
  bytes: Uint8Array,
  page: number,
  { codeLimit, pageBytes }: Pick<CodeDirectory, "codeLimit" | "pageBytes">,
): Uint8Array {
  const from = page * pageBytes;
  const part = bytes.subarray(from, Math.min(from + pageBytes, codeLimit));
  return new Uint8Array(new Bun.CryptoHasher("sha256").update(part).digest());
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Text up to its NUL. */
function textAt(bytes: Uint8Array, from: number, limit: number): string {
  const end = bytes.indexOf(0, from);
  return new TextDecoder().decode(bytes.subarray(from, Math.min(end === -1 ? limit : end, limit)));
}
