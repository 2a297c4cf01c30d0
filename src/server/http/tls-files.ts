/** The certificate and key for TCP: read, checked to belong together, and checked for their dates. */
import { X509Certificate } from "node:crypto";
import { readRegularFile } from "../../base/regular-file.ts";
import { WshError } from "../../protocol/errors.ts";

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface TlsPem {
  readonly certPem: string;
  readonly keyPem: string;
}

/** @throws WshError invalid_request naming the invalid part */
export function readTls({ cert, key }: TlsFiles): TlsPem {
  const certPem = readPem("certificate", cert, /-----BEGIN CERTIFICATE-----/);
  const keyPem = readPem("key", key, /-----BEGIN (?:RSA |EC )?PRIVATE KEY-----/);
  try {
    // Checks that the two belong together, on a separate port, so that no client is refused meanwhile.
    const trial = { hostname: "127.0.0.1", port: 0, tls: { cert: certPem, key: keyPem } };
    void Bun.serve({ ...trial, fetch: () => new Response(null, { status: 404 }) }).stop(true);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WshError("invalid_request", `${cert} and ${key} cannot be used: ${reason}`, {}, { cause });
  }
  return { certPem, keyPem };
}

/** Why clients will refuse the certificate at this time; null when its dates are valid. */
export function certificateProblem({ certPem }: TlsPem, now: number): string | null {
  const { validFrom, validTo } = new X509Certificate(certPem);
  if (Date.parse(validTo) < now) return `it expired on ${validTo}`;
  return Date.parse(validFrom) > now ? `it is not valid before ${validFrom}` : null;
}

function readPem(label: string, path: string, pattern: RegExp): string {
  let text: string;
  try {
    text = readRegularFile(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WshError("invalid_request", `the TLS ${label} cannot be read: ${reason}`, {}, { cause });
  }
  if (pattern.test(text)) return text;
  throw new WshError("invalid_request", `${path} does not contain a PEM ${label}`);
}
