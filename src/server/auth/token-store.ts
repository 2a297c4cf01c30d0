/**
 * The tokens in force: the instance's own, or the one given for this run, and the named ones of the file. The file is
 * read again whenever it was replaced, checked on each request, so a new token works and a revoked one fails at once;
 * what a revoked token had opened is told to end. A file that cannot be trusted opens nothing.
 */
import fs from "node:fs";
import { basename, dirname } from "node:path";
import type { Logger } from "../../instance/log/log.ts";
import { type Instance, prepareStateDir } from "../../instance/paths.ts";
import { readTokens, type StoredToken, tokensFile } from "../../instance/secrets/named-tokens.ts";
import { digestToken, type KnownToken } from "./guard.ts";

export class TokenStore implements Disposable {
  private named: readonly KnownToken[] = [];
  private version = "";
  private watcher: fs.FSWatcher | null = null;
  private readonly path: string;
  private readonly own: KnownToken;
  private readonly ends = new Map<string, AbortController>();

  constructor(
    private readonly instance: Instance,
    token: string,
    private readonly logger: Logger,
  ) {
    this.path = tokensFile(instance);
    this.own = { name: "own", digest: digestToken(token), access: "admin" };
    prepareStateDir(instance);
    this.look();
    try {
      this.watcher = fs.watch(dirname(this.path), { persistent: false }, (_, name) => {
        if (name === null || name === basename(this.path)) this.look();
      });
      this.watcher.on("error", () => {});
    } catch {
      // No watches are left: the next request notices instead.
    }
  }

  /** Everything that is accepted now. Runs once a request. */
  all(): readonly KnownToken[] {
    this.look();
    return [this.own, ...this.named];
  }

  /** Aborts when the token is revoked. */
  revoked(name: string): AbortSignal {
    const end = this.ends.get(name) ?? new AbortController();
    this.ends.set(name, end);
    return end.signal;
  }

  [Symbol.dispose](): void {
    this.watcher?.close();
  }

  private look(): void {
    const stat = fs.lstatSync(this.path, { bigint: true, throwIfNoEntry: false });
    const version = stat === undefined ? "absent" : `${stat.ino}:${stat.mtimeNs}:${stat.mode}`;
    if (version === this.version) return;
    this.version = version;
    const before = this.named;
    try {
      this.named = readTokens(this.instance).map(known);
    } catch (error) {
      this.named = [];
      this.logger.error("the named tokens cannot be used", { error });
    }
    for (const old of before) {
      if (this.named.some((token) => token.name === old.name && Buffer.compare(token.digest, old.digest) === 0))
        continue;
      this.logger.info("a token is no longer valid", { token: old.name });
      this.ends.get(old.name)?.abort();
      this.ends.delete(old.name);
    }
  }
}

function known({ name, digest, access, session }: StoredToken): KnownToken {
  return { name, digest: Uint8Array.fromHex(digest), access, ...(session === undefined ? {} : { session }) };
}
