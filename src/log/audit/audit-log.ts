/**
 * The audit log: one JSON line per call, with its caller and its result. The process that executes the call writes it
 * before the answer is sent: the server, or a session process for direct calls. Input is logged only as a keyed digest
 * (HMAC-SHA-256) and its length: the instance's key can prove which input was sent; without it, not even a short input
 * can be found by guessing. The file is readable by its owner alone; the writer that finds it full rotates it.
 */
import { join } from "node:path";
import type { Instance } from "../../instance/paths.ts";
import type { Caller } from "../../protocol/caller.ts";
import { defined } from "../../protocol/defined.ts";
import { createLogger } from "../log.ts";
import { sharedLog } from "../shared-log.ts";

export interface AuditRecord {
  readonly operation: string;
  readonly input: unknown;
  readonly context: {
    readonly caller: Pick<Caller, "kind" | "id" | "name" | "via">;
    /** Target, as the caller named it. */
    readonly session?: string;
  };
  /** The resolved target: its name may be another session's by now. */
  readonly reached?: { readonly id: string; readonly pane_id: string };
  /** Error code, or "ok". */
  readonly result: string;
  readonly ms: number;
  /** Digest of input typed over a connection, instead of `input`. */
  readonly typed?: { readonly bytes: number; readonly hmac: string };
  /** Number of equal records omitted before this one. */
  readonly left_out?: number;
}

export function auditFile(instance: Instance, configured: string): string {
  return configured !== "" ? configured : join(instance.stateDir, `${instance.fileName}.audit.log`);
}

export interface AuditLog {
  write(record: AuditRecord): void;
  /** Returns a hasher for input that arrives in pieces. */
  hasher(): Bun.CryptoHasher;
}

/**
 * @param file the log, created 0600
 * @param key key of the digests
 */
export function auditLog(file: string, key: string): AuditLog {
  const log = createLogger({ level: "info", format: "json", write: sharedLog(file) });
  const hasher = (): Bun.CryptoHasher => new Bun.CryptoHasher("sha256", key);
  const digestOf = (input: unknown) => {
    const json = JSON.stringify(input ?? {});
    return { bytes: Buffer.byteLength(json), hmac: hasher().update(json).digest("hex") };
  };
  const write = ({ operation, input, context, reached, result, ms, typed, left_out }: AuditRecord): void => {
    const { bytes, hmac } = typed ?? digestOf(input);
    log.info(operation, {
      token: context.caller.via?.token ?? context.caller.id,
      peer: context.caller.via?.peer ?? null,
      interface: context.caller.kind,
      caller: context.caller.name ?? context.caller.id,
      target: context.session ?? null,
      session_id: reached?.id ?? null,
      pane_id: reached?.pane_id ?? null,
      result,
      ms: Math.round(ms * 10) / 10,
      input_bytes: bytes,
      input_hmac: hmac,
      ...defined({ left_out }),
    });
  };
  return { write, hasher };
}
