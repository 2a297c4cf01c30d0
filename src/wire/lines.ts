/** JSON-RPC over lines, for both ends of the bridge's socket. Imports nothing: the bridge must start at once. */

const NEWLINE = 0x0a;

/** Splits bytes into lines of at most `limit` bytes; a longer one is reported once and discarded. */
export class LineSplitter {
  private parts: Uint8Array[] = [];
  private size = 0;
  private isDropping = false;

  constructor(
    private readonly limit: number,
    private readonly line: (text: string) => void,
    private readonly tooLong: () => void,
  ) {}

  push(bytes: Uint8Array): void {
    let start = 0;
    for (;;) {
      const end = bytes.indexOf(NEWLINE, start);
      if (end === -1) break;
      this.add(bytes.subarray(start, end));
      this.finish();
      start = end + 1;
    }
    // Copied: the socket reuses its memory.
    if (start < bytes.length) this.add(new Uint8Array(bytes.subarray(start)));
  }

  /** Ends the input: text after the last newline counts as a line. */
  end(): void {
    if (this.size > 0) this.finish();
  }

  private add(part: Uint8Array): void {
    if (this.isDropping) return;
    if (this.size + part.length <= this.limit) {
      this.parts.push(part);
      this.size += part.length;
      return;
    }
    this.isDropping = true;
    this.parts = [];
    this.size = 0;
    this.tooLong();
  }

  private finish(): void {
    const { parts } = this;
    const wasDropping = this.isDropping;
    this.parts = [];
    this.size = 0;
    this.isDropping = false;
    if (wasDropping) return;
    const text = new TextDecoder().decode(parts.length === 1 ? parts[0] : Buffer.concat(parts)).trim();
    if (text !== "") this.line(text);
  }
}

/** Returns the id of an invalid message, so that its sender can identify it. */
export function idOf(value: unknown): string | number | null {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  const { id } = value;
  return isRequestId(id) ? id : null;
}

/** Excludes infinity, which JSON can be read as (`1e999`) but cannot express. */
export function isRequestId(id: unknown): id is string | number {
  return typeof id === "string" || (typeof id === "number" && Number.isFinite(id));
}
