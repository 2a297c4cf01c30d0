/**
 * The paths of an instance's files. Resolving is pure and cheap; it creates and reads nothing. Before any use of the
 * runtime directory, its owner, mode and kind are checked (owned-files.ts). Readers use checkRuntimeDir (absent means:
 * nothing runs), writers prepareRuntimeDir.
 * Sockets are in one directory, so their longest possible path is checked once, when the instance is resolved.
 */

import fs from "node:fs";
import os from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { system } from "../platform/system.ts";
import { WshError } from "../protocol/errors.ts";
import { checkInstanceName, defaultInstanceName } from "../protocol/names.ts";
import { checkOwnDir, ensureOwnDir, ownUid } from "./owned-files.ts";

/** Longest socket path in bytes: sun_path without its final NUL. */
export const maxSocketPathBytes = system.limits.socketPath;
/** Longest id that a socket's path must have room for: nine digits, a session a second for thirty years. */
const longestHostSocket = "999999999.sock";
const httpSuffix = ".http.sock";
/** Replaces the home directory of a user who has none; the dot distinguishes it from instance names. */
const homelessDir = "home.d";

/** One instance's name and paths. Every …Socket is a Unix socket. */
export interface Instance {
  readonly name: string;
  /** Holds the files of all instances of this user; 0700. */
  readonly runtimeDir: string;
  readonly httpSocket: string;
  readonly mcpSocket: string;
  /** What the server publishes about itself (info.ts). */
  readonly infoFile: string;
  /** Guards the registry, and a server's bind. */
  readonly lockFile: string;
  /** Held by the process that is starting a server. */
  readonly startLockFile: string;
  /** Contains the socket ID.sock of every session process. */
  readonly hostsDir: string;
  /** Contains the names and session ids: hard links to the session processes' sockets. */
  readonly namesDir: string;
  /** The next ids and the next automatic name (registry/counters.ts). */
  readonly countersFile: string;
  readonly stateDir: string;
  readonly tokenFile: string;
  readonly serverLog: string;
  /** Written by all session processes of the instance, line by line. */
  readonly hostLog: string;
  readonly configFile: string;
  /** Whether the user named configFile, so that its absence is an error. */
  readonly configNamed: boolean;
}

interface InstanceFlags {
  /** -L, --server-name */
  readonly serverName?: string | undefined;
  /** --socket DIR/NAME.http.sock */
  readonly socket?: string | undefined;
  /** --config */
  readonly config?: string | undefined;
}

