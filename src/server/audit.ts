/**
 * The audit log: one JSON line for every call, by whoever made it, with what came of it. Input stands there as a keyed
 * digest (HMAC-SHA-256) and its length only: whoever has the instance's key can prove what was sent; whoever has the log
 * alone cannot even find a short input by trying. The file belongs to its owner alone and is rotated as logs are; a line
 * is written before the answer goes out.
 */
import { join } from "node:path";
import { createLogger } from "../instance/log.ts";
import type { Instance } from "../instance/paths.ts";
import type { CallRecord } from "./record.ts";

export function auditFile(instance: Instance, configured: string): string {
  return configured !== "" ? configured : join(instance.stateDir, `${instance.name}.audit.log`);
}

export interface AuditLog {
  write(record: CallRecord): void;
  /** Digests what arrives piece by piece. */
  hasher(): Bun.CryptoHasher;
}

/**
 * @param file where lines go; made 0600
 * @param key of the digests
 */
export function auditLog(file: string, key: string): AuditLog {
  const log = createLogger({ level: "info", format: "json", file });
  const hasher = (): Bun.CryptoHasher => new Bun.CryptoHasher("sha256", key);
  const digestOf = (input: unknown) => {
    const json = JSON.stringify(input ?? {});
    return { bytes: Buffer.byteLength(json), hmac: hasher().update(json).digest("hex") };
  };
  const write = ({ operation, input, context, result, ms, typed }: CallRecord): void => {
    const { bytes, hmac } = typed ?? digestOf(input);
    log.info(operation, {
      token: context.via?.token ?? context.caller.id,
      peer: context.via?.peer ?? null,
      door: context.caller.kind,
      caller: context.caller.name ?? context.caller.id,
      target: context.session ?? null,
      result,
      ms: Math.round(ms * 10) / 10,
      input_bytes: bytes,
      input_hmac: hmac,
    });
  };
  return { write, hasher };
}
