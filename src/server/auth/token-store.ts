/**
 * The tokens in force: the instance's own, or the one given for this run, the named ones of the file, and those of
 * browsers that have logged in (login.ts). What a token had opened is told to end when it is revoked or ends, and what
 * a browser had opened when the browser is revoked.
 */
import type { Logger } from "../../instance/log/log.ts";
import { type Instance, prepareStateDir } from "../../instance/paths.ts";
import { type Device, devices } from "../../instance/secrets/devices.ts";
import { hasExpired, readTokens, type StoredToken, tokensFile } from "../../instance/secrets/named-tokens.ts";
import { digestToken, type KnownToken } from "./guard.ts";
import { WatchedList } from "./watched-list.ts";

/** Longest time of a timer, in ms: beyond it, it would run at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Before the names of browsers, so that they are no token's. */
const DEVICE_PREFIX = "device:";

export class TokenStore implements Disposable {
  private readonly named: WatchedList<KnownToken>;
  private readonly browsers: WatchedList<Device>;
  private readonly own: KnownToken;
  private readonly ends = new Map<string, AbortController>();
  /** Ends the token that ends next. */
  private timer: Timer | null = null;

  constructor(
    private readonly instance: Instance,
    token: string,
    private readonly logger: Logger,
  ) {
    this.own = { name: "own", digest: digestToken(token), access: "admin" };
    prepareStateDir(instance);
    this.named = new WatchedList<KnownToken>({
      path: tokensFile(instance),
      read: () => readTokens(instance).map(known),
      failed: (error) => logger.error("the named tokens cannot be used", { error }),
      replaced: (before, after) => {
        const isKept = (old: KnownToken): boolean =>
          after.some(({ name, digest }) => name === old.name && Buffer.compare(digest, old.digest) === 0);
        for (const old of before) if (!isKept(old)) this.end(old.name);
        this.watchEnds();
      },
    });
    this.browsers = new WatchedList<Device>({
      path: devices.path(instance),
      read: () => devices.read(instance),
      failed: (error) => logger.error("the devices cannot be used", { error }),
      replaced: (before, after) => {
        for (const old of before) if (!after.some(({ id }) => id === old.id)) this.end(deviceToken(old));
      },
    });
    this.watchEnds();
  }

  /** Every token that is accepted now, but for those of browsers. Runs once a request. */
  all(): readonly KnownToken[] {
    const now = Date.now();
    return [this.own, ...this.named.now.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)];
  }

  /** Browsers that are let in now. */
  get devices(): readonly Device[] {
    return this.browsers.now;
  }

  /** Aborts when the token, or the browser, is revoked, or ends. */
  revoked(name: string): AbortSignal {
    const end = this.ends.get(name) ?? new AbortController();
    this.ends.set(name, end);
    return end.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer ?? undefined);
    this.named[Symbol.dispose]();
    this.browsers[Symbol.dispose]();
  }

  private end(name: string): void {
    this.logger.info("a token is no longer valid", { token: name });
    this.ends.get(name)?.abort();
    this.ends.delete(name);
  }

  private watchEnds(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    const now = Date.now();
    const living = this.named.now.filter(({ expiresAt = 0 }) => expiresAt > now);
    if (living.length === 0) return;
    const next = Math.min(...living.map(({ expiresAt = 0 }) => expiresAt));
    this.timer = setTimeout(() => this.ended(), Math.min(next - now, LONGEST_TIMER_MS));
    this.timer.unref();
  }

  private ended(): void {
    const tokens = readable(() => readTokens(this.instance));
    const now = Date.now();
    for (const token of tokens) if (hasExpired(token, now) && this.ends.has(token.name)) this.end(token.name);
    this.watchEnds();
  }
}

/** The name under which what a browser does is recorded. */
export function deviceToken({ name }: Pick<Device, "name">): string {
  return `${DEVICE_PREFIX}${name}`;
}

function readable<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function known({ name, digest, access, session, expires_at, share }: StoredToken): KnownToken {
  return {
    ...{ name, digest: Uint8Array.fromHex(digest), access },
    ...(session === undefined ? {} : { session }),
    ...(share === undefined ? {} : { share }),
    ...(expires_at === undefined ? {} : { expiresAt: expires_at }),
  };
}
