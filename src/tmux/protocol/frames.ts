/**
 * Frames of tmux's protocol, version 8, as OpenBSD's imsg has them: a header of 16 bytes in the machine's order (type,
 * length with the header, flags, peer id, process), then data. The low byte of the peer id is the protocol's version.
 * Descriptors sent with frames are not received; the kernel closes them. Pure.
 */

const PROTOCOL_VERSION = 8;

const HEADER_BYTES = 16;
/** Longest frame. */
const MAX_BYTES = 16_384;
/** Maximum bytes of data in a frame. */
export const MAX_DATA_BYTES = MAX_BYTES - HEADER_BYTES;

export interface Frame {
  readonly type: number;
  readonly data: Uint8Array;
}

/** A frame that no client of version 8 sends; the connection cannot continue. */
export class FrameError extends Error {
  override readonly name = "FrameError";

  constructor(
    message: string,
    /** Whether its frames are of another version of the protocol. */
    readonly isOtherVersion: boolean,
  ) {
    super(message);
  }
}

export function encodeFrame(type: number, data: Uint8Array = new Uint8Array()): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, type, true);
  view.setUint16(4, bytes.length, true);
  view.setUint32(8, PROTOCOL_VERSION, true);
  view.setUint32(12, process.pid, true);
  bytes.set(data, HEADER_BYTES);
  return bytes;
}

export class FrameDecoder {
  private unread: Uint8Array = new Uint8Array();

  /** @throws FrameError */
  push(bytes: Uint8Array): Frame[] {
    const all = this.unread.length === 0 ? bytes : Buffer.concat([this.unread, bytes]);
    const frames: Frame[] = [];
    let at = 0;
    while (all.length - at >= HEADER_BYTES) {
      const view = new DataView(all.buffer, all.byteOffset + at, HEADER_BYTES);
      const length = view.getUint16(4, true);
      if ((view.getUint32(8, true) & 0xff) !== PROTOCOL_VERSION) throw new FrameError("another version", true);
      if (length < HEADER_BYTES || length > MAX_BYTES) throw new FrameError(`a frame of ${length} bytes`, false);
      if (all.length - at < length) break;
      frames.push({ type: view.getUint32(0, true), data: all.slice(at + HEADER_BYTES, at + length) });
      at += length;
    }
    this.unread = all.slice(at);
    return frames;
  }
}
