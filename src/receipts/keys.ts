/** Ed25519 keys of receipts: created in memory, printed as an OpenSSH line, read from files of such lines. */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { WshError } from "../protocol/errors.ts";

const ALGORITHM = "ssh-ed25519";
/** Bytes of a public key. */
const KEY_BYTES = 32;

export interface VerifyingKey {
  readonly key: KeyObject;
  /** Its fingerprint, `SHA256:…`. */
  readonly id: string;
  readonly line: string;
}

/** @returns the private key, which is never written to disk */
export function makeKey(comment: string): { readonly secret: KeyObject; readonly publicKey: VerifyingKey } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  return { secret: privateKey, publicKey: verifyingKey(publicKey, sshBlob(raw), comment) };
}

/** @param text lines of OpenSSH; blank ones and those that begin with # are skipped @throws WshError invalid_request */
export function readKeys(text: string, origin: string): VerifyingKey[] {
  const keys = text.split("\n").flatMap((line, index) => {
    const trimmed = line.trim();
    return trimmed === "" || trimmed.startsWith("#") ? [] : [readKey(trimmed, `${origin}, line ${index + 1}`)];
  });
  if (keys.length > 0) return keys;
  throw new WshError("invalid_request", `${origin} holds no key`, { hint: "Print one with: wsh receipt key NAME" });
}

function readKey(line: string, place: string): VerifyingKey {
  const [algorithm, base64 = "", ...comment] = line.split(/\s+/);
  const blob = Buffer.from(base64, "base64");
  const raw = blob.subarray(-KEY_BYTES);
  if (algorithm !== ALGORITHM || !blob.equals(sshBlob(raw))) {
    throw new WshError("invalid_request", `${place} is not a key of the kind ${ALGORITHM}`, {
      hint: "Print one with: wsh receipt key NAME",
    });
  }
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") }, format: "jwk" });
  return verifyingKey(key, blob, comment.join(" "));
}

function verifyingKey(key: KeyObject, blob: Buffer, comment: string): VerifyingKey {
  const id = `SHA256:${createHash("sha256").update(blob).digest("base64").replace(/=+$/, "")}`;
  return { key, id, line: `${ALGORITHM} ${blob.toString("base64")} ${comment}`.trim() };
}

/** RFC 8709: two strings, each preceded by its length. */
function sshBlob(raw: Buffer): Buffer {
  return Buffer.concat([Buffer.from(ALGORITHM), raw].flatMap((part) => [length(part), part]));
}

function length(part: Buffer): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(part.length);
  return bytes;
}
