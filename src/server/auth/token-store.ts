/**
 * The valid tokens: the instance's own, or the one given for this run; the named ones of the file; and those for
 * which browsers log in with their keys (login.ts). A link's code is not a token: it registers one browser and
 * opens nothing else. Each token has a signal that aborts when it is revoked or expires: everything that it
 * opened ends then.
 */

import { type Instance, prepareStateDir } from "../../instance/paths.ts";
import type { Logger } from "../../log/log.ts";
import { defined } from "../../protocol/defined.ts";
import { type Device, devices } from "../../secrets/devices.ts";
import { readTokens, type StoredToken, tokensFile } from "../../secrets/named-tokens.ts";
import { digestToken, type KnownToken } from "./guard.ts";
import { type Watched, WatchedList } from "./watched-list.ts";

/** Prefix of browsers' names, so that no token has the same name. */
const DEVICE_PREFIX = "device:";
/** Hexadecimal digits of a token's digest that distinguish it from others. */
const TOKEN_ID_LENGTH = 16;

/** A browser's key, the origin where it is valid, and the token that it represents. */
export interface Credential {
  readonly id: string;
  readonly name: string;
  readonly origin: string;
  /** P-256, the uncompressed point, in base64. */
  readonly key: string;
  readonly token: Omit<KnownToken, "digest">;
}

export class TokenStore implements Disposable {
  private readonly namedTokens: WatchedList<NamedEntry>;
  private readonly devices: WatchedList<Device>;
  private readonly instanceToken: KnownToken;

  constructor(instance: Instance, token: string, logger: Logger) {
    this.instanceToken = { id: "own", name: "own", digest: digestToken(token), access: "admin", endSignal: null };
    prepareStateDir(instance);
    const logEnd = (name: string): void => logger.info("a token has expired or was revoked", { token: name });
    this.namedTokens = new WatchedList<NamedEntry>({
      path: tokensFile(instance),
      readFile: () => readTokens(instance).map(namedToken),
      // A token whose rights have changed is another one.
      key: ({ id, access, session, expiresAt, browser }) => JSON.stringify([id, access, session, expiresAt, browser]),
      expiryOf: ({ expiresAt }) => expiresAt ?? null,
      onReadError: (error) => logger.error("the named tokens cannot be used", { error }),
      // An unused link has opened nothing; it may have been used just now.
      onEntryEnd: ({ name, share, browser }) => (share === undefined || browser !== undefined) && logEnd(name),
    });
    this.devices = new WatchedList<Device>({
      path: devices.path(instance),
      readFile: () => devices.read(instance),
      key: ({ id, origin, key }) => JSON.stringify([id, origin, key]),
      expiryOf: () => null,
      onReadError: (error) => logger.error("the devices cannot be used", { error }),
      onEntryEnd: (device) => logEnd(deviceToken(device)),
    });
  }

  /** Every valid token except those of browsers. Runs once per request. */
  validTokens(): readonly KnownToken[] {
    return [this.instanceToken, ...this.namedTokens.entriesNow.filter(({ share }) => share === undefined)];
  }

  links(): readonly ShareLink[] {
    return this.namedTokens.entriesNow.filter(({ share }) => share === true);
  }

  /** Browsers admitted now: a person's own, and those that have used a link. */
  credentials(): readonly Credential[] {
    const own = this.devices.entriesNow.map((device): Credential => {
      const { id, key, origin, endSignal } = device;
      const token = { id: `${DEVICE_PREFIX}${id}`, name: deviceToken(device), access: "admin", endSignal } as const;
      return { id, key, origin, name: device.name, token };
    });
    const guests = this.links().flatMap(({ browser, digest: _, ...token }): readonly Credential[] =>
      browser === undefined ? [] : [{ id: token.id, ...browser, name: token.name, token }],
    );
    return [...own, ...guests];
  }

  [Symbol.dispose](): void {
    this.namedTokens[Symbol.dispose]();
    this.devices[Symbol.dispose]();
  }
}

/** The name under which a browser's actions are recorded. */
export function deviceToken({ name }: Pick<Device, "name">): string {
  return `${DEVICE_PREFIX}${name}`;
}

type NamedEntry = Omit<KnownToken, "endSignal"> & Pick<StoredToken, "browser">;
export type ShareLink = Watched<NamedEntry>;

function namedToken({ name, digest, access, session, expires_at, share, browser }: StoredToken): NamedEntry {
  return {
    id: `${name}:${digest.slice(0, TOKEN_ID_LENGTH)}`,
    name,
    digest: Uint8Array.fromHex(digest),
    access,
    ...defined({ session, share, browser, expiresAt: expires_at }),
  };
}
