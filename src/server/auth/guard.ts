/**
 * Pure decisions about which TCP requests are admitted, from their headers (docs/security.md, TCP). The Unix socket
 * needs no such checks: its file is 0600 in a 0700 directory. Order: Host (DNS rebinding), Origin and Sec-Fetch-Site
 * (other pages), then the token.
 */
import { timingSafeEqual } from "node:crypto";
import type { Access } from "../../protocol/caller.ts";
import { defined } from "../../protocol/defined.ts";
import type { ErrorCode } from "../../protocol/errors.ts";

export type Verdict =
  | {
      readonly ok: true;
      readonly access: Access;
      readonly tokenName: string;
      /** Distinguishes a token from an earlier one of the same name. */
      readonly tokenId: string;
      /** Aborts when the token ends; null: it has no end. */
      readonly endSignal: AbortSignal | null;
      /** Id of the only session that the token permits. */
      readonly session?: string;
      /** End of the token, in ms since 1970. */
      readonly expiresAt?: number;
      /** Set for a link given to others. */
      readonly share?: true;
      /** The AI agent that got the ticket, which it may use over TCP. */
      readonly agent?: string;
    }
  | { readonly ok: false; readonly code: ErrorCode; readonly message: string };

export type Admitted = Extract<Verdict, { ok: true }>;

export interface KnownToken {
  /** Distinguishes it from an earlier one of the same name. */
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the token: the secret itself is never compared. */
  readonly digest: Uint8Array;
  readonly access: Access;
  /** Id of the only session that the token permits, if it is limited to one. */
  readonly session?: string;
  /** End of its validity, in ms since 1970; absent: it does not expire. */
  readonly expiresAt?: number;
  /** Set for a link given to others: it decides no sizes. */
  readonly share?: true;
  /** Aborts when it is revoked or expires; null: it has no end. */
  readonly endSignal: AbortSignal | null;
}

export interface GuardPolicy {
  /** Host names (lower case, no port) by which this server may be addressed. */
  readonly hostNames: ReadonlySet<string>;
  /** For a server bound to every interface: any IP address is accepted, since others can only point a name here. */
  readonly anyAddress?: boolean;
  /** Exact origins that are allowed in addition to the server's own. */
  readonly corsOrigins: ReadonlySet<string>;
  /** Null: no token is required (--no-auth). Looked up for each request, so that a revoked token ends at once. */
  readonly tokens: () => readonly KnownToken[] | null;
}

interface Headers {
  get(name: string): string | null;
}

export function digestToken(token: string): Uint8Array {
  return new Bun.CryptoHasher("sha256").update(token).digest();
}

/** The host of a Host header without its port; null: invalid. IPv6 keeps its brackets. */
export function hostOf(header: string): string | null {
  return /^(\[[0-9a-f:.]+\]|[^:[\]]*)(?::\d*)?$/.exec(header.toLowerCase())?.[1] ?? null;
}

function isOwnHost(policy: GuardPolicy, host: string): boolean {
  if (policy.hostNames.has(host)) return true;
  return policy.anyAddress === true && (/^\d{1,3}(\.\d{1,3}){3}$/.test(host) || /^\[[0-9a-f:.]+\]$/.test(host));
}

export function checkOrigin(policy: GuardPolicy, headers: Headers): Verdict | null {
  const host = headers.get("host");
  const name = host === null ? null : hostOf(host);
  if (host === null || name === null || !isOwnHost(policy, name)) {
    return {
      ok: false,
      code: "host_not_allowed",
      message: `the Host header '${host ?? ""}' does not name this server`,
    };
  }
  const origin = headers.get("origin");
  if (origin !== null && !policy.corsOrigins.has(origin)) {
    const own = origin.toLowerCase().replace(/^https?:\/\//, "");
    if (own !== host.toLowerCase()) {
      return { ok: false, code: "origin_not_allowed", message: `requests from the origin '${origin}' are refused` };
    }
  }
  const site = headers.get("sec-fetch-site");
  const foreignSite = site === "cross-site" || site === "same-site";
  if (foreignSite && (origin === null || !policy.corsOrigins.has(origin))) {
    return { ok: false, code: "origin_not_allowed", message: `requests that a browser marks '${site}' are refused` };
  }
  return null;
}

export function checkToken(policy: GuardPolicy, headers: Headers): Verdict {
  const tokens = policy.tokens();
  if (tokens === null) return { ok: true, access: "admin", tokenName: "none", tokenId: "none", endSignal: null };
  const authorization = headers.get("authorization");
  // The scheme's case does not matter (RFC 9110 §11.1).
  const token = /^bearer +(.+)$/i.exec(authorization ?? "")?.[1];
  if (token === undefined) {
    return { ok: false, code: "auth_required", message: "a token is required: Authorization: Bearer TOKEN" };
  }
  const digest = digestToken(token);
  let held: KnownToken | undefined;
  for (const token of tokens) {
    if (timingSafeEqual(digest, token.digest)) held = token;
  }
  if (held === undefined) return { ok: false, code: "auth_invalid", message: "the token is not valid here" };
  return {
    ok: true,
    access: held.access,
    tokenName: held.name,
    tokenId: held.id,
    endSignal: held.endSignal,
    ...defined({ session: held.session, share: held.share, expiresAt: held.expiresAt }),
  };
}
