/**
 * Browsers log in without a password (docs/security.md, Browsers): a code that this user's command line has minted lets
 * a browser register a key once; with that key it signs a challenge each time, and gets a bearer token for some
 * minutes. Owns codes, challenges and bearers, which are in memory alone, and how many there may be.
 */
import type { Instance } from "../../instance/paths.ts";
import { addDevice, type Device, devices, noteUse } from "../../instance/secrets/devices.ts";
import { randomToken } from "../../instance/secrets/own-secrets.ts";
import { WshError } from "../../protocol/errors.ts";
import { digestToken, type KnownToken } from "./guard.ts";
import { isPublicKey } from "./p256.ts";
import { deviceToken } from "./token-store.ts";
import type { Lasting } from "./watched-list.ts";

/** Times for which a code, a challenge and a bearer are valid, in ms. */
const CODE_MS = 60_000;
const CHALLENGE_MS = 60_000;
export const BEARER_MS = 600_000;
/** Limits of each at one time: many browsers at once, and little memory. */
const MAX_CODES = 16;
const MAX_BEARERS = 1_000;
/** Characters of what makes a challenge another than the one before, and hexadecimal digits of its seal. */
const NONCE_LENGTH = 16;
const SEAL_LENGTH = 32;
/** Bytes of a signature as WebCrypto makes it. */
const SIGNATURE_BYTES = 64;

interface Bearer {
  readonly device: string;
  readonly digest: Uint8Array;
  readonly expires: number;
}

export interface LoginPort {
  readonly instance: Instance;
  /** Browsers that are let in now. */
  readonly devices: () => readonly Lasting<Device>[];
}

export class Login {
  /** By code, and by challenge that was answered rightly: when it ends. Oldest first. */
  private readonly codes = new Map<string, number>();
  private readonly used = new Map<string, number>();
  /** Seals challenges, so that those of this server are known again. */
  private readonly secret = randomToken();
  private bearers: Bearer[] = [];

  constructor(
    private readonly port: LoginPort,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** A code that lets one browser in, and the seconds for which it does. @throws WshError resource_limit_reached */
  mint(): { readonly code: string; readonly expires_in_s: number } {
    const now = this.now();
    for (const [code, expires] of this.codes) if (expires <= now) this.codes.delete(code);
    if (this.codes.size >= MAX_CODES) {
      throw new WshError("resource_limit_reached", `${MAX_CODES} login codes are waiting to be used`);
    }
    const code = randomToken();
    this.codes.set(code, now + CODE_MS);
    return { code, expires_in_s: CODE_MS / 1000 };
  }

  /** Registers a browser's key. @throws WshError auth_invalid, invalid_request */
  async register(given: {
    readonly code: string;
    readonly key: string;
    readonly kind: string;
    readonly origin: string;
  }): Promise<Device> {
    const { code, key, kind, origin } = given;
    await importKey(key);
    const expires = this.codes.get(code);
    this.codes.delete(code);
    if (expires === undefined || expires <= this.now()) {
      throw new WshError("auth_invalid", "the login code is unknown, used or too old", {
        hint: "`wsh open` makes a new one.",
      });
    }
    return addDevice(this.port.instance, { kind, origin, key });
  }

  /** What a browser is to sign next. Nothing is kept of it: who never answers costs this server nothing. */
  challenge(device: string): string {
    const rest = `${Math.ceil(this.now() + CHALLENGE_MS).toString(36)}.${randomToken(NONCE_LENGTH)}`;
    return `${rest}.${this.sealOf(device, rest)}`;
  }

  /**
   * A bearer for a browser that has signed its challenge. A browser gives its key up for `auth_invalid`, so only what will
   * be refused for ever is that. @throws WshError auth_invalid, request_conflict: it signs another one, unsafe_path
   */
  async answer(given: {
    readonly device: string;
    readonly nonce: string;
    readonly signature: string;
    readonly origin: string;
  }): Promise<{ readonly token: string; readonly device: Device }> {
    const { nonce, signature, origin } = given;
    const isOwn = ({ id }: Device): boolean => id === given.device;
    // A list that cannot be trusted has nobody in it, which says nothing about this one.
    const device = this.port.devices().find(isOwn) ?? devices.read(this.port.instance).find(isOwn);
    if (device?.origin === origin && !this.isOpen(given.device, nonce)) {
      throw new WshError("request_conflict", "the challenge is unknown, used or too old", {
        hint: "Ask for another one: a server that was started anew knows none of the one before.",
      });
    }
    if (device?.origin !== origin || !(await signed(device, nonce, signature))) {
      throw new WshError("auth_invalid", "this browser is not logged in here, or its key was revoked", {
        hint: "`wsh open` logs it in.",
      });
    }
    // Of two that answer the same, one is first.
    if (!this.isOpen(given.device, nonce)) throw new WshError("request_conflict", "the challenge was used meanwhile");
    this.used.set(nonce, this.now() + CHALLENGE_MS);
    await noteUse(this.port.instance, device);
    const token = randomToken();
    const now = this.now();
    this.bearers = this.bearers.filter(({ expires }) => expires > now).slice(1 - MAX_BEARERS);
    this.bearers.push({ device: device.id, digest: digestToken(token), expires: now + BEARER_MS });
    return { token, device };
  }

  /** Whether the challenge is one of this server's for the device, whose time is not over, and that nobody has answered. */
  private isOpen(device: string, nonce: string): boolean {
    const now = this.now();
    for (const [each, expires] of this.used) if (expires <= now) this.used.delete(each);
    const [until = "", random = "", seal = ""] = nonce.split(".");
    if (seal !== this.sealOf(device, `${until}.${random}`) || this.used.has(nonce)) return false;
    return Number.parseInt(until, 36) > now;
  }

  private sealOf(device: string, rest: string): string {
    return new Bun.CryptoHasher("sha256", this.secret).update(`${device} ${rest}`).digest("hex").slice(0, SEAL_LENGTH);
  }

  /** Tokens of browsers that are valid now. Runs once a request. */
  tokens(): readonly KnownToken[] {
    if (this.bearers.length === 0) return [];
    const now = this.now();
    const known = new Map(this.port.devices().map((device) => [device.id, device]));
    return this.bearers.flatMap(({ device: id, digest, expires }) => {
      const device = expires > now ? known.get(id) : undefined;
      if (device === undefined) return [];
      return [{ id: `device:${id}`, name: deviceToken(device), digest, access: "admin" as const, ended: device.ended }];
    });
  }
}

/** What a browser signs: nothing else that it might be made to sign looks like it. */
export function loginText(origin: string, device: string, nonce: string): string {
  return `wsh login\n${origin}\n${device}\n${nonce}`;
}

async function signed({ id, key, origin }: Device, nonce: string, signature: string): Promise<boolean> {
  const bytes = bytesOf(signature);
  if (bytes?.length !== SIGNATURE_BYTES) return false;
  const text = new TextEncoder().encode(loginText(origin, id, nonce));
  return crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, await importKey(key), bytes, text);
}

/** @throws WshError invalid_request */
async function importKey(key: string): Promise<CryptoKey> {
  const bytes = bytesOf(key);
  if (bytes === null || !isPublicKey(bytes)) {
    throw new WshError("invalid_request", "'key' is no public key of P-256: a point in base64");
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
