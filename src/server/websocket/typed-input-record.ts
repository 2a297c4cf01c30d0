/** The audit record of the input typed over one connection: its length and digest, never its text. */
export class TypedInputRecord {
  private bytes = 0;

  /** @param write writes the record */
  constructor(
    private readonly hasher: Bun.CryptoHasher,
    private readonly write: (typed: { readonly bytes: number; readonly hmac: string }) => void,
  ) {}

  add(bytes: Uint8Array): void {
    this.hasher.update(bytes);
    this.bytes += bytes.length;
  }

  /** The connection has ended. */
  end(): void {
    this.write({ bytes: this.bytes, hmac: this.hasher.digest("hex") });
  }
}
