/**
 * The audit log as processes other than the server write it: what reaches them directly is seen by no server. It is
 * written when the settings say so, or while a server runs that was told to.
 */

import type { Instance } from "../paths.ts";
import { ensureAuditKey } from "../secrets/own-secrets.ts";
import { readServerInfo } from "../server-info.ts";
import { type AuditLog, auditFile, auditLog } from "./audit-log.ts";

/** Of the command line that does something itself, and of what it asks a session's process for. */
export const directly = { token: "direct", peer: null } as const;

/** @returns the log as it is to be written now, null when it is not; asked for each call */
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
