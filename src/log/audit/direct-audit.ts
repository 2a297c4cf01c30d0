/**
 * The audit log of processes other than the server, for calls that reach them directly. They write it when the settings
 * say so, or while a server runs with an audit log.
 */

import type { Instance } from "../../instance/paths.ts";
import { readServerInfo } from "../../registry/server-info.ts";
import { ensureAuditKey } from "../../secrets/own-secrets.ts";
import { type AuditLog, auditFile, auditLog } from "./audit-log.ts";

/** Caller of the command line's own actions, and of its requests to a session process. */
export const directly = { token: "direct", peer: null } as const;

/** @returns the log to write now, or null; called for each call */
export function directAudit(
  instance: Instance,
  { audit, audit_file }: { readonly audit: boolean; readonly audit_file: string },
): () => AuditLog | null {
  const logs = new Map<string, AuditLog>();
  return () => {
    const file = audit ? auditFile(instance, audit_file) : (readServerInfo(instance)?.audit_file ?? null);
    if (file === null) return null;
    const log = logs.get(file) ?? auditLog(file, ensureAuditKey(instance));
    logs.clear();
    logs.set(file, log);
    return log;
  };
}