export interface InstanceSource {
  readonly flags?: InstanceFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Returns the instance that flags and environment name: --socket, -L, WSH_SOCKET, WSH_SERVER_NAME, then `default`.
 * Throws the usage errors invalid_request and invalid_instance_name (exit 2).
 */
export function resolveInstance({ flags = {}, env }: InstanceSource): Instance {
  const { name, runtimeDir } = place(flags, env);
  const home = homeDir(env) ?? join(runtimeDir, homelessDir);
  const stateDir = join(absolute(env.XDG_STATE_HOME) ?? join(home, ".local/state"), "wsh");
  const namedConfig = flags.config || env.WSH_CONFIG;
  const hostsDir = join(runtimeDir, name);
  const instance: Instance = {
    name,
    runtimeDir,
    httpSocket: join(runtimeDir, `${name}${httpSuffix}`),
    mcpSocket: join(runtimeDir, `${name}.mcp.sock`),
    infoFile: join(runtimeDir, `${name}.json`),
    lockFile: join(runtimeDir, `${name}.lock`),
    startLockFile: join(runtimeDir, `${name}.start.lock`),
    hostsDir,
    namesDir: join(hostsDir, "names"),
    countersFile: join(stateDir, `${name}.counters`),
    stateDir,
    tokenFile: join(stateDir, `${name}.token`),
    serverLog: join(stateDir, `${name}.server.log`),
    hostLog: join(stateDir, `${name}.host.log`),
    configFile: namedConfig
      ? resolve(namedConfig)
      : join(absolute(env.XDG_CONFIG_HOME) ?? join(home, ".config"), "wsh/config.toml"),
    configNamed: Boolean(namedConfig),
  };
  for (const path of [instance.httpSocket, join(hostsDir, longestHostSocket)]) checkSocketPath(path);
  return instance;
}

/** Socket path of the session process with this id. */
export function hostSocket(instance: Instance, id: number): string {
  return join(instance.hostsDir, `${id}.sock`);
}

function place(flags: InstanceFlags, env: InstanceSource["env"]): { name: string; runtimeDir: string } {
  if (flags.socket) {
    const placed = parseSocketPath(flags.socket, "--socket");
    if (flags.serverName && flags.serverName !== placed.name) {
      const message = `--socket names the instance '${placed.name}', -L names '${flags.serverName}'`;
      throw new WshError("invalid_request", message, { hint: "Give one of the two." });
    }
    return placed;
  }
  if (flags.serverName) return { name: checkInstanceName(flags.serverName), runtimeDir: userRuntimeDir(env) };
  if (env.WSH_SOCKET) return parseSocketPath(env.WSH_SOCKET, "WSH_SOCKET");
  return { name: checkInstanceName(env.WSH_SERVER_NAME || defaultInstanceName), runtimeDir: userRuntimeDir(env) };
}

function parseSocketPath(path: string, source: string): { name: string; runtimeDir: string } {
  const whole = resolve(path);
  if (!whole.endsWith(httpSuffix)) {
    throw new WshError("invalid_request", `${source} is '${path}', not of the form DIR/NAME${httpSuffix}`, {
      hint: `Give DIR/NAME${httpSuffix}: runtime directory DIR and instance NAME.`,
    });
  }
  const runtimeDir = dirname(whole);
  const name = whole.slice(runtimeDir.length, -httpSuffix.length).replace(/^\//, "");
  return { name: checkInstanceName(name), runtimeDir };
}

function userRuntimeDir(env: InstanceSource["env"]): string {
  const runtime = absolute(env.XDG_RUNTIME_DIR);
  return runtime === null ? `/tmp/wsh-${ownUid()}` : join(runtime, "wsh");
}

/** Returns null for a relative path, which the XDG specification declares invalid. */
function absolute(path: string | undefined): string | null {
  return path && isAbsolute(path) ? path : null;
}

/** $HOME, else the password database's entry, null when neither is a directory (as in many containers). */
function homeDir(env: InstanceSource["env"]): string | null {
  const home = absolute(env.HOME);
  if (home !== null) return home;
  try {
    const listed = absolute(os.userInfo().homedir);
    return listed !== null && fs.existsSync(listed) ? listed : null;
  } catch {
    return null; // a uid without an entry
  }
}

/** Throws WshError socket_path_too_long when the system cannot bind or connect to the path. */
export function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes <= maxSocketPathBytes) return;
  throw new WshError(
    "socket_path_too_long",
    `the socket path ${path} has ${bytes} bytes; the system allows ${maxSocketPathBytes}`,
  );
}

/** Whether the runtime directory exists. Throws WshError unsafe_path when it is not ours alone. */
export function checkRuntimeDir(instance: Instance): boolean {
  return checkOwnDir(instance.runtimeDir);
}

/** Creates the runtime directory and the registry's directories if they are missing, and checks them. */
export function prepareRuntimeDir(instance: Instance): void {
  for (const path of [instance.runtimeDir, instance.hostsDir, instance.namesDir]) ensureOwnDir(path);
}

/** Creates the state directory if it is missing, and checks it. */
export function prepareStateDir(instance: Instance): void {
  if (instance.stateDir.startsWith(join(instance.runtimeDir, homelessDir))) ensureOwnDir(instance.runtimeDir);
  ensureOwnDir(instance.stateDir);
}

/**
 * Whether the state directory can be used: not if it is another user's (sudo without -H), a file, or cannot be created.
 * @throws WshError unsafe_path when it is ours, but open to others or a symbolic link
 */
export function hasStateDir(instance: Instance): boolean {
  try {
    prepareStateDir(instance);
    return true;
  } catch (thrown) {
    if (WshError.from(thrown).code === "runtime_dir_unusable") return false;
    const stat = fs.lstatSync(instance.stateDir);
    const isOurs = stat.uid === process.getuid?.() && (stat.isDirectory() || stat.isSymbolicLink());
    if (isOurs) throw thrown;
    return false;
  }
}

/**
 * Creates and checks a directory of the state directory for files that no cleaner of the runtime directory may take.
 * Where there is no state directory, it is in the runtime directory after all.
 */
export function prepareKeptDir(instance: Instance, name: "locks"): string {
  const base = hasStateDir(instance) ? instance.stateDir : join(instance.runtimeDir, homelessDir);
  if (base !== instance.stateDir) for (const path of [instance.runtimeDir, base]) ensureOwnDir(path);
  const directory = join(base, name);
  ensureOwnDir(directory);
  return directory;
}
