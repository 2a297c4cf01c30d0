/**
 * The tokens in force: the instance's own, or the one given for this run, the named ones of the file, and those of
 * browsers that have logged in (login.ts). Each has a signal that aborts when it is revoked or its time is over: what was
 * opened by it ends then.
 */
import type { Logger } from "../../instance/log/log.ts";
import { type Instance, prepareStateDir } from "../../instance/paths.ts";
import { type Device, devices } from "../../instance/secrets/devices.ts";
import { readTokens, type StoredToken, tokensFile } from "../../instance/secrets/named-tokens.ts";
import { digestToken, type KnownToken } from "./guard.ts";
import { type Lasting, WatchedList } from "./watched-list.ts";

/** Before the names of browsers, so that they are no token's. */
const DEVICE_PREFIX = "device:";
/** Hexadecimal digits of a token's digest that distinguish it from others. */
const TOKEN_ID_LENGTH = 16;

export class TokenStore implements Disposable {
  private readonly named: WatchedList<Named>;
  private readonly browsers: WatchedList<Device>;
  private readonly own: KnownToken;

  constructor(instance: Instance, token: string, logger: Logger) {
    this.own = { id: "own", name: "own", digest: digestToken(token), access: "admin", ended: null };
    prepareStateDir(instance);
    const ended = (name: string): void => logger.info("a token is no longer valid", { token: name });
    this.named = new WatchedList<Named>({
      path: tokensFile(instance),
      read: () => readTokens(instance).map(known),
      // One that may do something else now is another one.
      key: ({ id, access, session, expiresAt }) => JSON.stringify([id, access, session, expiresAt]),
      endOf: ({ expiresAt }) => expiresAt ?? null,
      failed: (error) => logger.error("the named tokens cannot be used", { error }),
      ended: ({ name }) => ended(name),
    });
    this.browsers = new WatchedList<Device>({
      path: devices.path(instance),
      read: () => devices.read(instance),
      key: ({ id, origin, key }) => JSON.stringify([id, origin, key]),
      endOf: () => null,
      failed: (error) => logger.error("the devices cannot be used", { error }),
      ended: (device) => ended(deviceToken(device)),
    });
  }

  /** Every token that is accepted now, but for those of browsers. Runs once a request. */
  all(): readonly KnownToken[] {
    return [this.own, ...this.named.now];
  }

  /** Browsers that are let in now. */
  get devices(): readonly Lasting<Device>[] {
    return this.browsers.now;
  }

  [Symbol.dispose](): void {
    this.named[Symbol.dispose]();
    this.browsers[Symbol.dispose]();
  }
}

/** The name under which what a browser does is recorded. */
export function deviceToken({ name }: Pick<Device, "name">): string {
  return `${DEVICE_PREFIX}${name}`;
}

type Named = Omit<KnownToken, "ended">;

function known({ name, digest, access, session, expires_at, share }: StoredToken): Named {
  return {
    ...{ id: `${name}:${digest.slice(0, TOKEN_ID_LENGTH)}`, name, digest: Uint8Array.fromHex(digest), access },
    ...(session === undefined ? {} : { session }),
    ...(share === undefined ? {} : { share }),
    ...(expires_at === undefined ? {} : { expiresAt: expires_at }),
  };
}
