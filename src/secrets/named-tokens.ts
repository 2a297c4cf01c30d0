/**
 * Tokens that a person has created for programs, in addition to the instance's own. Each has a name and an access, and
 * optionally an end and the id of the only session that it opens. Only digests are stored. The token is shown once,
 * when it is created.
 */
import { join } from "node:path";
import * as v from "valibot";
import { randomToken } from "../base/random-token.ts";
import type { Instance } from "../instance/paths.ts";
import { NOTICE_TOKEN } from "../protocol/caller.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { checkTag } from "../protocol/names.ts";
import { PrivateList } from "./private-list.ts";

/** Named tokens of an instance: far more than a person keeps track of; each costs a comparison per request. */
const MAX_TOKENS = 100;
/** Names that have another meaning in the audit log. */
const reserved: ReadonlySet<string> = new Set(["own", "none", "socket", "direct", "unknown", NOTICE_TOKEN]);

const StoredTokenSchema = v.object({
  name: v.string(),
  /** SHA-256 in hex. */
  digest: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  access: v.picklist(["observe", "operate", "admin"]),
  /** Id of the only session that the token opens, `@s3`: a name can pass to another session, an id cannot. */
  session: v.optional(v.string()),
  /** Milliseconds since 1970. */
  created_at: v.number(),
  /** End of its validity, in ms since 1970; absent: it does not expire. */
  expires_at: v.optional(v.number()),
  /** The token is the code of a link to a session (`wsh share`), which registers one browser. */
  share: v.optional(v.literal(true)),
  /** The browser that has used the link: its public key (P-256, the point in base64), and the origin of its page. */
  browser: v.optional(v.object({ key: v.string(), origin: v.string() })),
});
export type StoredToken = v.InferOutput<typeof StoredTokenSchema>;

const tokens = new PrivateList<StoredToken>(
  (instance) => join(instance.stateDir, `${instance.fileName}.tokens.json`),
  StoredTokenSchema,
  "tokens",
);

export function tokensFile(instance: Instance): string {
  return tokens.path(instance);
}

/**
 * @throws WshError unsafe_path when other users can access the file or its contents are invalid: no named token is
 * accepted then
 */
export function readTokens(instance: Instance): readonly StoredToken[] {
  return tokens.read(instance);
}

interface NewToken {
  readonly name: string;
  readonly access: StoredToken["access"];
  /** Id of the only session that it opens, such as `@s3`. */
  readonly session?: string | undefined;
  /** End of its validity, in ms since 1970; absent: it does not expire. */
  readonly expiresAt?: number | undefined;
  readonly share?: boolean | undefined;
}

/**
 * @returns the token, which cannot be read again
 * @throws WshError invalid_tag (its name), invalid_request
 */
export async function createToken(
  instance: Instance,
  { name, access, session, expiresAt, share }: NewToken,
): Promise<string> {
  checkTag(name);
  const only = defined({ session });
  if (reserved.has(name)) throw new WshError("invalid_request", `'${name}' is reserved and cannot be a token name`);
  const token = randomToken();
  const now = Date.now();
  await tokens.change(instance, (all) => {
    const living = all.filter((each) => !hasExpired(each, now));
    if (living.some((known) => known.name === name)) {
      throw new WshError("invalid_request", `a token '${name}' already exists`, {
        hint: `Revoke it first: wsh token revoke ${name}`,
      });
    }
    if (living.length >= MAX_TOKENS) {
      throw new WshError("resource_limit_reached", `the limit of ${MAX_TOKENS} tokens is reached`, {
        hint: "Revoke some first.",
      });
    }
    const digest = new Bun.CryptoHasher("sha256").update(token).digest("hex");
    const rest = {
      ...defined({ expires_at: expiresAt }),
      ...(share === true ? { share } : {}),
    };
    return [...living, { name, digest, access, ...only, created_at: now, ...rest }];
  });
  return token;
}

/**
 * Registers the browser that uses a link.
 * @param digest SHA-256 of the link's code, in hex
 * @throws WshError auth_invalid: another browser has used it, or the link has ended in the meantime
 */
export async function bindLink(
  instance: Instance,
  digest: string,
  browser: NonNullable<StoredToken["browser"]>,
): Promise<void> {
  await tokens.change(instance, (all) => {
    const link = all.find((each) => each.share === true && each.digest === digest);
    if (link === undefined) throw new WshError("auth_invalid", "the link was revoked or has expired");
    checkBrowser(link, browser);
    return all.map((each) => (each === link ? { ...each, browser } : each));
  });
}

/** @throws WshError auth_invalid when another browser has used the link */
export function checkBrowser(
  link: Pick<StoredToken, "browser">,
  { key, origin }: { key: string; origin: string },
): void {
  const { browser } = link;
  if (browser === undefined || (browser.key === key && browser.origin === origin)) return;
  throw new WshError("auth_invalid", "another browser has used this link; a link admits one browser", {
    hint: "Create a link for each viewer with `wsh share`.",
  });
}

export function hasExpired({ expires_at }: Pick<StoredToken, "expires_at">, now: number): boolean {
  return expires_at !== undefined && expires_at <= now;
}

/** @throws WshError invalid_request when no token has that name */
export async function revokeToken(instance: Instance, name: string): Promise<void> {
  await tokens.change(instance, (all) => {
    const others = all.filter((token) => token.name !== name);
    if (others.length < all.length) return others;
    throw new WshError("invalid_request", `no token '${name}'`, { hint: "wsh token list lists them." });
  });
}
