/**
 * Browsers log in without a password (docs/security.md, Browsers): a code that this user's command line has minted, or
 * that a link carries, lets a browser register a key once; with that key it signs a challenge each time, and gets a
 * bearer token for some minutes. Owns codes, challenges and bearers, which exist only in memory, and their limits.
 */
import { timingSafeEqual } from "node:crypto";
import { randomToken } from "../../base/random-token.ts";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { addDevice, devices, noteUse } from "../../secrets/devices.ts";
import { bindLink, checkBrowser, readTokens } from "../../secrets/named-tokens.ts";
import { digestToken, type KnownToken } from "./guard.ts";
import { isPublicKey } from "./p256.ts";
import { type Credential, deviceToken, type ShareLink, type TokenStore } from "./token-store.ts";

/** Times for which a code, a challenge and a bearer are valid, in ms. */
const CODE_MS = 60_000;
const CHALLENGE_MS = 60_000;
export const BEARER_MS = 600_000;
/** Maximum codes at one time. */
const MAX_CODES = 16;
/** Maximum bearers of one browser, a few more than it has tabs: a new one ends only its own oldest one. */
const MAX_BEARERS = 16;
/** Characters that make each challenge unique, and hexadecimal digits of its seal. */
const NONCE_LENGTH = 16;
const SEAL_LENGTH = 32;
/** Length of a signature by WebCrypto, in bytes. */
const SIGNATURE_BYTES = 64;

interface Bearer {
  /** Id of its credential. */
  readonly device: string;
  readonly digest: Uint8Array;
  readonly expires: number;
}

interface LoginPort {
  readonly instance: Instance;
  readonly store: Pick<TokenStore, "links" | "credentials">;
}

export class Login {
  /** Expiry of each code, and of each correctly answered challenge. Oldest first. */
  private readonly codes = new Map<string, number>();
  private readonly usedChallenges = new Map<string, number>();
  /** Seals challenges, so that this server recognises its own. */
  private readonly secret = randomToken();
  private bearers: Bearer[] = [];

  constructor(private readonly port: LoginPort) {}

  /** A code that admits one browser, and the seconds for which it is valid. @throws WshError resource_limit_reached */
  mint(): { readonly code: string; readonly expires_in_s: number } {
    const now = performance.now();
    for (const [code, expires] of this.codes) if (expires <= now) this.codes.delete(code);
    if (this.codes.size >= MAX_CODES) {
      throw new WshError("resource_limit_reached", `${MAX_CODES} login codes are waiting to be used`);
    }
    const code = randomToken();
    this.codes.set(code, now + CODE_MS);
    return { code, expires_in_s: CODE_MS / 1000 };
  }

  /** The valid link with this code. */
  linkOf(code: string): ShareLink | undefined {
    const digest = digestToken(code);
    return this.port.store.links().find((link) => timingSafeEqual(link.digest, digest));
  }

  /** Registers a browser's key. @throws WshError auth_invalid, invalid_request */
  async register(given: {
    readonly code: string;
    readonly key: string;
    readonly kind: string;
    readonly origin: string;
  }): Promise<{ readonly id: string; readonly name: string; readonly token: string }> {
    const { code, key, kind, origin } = given;
    await importKey(key);
    const link = this.linkOf(code);
    if (link !== undefined) {
      const { id, name } = link;
      checkBrowser(link, { key, origin });
      if (link.browser === undefined) await bindLink(this.port.instance, link.digest.toHex(), { key, origin });
      return { id, name, token: name };
    }
    const expires = this.codes.get(code);
    this.codes.delete(code);
    if (expires === undefined || expires <= performance.now()) {
      throw new WshError("auth_invalid", "the login code is unknown, used or too old", {
        hint: "`wsh open` makes a new one.",
      });
    }
    const device = await addDevice(this.port.instance, { kind, origin, key });
    return { id: device.id, name: device.name, token: deviceToken(device) };
  }

  /** The text that a browser must sign next. The server stores nothing, so unanswered challenges cost nothing. */
  challenge(device: string): string {
    const rest = `${Math.ceil(performance.now() + CHALLENGE_MS).toString(36)}.${randomToken(NONCE_LENGTH)}`;
    return `${rest}.${this.sealOf(device, rest)}`;
  }

