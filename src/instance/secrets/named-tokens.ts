/**
 * Tokens that a person has made for programs, beside the instance's own: each has a name, an access, and perhaps one
 * session, whose id it is bound to. Only digests are kept, in a file that nobody else can read, replaced whole, so that a reader never sees half
 * of it. The token itself is shown once, when it is made.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { WshError } from "../../protocol/errors.ts";
import { checkTag, paneId, parseTarget, sessionId } from "../../protocol/names.ts";
import { withLock } from "../lock.ts";
import { checkOwnFile } from "../owned-files.ts";
import { type Instance, prepareStateDir } from "../paths.ts";
import { refused } from "../refused.ts";
import { findSession } from "../registry/registry.ts";
import { randomToken } from "./own-secrets.ts";

/** Named tokens of an instance: far more than a person keeps track of; each costs a comparison a request. */
const MAX_TOKENS = 100;
/** Names that mean something else in the audit log. */
const reserved: ReadonlySet<string> = new Set(["own", "none", "socket", "direct", "unknown"]);

const StoredTokenSchema = v.object({
  name: v.string(),
  /** SHA-256 in hex. */
  digest: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  access: v.picklist(["observe", "operate", "admin"]),
  /** Id of the only session that it opens, `@s3`: a name can change its owner, an id cannot. */
  session: v.optional(v.pipe(v.string(), v.transform(currentId))),
  /** Milliseconds since 1970. */
  created_at: v.number(),
});
export type StoredToken = v.InferOutput<typeof StoredTokenSchema>;

export function tokensFile(instance: Instance): string {
  return join(instance.stateDir, `${instance.fileName}.tokens.json`);
}

/** @throws WshError unsafe_path when the file is not ours alone or not understood: then no named token is good */
export function readTokens(instance: Instance): readonly StoredToken[] {
  const path = tokensFile(instance);
  if (!checkOwnFile(path)) return [];
  let value: unknown;
  try {
    value = JSON.parse(fs.readFileSync(path, "utf8"));
  } catch {
    value = null;
  }
  const parsed = v.safeParse(v.array(StoredTokenSchema), value);
  if (parsed.success) return parsed.output;
  throw new WshError("unsafe_path", `${path} does not hold tokens`, {
    hint: "Delete the file and create the tokens anew.",
  });
}

export interface NewToken {
  readonly name: string;
  readonly access: StoredToken["access"];
  /** Target of the only session that it is to open. */
  readonly session?: string | undefined;
}

/**
 * @returns the token, which cannot be read again
 * @throws WshError invalid_tag (its name), session_not_found, invalid_request
 */
export async function createToken(instance: Instance, { name, access, session }: NewToken): Promise<string> {
  checkTag(name);
  const only = session === undefined ? {} : { session: limitTo(instance, session) };
  if (reserved.has(name)) throw new WshError("invalid_request", `'${name}' is not free as a token's name`);
  const token = randomToken();
  await change(instance, (tokens) => {
    if (tokens.some((known) => known.name === name)) {
      throw new WshError("invalid_request", `there is a token '${name}' already`, {
        hint: `Revoke it first: wsh token revoke ${name}`,
      });
    }
    if (tokens.length >= MAX_TOKENS) {
      throw new WshError("resource_limit_reached", `there are ${MAX_TOKENS} tokens`, { hint: "Revoke some first." });
    }
    const digest = new Bun.CryptoHasher("sha256").update(token).digest("hex");
    return [...tokens, { name, digest, access, ...only, created_at: Date.now() }];
  });
  return token;
}

/** The id of the session that a target names now. */
function limitTo(instance: Instance, target: string): string {
  const { id, session } = findSession(instance, parseTarget(target));
  if (session !== null) return sessionId(session);
  throw new WshError("host_version", `the session with pane ${paneId(id)} has no id of its own`);
}

/**
 * wsh 0.1.0 wrote the pane's id for the session's: the two had one number, and new ids begin above those (counters.ts), so
 * no session of this version is `@s7` when a limit was `@7`.
 */
function currentId(stored: string): string {
  return stored.replace(/^@(?=[0-9])/, "@s");
}

/** @throws WshError invalid_request when there is none of that name */
export async function revokeToken(instance: Instance, name: string): Promise<void> {
  await change(instance, (tokens) => {
    const kept = tokens.filter((token) => token.name !== name);
    if (kept.length < tokens.length) return kept;
    throw new WshError("invalid_request", `there is no token '${name}'`, { hint: "wsh token list shows them." });
  });
}

async function change(
  instance: Instance,
  edit: (tokens: readonly StoredToken[]) => readonly StoredToken[],
): Promise<void> {
  prepareStateDir(instance);
  const path = tokensFile(instance);
  await withLock(`${path}.lock`, async () => {
    const text = `${JSON.stringify(edit(readTokens(instance)), null, 2)}\n`;
    const temporary = `${path}.${process.pid}.${randomToken(8)}`;
    try {
      fs.writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
      fs.renameSync(temporary, path);
    } catch (error) {
      throw refused(`${path} cannot be written`, error);
    } finally {
      fs.rmSync(temporary, { force: true });
    }
  });
}
