/** Where a link over ssh keeps its sockets and its lock: in the instance's runtime directory, by a digest of the address. */
import fs from "node:fs";
import { dirname, join } from "node:path";
import { ensureOwnDir, ownUid } from "../../instance/owned-files.ts";
import { type Instance, maxSocketPathBytes } from "../../instance/paths.ts";

/** ssh binds its control socket under a temporary name: a dot and 16 characters more. */
const TEMPORARY_BYTES = 17;
/** Characters of the digest: two of a person's machines never share one. */
const DIGEST_LENGTH = 12;

export interface SshPlaces {
  /** The master's control socket. */
  readonly control: string;
  /** The socket here that leads to the gateway's there. */
  readonly forwarded: string;
  readonly lock: string;
  /** The socket of the stdio fallback; one per process. */
  readonly relay: string;
}

/** Creates the directory if it is missing. @throws WshError runtime_dir_unusable, unsafe_path */
export function sshPlaces({ runtimeDir }: Instance, key: string): SshPlaces {
  const digest = new Bun.CryptoHasher("sha256").update(key).digest("hex").slice(0, DIGEST_LENGTH);
  const longest = `${digest}.${"0".repeat(7)}.p`.length + TEMPORARY_BYTES + 1;
  const own = join(runtimeDir, "ssh");
  const fits = Buffer.byteLength(own) + longest <= maxSocketPathBytes;
  const dir = fits ? own : `/tmp/wsh-${ownUid()}-ssh`;
  if (fits) ensureOwnDir(runtimeDir);
  ensureOwnDir(dir);
  const of = (end: string): string => join(dir, `${digest}.${end}`);
  return { control: of("c"), forwarded: of("s"), lock: of("lock"), relay: of(`${process.pid}.p`) };
}

/** Sockets of the stdio fallback to the same machine, of any process. */
export function relaysOf(control: string): string[] {
  const stem = control.slice(0, -"c".length);
  const all = fs.readdirSync(dirname(control)).map((name) => join(dirname(control), name));
  return all.filter((path) => path.startsWith(stem) && path.endsWith(".p"));
}