  /**
   * A bearer for a browser that has signed its challenge. A browser deletes its key on `auth_invalid`, so only
   * permanent refusals have that code. @throws WshError auth_invalid, request_conflict: it must sign another challenge,
   * unsafe_path
   */
  async answer(given: {
    readonly device: string;
    readonly nonce: string;
    readonly signature: string;
    readonly origin: string;
  }): Promise<{ readonly token: string; readonly device: Credential }> {
    const { nonce, signature, origin } = given;
    const device = this.port.store.credentials().find(({ id }) => id === given.device);
    if (device === undefined) {
      // An untrusted list reads as empty, which proves nothing about this device.
      devices.read(this.port.instance);
      readTokens(this.port.instance);
    }
    if (device?.origin === origin && !this.isOpen(given.device, nonce)) {
      throw new WshError("request_conflict", "the challenge is unknown, used or too old", {
        hint: "Request another one: challenges do not survive a restart of the server.",
      });
    }
    if (device?.origin !== origin || !(await signed(device, nonce, signature))) {
      throw new WshError("auth_invalid", "this browser is not logged in, or its key was revoked", {
        hint: "`wsh open` logs it in.",
      });
    }
    // Of two identical answers, only the first is accepted.
    if (!this.isOpen(given.device, nonce)) throw new WshError("request_conflict", "the challenge was used meanwhile");
    this.usedChallenges.set(nonce, performance.now() + CHALLENGE_MS);
    await noteUse(this.port.instance, device.id);
    const token = randomToken();
    const now = performance.now();
    const valid = this.bearers.filter(({ expires }) => expires > now);
    const own = valid.filter((bearer) => bearer.device === device.id).slice(1 - MAX_BEARERS);
    const others = valid.filter((bearer) => bearer.device !== device.id);
    this.bearers = [...others, ...own, { device: device.id, digest: digestToken(token), expires: now + BEARER_MS }];
    return { token, device };
  }

  /** Whether this server issued the challenge to this device, it has not expired, and it was not used. */
  private isOpen(device: string, nonce: string): boolean {
    const now = performance.now();
    for (const [each, expires] of this.usedChallenges) if (expires <= now) this.usedChallenges.delete(each);
    const [until = "", random = "", seal = ""] = nonce.split(".");
    if (seal !== this.sealOf(device, `${until}.${random}`) || this.usedChallenges.has(nonce)) return false;
    return Number.parseInt(until, 36) > now;
  }

  private sealOf(device: string, rest: string): string {
    return new Bun.CryptoHasher("sha256", this.secret).update(`${device} ${rest}`).digest("hex").slice(0, SEAL_LENGTH);
  }

  /** Valid tokens of browsers. Runs once per request. */
  tokens(): readonly KnownToken[] {
    if (this.bearers.length === 0) return [];
    const now = performance.now();
    const tokenOf = new Map(this.port.store.credentials().map(({ id, token }) => [id, token]));
    return this.bearers.flatMap(({ device, digest, expires }) => {
      const token = expires > now ? tokenOf.get(device) : undefined;
      return token === undefined ? [] : [{ ...token, digest }];
    });
  }
}

/** The text that a browser signs; it resembles no other text that a browser might be made to sign. */
function loginText(origin: string, device: string, nonce: string): string {
  return `wsh login\n${origin}\n${device}\n${nonce}`;
}

async function signed({ id, key, origin }: Credential, nonce: string, signature: string): Promise<boolean> {
  const bytes = bytesOf(signature);
  if (bytes?.length !== SIGNATURE_BYTES) return false;
  const text = new TextEncoder().encode(loginText(origin, id, nonce));
  return crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, await importKey(key), bytes, text);
}

/** @throws WshError invalid_request */
async function importKey(key: string): Promise<CryptoKey> {
  const bytes = bytesOf(key);
  if (bytes === null || !isPublicKey(bytes)) {
    throw new WshError("invalid_request", "'key' is not a P-256 public key (a point in base64)");
  }
  return crypto.subtle.importKey("raw", bytes, { name: "ECDSA", namedCurve: "P-256" }, false, ["verify"]);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.fromBase64(base64);
  } catch {
    return null;
  }
}
