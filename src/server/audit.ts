/**
 * The audit log: one JSON line for every call, by whoever made it, with what came of it. Input stands there as a digest
 * and its length only: enough to prove what was sent, not to read it. The file belongs to its owner alone and is
 * rotated as logs are; a line is written before the answer goes out.
 */
import { join } from "node:path";
import { createLogger } from "../instance/log.ts";
import type { Instance } from "../instance/paths.ts";
import type { CallRecord } from "./record.ts";

export function auditFile(instance: Instance, configured: string): string {
  return configured !== "" ? configured : join(instance.stateDir, `${instance.name}.audit.log`);
}

/** @param file where lines go; made 0600 */
export function auditLog(file: string): (record: CallRecord) => void {
  const log = createLogger({ level: "info", format: "json", file });
  return ({ operation, input, context, result, ms, typed }) => {
    const { bytes, sha256 } = typed ?? digestOf(input);
    log.info(operation, {
      token: context.via?.token ?? context.caller.id,
      peer: context.via?.peer ?? null,
      door: context.caller.kind,
      caller: context.caller.name ?? context.caller.id,
      target: context.session ?? null,
      result,
      ms: Math.round(ms * 10) / 10,
      input_bytes: bytes,
      input_sha256: sha256,
    });
  };
}

function digestOf(input: unknown): { bytes: number; sha256: string } {
  const json = JSON.stringify(input ?? {});
  return { bytes: Buffer.byteLength(json), sha256: new Bun.CryptoHasher("sha256").update(json).digest("hex") };
}
