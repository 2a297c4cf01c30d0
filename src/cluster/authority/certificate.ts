/**
 * Certificates of a fleet's own authority: X.509 version 3 with P-256 keys, in DER (RFC 5280). They are made here
 * because a machine may have no openssl; only the parts that a fleet's servers need are supported.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import { isIP } from "node:net";

/**
 * Validity of an authority and of its servers' certificates, in days. `wsh fleet renew` makes new ones; `wsh
 * fleet list` and `wsh doctor` report when they are due.
 */
const AUTHORITY_DAYS = 10 * 365;
const SERVER_DAYS = 2 * 365;
const DAY_MS = 86_400_000;
/** Clocks of other machines may be late by this much, in ms. */
const BACKDATED_MS = DAY_MS;

/** A key and its certificate, as PEM. */
export interface Certified {
  readonly certificate: string;
  readonly key: string;
}

const tags = { integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, utf8: 0x0c, sequence: 0x30, set: 0x31 } as const;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const TRUE = Buffer.from([0x01, 0x01, 0xff]);

const oids = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  subjectKey: "2.5.29.14",
  keyUsage: "2.5.29.15",
  alternativeNames: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKey: "2.5.29.35",
  extendedUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

export function authorityNameOf(fleet: string): string {
  return `wsh fleet ${fleet}`;
}

/** A new authority, or a new certificate of the authority with the given key. @param name a name for people */
export function makeAuthority(name: string, known?: string): Certified {
  const privateKey =
    known === undefined ? generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey : createPrivateKey(known);
  const certificate = certify({
    subject: name,
    issuer: name,
    key: createPublicKey(pem(privateKey)),
    signer: privateKey,
    days: AUTHORITY_DAYS,
    extensions: [
      // An authority that signs servers and no other authority (path length 0).
      extension(oids.basicConstraints, sequence(TRUE, integer(Buffer.from([0]))), true),
      extension(oids.keyUsage, bits(Buffer.from([0x06]), 1), true), // keyCertSign, cRLSign
    ],
  });
  return { certificate, key: pem(privateKey) };
}

/** A server's certificate for these host names and addresses; servers of a cluster also present it to each other. */
export function makeServerCertificate(authority: Certified, issuer: string, hosts: readonly string[]): Certified {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const certificate = certify({
    subject: hosts[0] ?? "server",
    issuer,
    key: keys.publicKey,
    signer: authority.key,
    days: SERVER_DAYS,
    extensions: [
      extension(oids.basicConstraints, sequence(), true),
      extension(oids.keyUsage, bits(Buffer.from([0x80]), 7), true), // digitalSignature
      extension(oids.extendedUsage, sequence(oid(oids.serverAuth), oid(oids.clientAuth))),
      extension(oids.alternativeNames, sequence(...hosts.map(generalName))),
    ],
  });
  return { certificate, key: pem(keys.privateKey) };
}

interface Claims {
  readonly subject: string;
  readonly issuer: string;
  readonly key: KeyObject;
  readonly signer: KeyObject | string;
  readonly days: number;
  readonly extensions: readonly Buffer[];
}

function certify({ subject, issuer, key, signer, days, extensions }: Claims): string {
  const algorithm = sequence(oid(oids.ecdsaWithSha256));
  const now = Date.now();
  const authorityKey = createPublicKey(typeof signer === "string" ? signer : pem(signer));
  const body = sequence(
    tlv(0xa0, integer(Buffer.from([2]))), // version 3
    // Positive, of 16 bytes without a leading zero.
    integer(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    algorithm,
    distinguishedName(issuer),
    sequence(time(now - BACKDATED_MS), time(now + days * DAY_MS)),
    distinguishedName(subject),
    key.export({ type: "spki", format: "der" }),
    tlv(
      0xa3,
      sequence(
        ...extensions,
        extension(oids.subjectKey, tlv(tags.octets, keyId(key))),
        extension(oids.authorityKey, sequence(tlv(0x80, keyId(authorityKey)))),
      ),
    ),
  );
  const der = sequence(body, algorithm, bits(sign("sha256", body, signer), 0));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

/** SHA-1 of the public key's bits: an identifier, not a protection (RFC 5280, 4.2.1.2). */
function keyId(key: KeyObject): Buffer {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  const point = [Buffer.from([0x04]), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")];
  return createHash("sha1").update(Buffer.concat(point)).digest();
}

function generalName(host: string): Buffer {
  const family = isIP(host);
  if (family === 4) return tlv(0x87, Buffer.from(host.split(".").map(Number)));
  if (family === 6) return tlv(0x87, ipv6Bytes(host));
  return tlv(0x82, Buffer.from(host, "ascii"));
}

function ipv6Bytes(host: string): Buffer {
  // The URL parser writes IPv4 tails as hexadecimal.
  const canonical = new URL(`http://[${host}]/`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  const words = [...before, ...zeros, ...after].map((word) => Number.parseInt(word, 16));
  return Buffer.from(words.flatMap((word) => [word >> 8, word & 0xff]));
}

function extension(id: string, value: Buffer, isCritical = false): Buffer {
  return sequence(oid(id), ...(isCritical ? [TRUE] : []), tlv(tags.octets, value));
}

function distinguishedName(name: string): Buffer {
  return sequence(tlv(tags.set, sequence(oid(oids.commonName), tlv(tags.utf8, Buffer.from(name)))));
}

/** UTCTime up to 2049, GeneralizedTime after, as RFC 5280 demands. */
function time(at: number): Buffer {
  const digits = `${new Date(at).toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`;
  const isEarly = Number(digits.slice(0, 4)) < 2050;
  return isEarly ? tlv(UTC_TIME, Buffer.from(digits.slice(2))) : tlv(GENERALIZED_TIME, Buffer.from(digits));
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const septets = [part & 0x7f];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128))
      septets.unshift((left & 0x7f) | 0x80);
    bytes.push(...septets);
  }
  return tlv(tags.oid, Buffer.from(bytes));
}

function integer(bytes: Buffer): Buffer {
  return tlv(tags.integer, bytes);
}

function bits(bytes: Buffer, unused: number): Buffer {
  return tlv(tags.bits, Buffer.from([unused]), bytes);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tlv(tags.sequence, ...parts);
}

function tlv(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

function pem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}
