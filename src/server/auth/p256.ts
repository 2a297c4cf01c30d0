/**
 * Whether bytes are a public key of P-256: a point of the curve (FIPS 186-5, SP 800-186 §3.2.1.3), uncompressed. Pure.
 * Checked before calling the system's library: after a key that it refuses, Bun 1.4.4 fails the next keyed digest of
 * any caller.
 */

/** 0x04, then the two coordinates. */
const POINT_BYTES = 65;
const UNCOMPRESSED = 4;
const PRIME = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;

export function isPublicKey(bytes: Uint8Array): boolean {
  if (bytes.length !== POINT_BYTES || bytes[0] !== UNCOMPRESSED) return false;
  const x = BigInt(`0x${bytes.subarray(1, 33).toHex()}`);
  const y = BigInt(`0x${bytes.subarray(33).toHex()}`);
  if (x >= PRIME || y >= PRIME) return false;
  return (y * y - (x * x * x - 3n * x + B)) % PRIME === 0n;
}
