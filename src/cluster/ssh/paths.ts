/**
 * Paths of the sockets and locks of links over ssh: in a directory of the instance's runtime directory, under names
 * that begin with a digest of the instance, so that all of them can be found and ended, whichever address they were
 * made for.
 */
import { join } from "node:path";
import { ensureOwnDir, ownUid } from "../../instance/owned-files.ts";
import { type Instance, maxSocketPathBytes } from "../../instance/paths.ts";
import { namesIn } from "../../platform/readable.ts";

/** ssh binds its control socket under a temporary name: a dot and 16 characters more. */
const TEMPORARY_BYTES = 17;
/** Characters of the digests: enough to distinguish a person's instances and machines. */
const INSTANCE_LENGTH = 8;
const ADDRESS_LENGTH = 12;

export interface SshPaths {
  readonly control: string;
  /** The socket here that leads to the gateway's socket there. */
  readonly forwarded: string;
  readonly lock: string;
  /** The socket of the stdio fallback; one per process. */
  readonly relay: string;
}

/** Creates the directory if it is missing. @throws WshError runtime_dir_unusable, unsafe_path */
export function sshPlaces(instance: Instance, key: string): SshPaths {
  const { runtimeDir } = instance;
  const { dir, prefix } = socketNaming(instance);
  if (dir.startsWith(runtimeDir)) ensureOwnDir(runtimeDir);
  ensureOwnDir(dir);
  const stem = join(dir, `${prefix}${digest(key, ADDRESS_LENGTH)}`);
  return { control: `${stem}.c`, forwarded: `${stem}.s`, lock: `${stem}.lock`, relay: `${stem}.${process.pid}.p` };
}

/** Control sockets of the instance's masters, and all other sockets of links. @param only limits them to one master */
export function socketsOf(
  instance: Instance,
  only?: string,
): { readonly controls: string[]; readonly others: string[] } {
  const { dir, prefix } = socketNaming(instance);
  const stem = only === undefined ? join(dir, prefix) : only.slice(0, -"c".length);
  const all = namesIn(dir)
    .map((name) => join(dir, name))
    .filter((path) => path.startsWith(stem));
  return { controls: all.filter((path) => path.endsWith(".c")), others: all.filter((path) => /\.[sp]$/.test(path)) };
}

function socketNaming({ runtimeDir, sessionsDir }: Instance): { readonly dir: string; readonly prefix: string } {
  const prefix = digest(sessionsDir, INSTANCE_LENGTH);
  const longest = INSTANCE_LENGTH + ADDRESS_LENGTH + `.${"0".repeat(7)}.p`.length + TEMPORARY_BYTES + 1;
  const dir = join(runtimeDir, "ssh");
  const fits = Buffer.byteLength(dir) + longest <= maxSocketPathBytes;
  return { dir: fits ? dir : `/tmp/wsh-${ownUid()}-ssh`, prefix };
}

function digest(text: string, length: number): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, length);
}
