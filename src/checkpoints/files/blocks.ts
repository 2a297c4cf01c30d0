/**
 * Blocks: the form of everything in a checkpoint. Each carries its kind, its lengths and a checksum over all of
 * it, and is compressed separately. After damage, a reader continues at the next block with a valid checksum, so
 * only the damaged block is lost. Pure.
 */

/** `about`: identity; `screen`, `alternate`, `history`: lines of text; `commands`: records. */
const blockKinds = ["about", "screen", "alternate", "history", "commands"] as const;
export type BlockKind = (typeof blockKinds)[number];

export interface Block {
  readonly kind: BlockKind;
  readonly text: string;
}

interface StoredBlock extends Block {
  /** Length in the file. */
  readonly bytes: number;
}

const MAGIC = Buffer.from("wCB1", "latin1");
/** Magic, kind (2 bytes), zero (2), stored length (4), length (4), checksum (8). */
const HEADER_BYTES = 24;
const LENGTHS_AT = 8;
const CHECKSUM_AT = 16;
/** Maximum unpacked bytes of one block: a reader never allocates more for one. */
export const MAX_BLOCK_BYTES = 4 * 1024 * 1024;
/** Compression level of zstd: the quickest, 0.5 ms for 50 KB of lines. */
const COMPRESSION_LEVEL = 1;
const ZSTD_MAGIC = 0xfd2fb528;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** @throws RangeError for more text than a block holds */
export function packBlock({ kind, text }: Block): Uint8Array {
  const plain = encoder.encode(text);
  if (plain.length > MAX_BLOCK_BYTES) throw new RangeError(`a block of ${plain.length} bytes`);
  const stored = Bun.zstdCompressSync(plain, { level: COMPRESSION_LEVEL });
  const block = Buffer.alloc(HEADER_BYTES + stored.length);
  MAGIC.copy(block);
  block.writeUInt16LE(blockKinds.indexOf(kind), MAGIC.length);
  block.writeUInt32LE(stored.length, LENGTHS_AT);
  block.writeUInt32LE(plain.length, LENGTHS_AT + 4);
  block.set(stored, HEADER_BYTES);
  block.writeBigUInt64LE(checksum(block), CHECKSUM_AT);
  return block;
}

/** Over the header up to the checksum, and the stored bytes. */
function checksum(block: Uint8Array): bigint {
  return Bun.hash.xxHash3(block.subarray(HEADER_BYTES), Bun.hash.xxHash3(block.subarray(0, CHECKSUM_AT)));
}

/**
 * The whole blocks of a file, in order.
 * @returns also the number of byte runs between them that belong to no block
 */
export function readBlocks(bytes: Uint8Array): { readonly blocks: StoredBlock[]; readonly damaged: number } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const blocks: StoredBlock[] = [];
  let damaged = 0;
  let offset = 0;
  let validEnd = 0;
  while (offset < buffer.length) {
    const index = buffer.indexOf(MAGIC, offset);
    if (index < 0) break;
    const block = readBlockAt(buffer, index);
    if (block === null) {
      offset = index + 1;
      continue;
    }
    if (index > validEnd) damaged++;
    blocks.push({ ...block.block, bytes: block.end - index });
    offset = block.end;
    validEnd = offset;
  }
  return { blocks, damaged: damaged + (validEnd < buffer.length ? 1 : 0) };
}

/**
 * The unpacked size in a zstd frame's header, in bytes (RFC 8878, 3.1.1.1); null when it is absent. node:zlib could
 * limit the size itself, but costs each session 10 ms and a megabyte. @throws RangeError for a truncated frame
 */
function unpackedSize(frame: Buffer): number | null {
  if (frame.readUInt32LE(0) !== ZSTD_MAGIC) return null;
  const descriptor = frame.readUInt8(4);
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeOffset = isSingle ? 5 : 6;
  if ((descriptor & 0x03) !== 0) return null;
  switch (descriptor >> 6) {
    case 0:
      return isSingle ? frame.readUInt8(sizeOffset) : null;
    case 1:
      return frame.readUInt16LE(sizeOffset) + 256;
    case 2:
      return frame.readUInt32LE(sizeOffset);
    default:
      return null;
  }
}

function readBlockAt(buffer: Buffer, start: number): { readonly block: Block; readonly end: number } | null {
  if (start + HEADER_BYTES > buffer.length) return null;
  const kind = blockKinds[buffer.readUInt16LE(start + MAGIC.length)];
  const storedLength = buffer.readUInt32LE(start + LENGTHS_AT);
  const plainLength = buffer.readUInt32LE(start + LENGTHS_AT + 4);
  const end = start + HEADER_BYTES + storedLength;
  if (kind === undefined || end > buffer.length || plainLength > MAX_BLOCK_BYTES) return null;
  const whole = buffer.subarray(start, end);
  if (buffer.readBigUInt64LE(start + CHECKSUM_AT) !== checksum(whole)) return null;
  const stored = whole.subarray(HEADER_BYTES);
  try {
    if (unpackedSize(stored) !== plainLength) return null;
    const unpacked = Bun.zstdDecompressSync(stored);
    if (unpacked.length !== plainLength) return null;
    return { block: { kind, text: decoder.decode(unpacked) }, end };
  } catch {
    return null; // the checksum is right but the content is not: another program's
  }
}
