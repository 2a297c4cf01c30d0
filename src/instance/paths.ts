/**
 * The paths of an instance's files. Resolving creates nothing, and looks only whether the state directory can be this
 * user's. Before any use of the runtime directory, its owner, mode and kind are checked (owned-files.ts). Readers use
 * checkRuntimeDir (absent means: nothing runs), writers prepareRuntimeDir.
 * Sockets are in one directory, so their longest possible path is checked once, when the instance is resolved.
 */

import fs from "node:fs";
import os from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { errorCode } from "../base/errno.ts";
import { platform } from "../platform/platform.ts";
import { system } from "../platform/system.ts";
import { WshError } from "../protocol/errors.ts";
import { checkInstanceName, decodeName, defaultInstanceName, encodeName } from "../protocol/names.ts";
import { checkOwnDir, ensureOwnDir, ownUid } from "./owned-files.ts";

/** Longest socket path in bytes: sun_path without its final NUL. */
export const maxSocketPathBytes = system.limits.socketPath;
/** Longest id that a socket's path must have room for: nine digits, a session a second for thirty years. */
const longestSessionSocket = "999999999.sock";
const httpSuffix = ".http.sock";
/** Replaces the home directory of a user without one; the dot distinguishes it from instance names. */
const homelessDir = "home.d";
/** Ports that sessions of all instances of this machine have leased. */
const portsDir = "ports.d";

/** One instance's name and paths. Every …Socket is a Unix socket. */
export interface Instance {
  readonly name: string;
  /** The name as used in file names: on file systems where `Dev` and `dev` would be one file, capitals are encoded. */
  readonly fileName: string;
  /** Holds the files of all instances of this user; 0700. */
  readonly runtimeDir: string;
  readonly httpSocket: string;
  readonly mcpSocket: string;
  /** Link to the server's published description (server-info.ts). */
  readonly infoFile: string;
  /** Contains the socket ID.sock of every session process. Locked to change the registry, and to bind a server. */
  readonly sessionsDir: string;
  /** Contains the names and session ids: links to the session processes' sockets. Locked to start a server. */
  readonly namesDir: string;
  /** The next ids and the next automatic name (registry/counters.ts). */
  readonly countersFile: string;
  readonly stateDir: string;
  readonly tokenFile: string;
  /** The last lines of the command palette. */
  readonly paletteFile: string;
  /** Which session was made for which request with an id (registry/made-requests.ts). */
  readonly requestsDir: string;
  readonly serverLog: string;
  /** Written by all session processes of the instance, line by line. */
  readonly sessionLog: string;
  readonly configFile: string;
  /** Whether the user named configFile, so that its absence is an error. */
  readonly configNamed: boolean;
}

/** Flags that every command takes, before or after its name. */
export interface InstanceFlags {
  /** -L, --server-name */
  readonly serverName?: string | undefined;
  /** --socket DIR/NAME.http.sock */
  readonly socket?: string | undefined;
  /** --config */
  readonly config?: string | undefined;
}

interface InstanceSource {
  readonly flags?: InstanceFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Returns the instance that flags and environment name: --socket, -L, WSH_SOCKET, WSH_SERVER_NAME, then `default`.
 * Throws the usage errors invalid_request and invalid_instance_name (exit 2).
 */
export function resolveInstance({ flags = {}, env }: InstanceSource): Instance {
  const { name, runtimeDir } = place(flags, env);
  const homeless = join(runtimeDir, homelessDir);
  const home = homeDir(env) ?? homeless;
  const state = join(absolute(env.XDG_STATE_HOME) ?? join(home, ".local/state"), "wsh");
  const stateDir = isOthers(state) ? join(homeless, "state") : state;
  const namedConfig = flags.config || env.WSH_CONFIG;
  const fileName = encodeName(name, platform().foldsFileNames);
  const sessionsDir = join(runtimeDir, fileName);
  const instance: Instance = {
    name,
    fileName,
    runtimeDir,
    httpSocket: join(runtimeDir, `${fileName}${httpSuffix}`),
    mcpSocket: join(runtimeDir, `${fileName}.mcp.sock`),
    infoFile: join(runtimeDir, `${fileName}.json`),
    sessionsDir,
    namesDir: join(sessionsDir, "names"),
    countersFile: join(stateDir, `${fileName}.counters`),
    stateDir,
    tokenFile: join(stateDir, `${fileName}.token`),
    paletteFile: join(stateDir, `${fileName}.palette`),
    requestsDir: join(stateDir, `${fileName}.requests`),
    serverLog: join(stateDir, `${fileName}.server.log`),
    sessionLog: join(stateDir, `${fileName}.session.log`),
    configFile: namedConfig
      ? resolve(namedConfig)
      : join(absolute(env.XDG_CONFIG_HOME) ?? join(home, ".config"), "wsh/config.toml"),
    configNamed: Boolean(namedConfig),
  };
  for (const path of [instance.httpSocket, join(sessionsDir, longestSessionSocket)]) checkSocketPath(path);
  return instance;
}

/** Socket path of the session process with this id. */
export function sessionSocket(instance: Instance, id: number): string {
  return join(instance.sessionsDir, `${id}.sock`);
}

/**
 * Directory and path of the socket at which the session process with this id speaks tmux's protocol, if it does: laid
 * out as tmux does below TMUX_TMPDIR, so that callers without TMUX find it as well.
 */
export function tmuxPlaces(instance: Instance, id: number): { readonly directory: string; readonly socket: string } {
  const directory = join(instance.sessionsDir, `${id}.tmux`);
  return { directory, socket: join(directory, `tmux-${ownUid()}`, "default") };
}

/** Contains the checkpoints of sessions. */
export function checkpointsDir(instance: Instance): string {
  return join(instance.stateDir, `${instance.fileName}.checkpoints`);
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
    throw new WshError("invalid_request", `${source} is '${path}'; expected DIR/NAME${httpSuffix}`, {
      hint: `Give DIR/NAME${httpSuffix}: runtime directory DIR and instance NAME.`,
    });
  }
  const runtimeDir = dirname(whole);
  const fileName = whole.slice(runtimeDir.length, -httpSuffix.length).replace(/^\//, "");
  const name = platform().foldsFileNames ? (decodeName(fileName) ?? fileName) : fileName;
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

/**
 * Whether the path is another user's, or in a directory of theirs (sudo without -H): no file of ours is or can be
 * there. For a missing path the nearest existing directory decides.
 */
function isOthers(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    try {
      if (at === path) return fs.lstatSync(at).uid !== ownUid();
      fs.accessSync(at, fs.constants.W_OK | fs.constants.X_OK);
      return false;
    } catch (error) {
      if (errorCode(error) !== "ENOENT" || dirname(at) === at) return errorCode(error) === "EACCES";
    }
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
  for (const path of [instance.runtimeDir, instance.sessionsDir, instance.namesDir]) ensureOwnDir(path);
}

export function leasedPortsDir({ runtimeDir }: Instance): string {
  return join(runtimeDir, portsDir);
}

/** Whether persistent files are in the runtime directory, since this user has no directory for them. */
export function isStateHomeless({ stateDir, runtimeDir }: Instance): boolean {
  return stateDir.startsWith(`${join(runtimeDir, homelessDir)}/`);
}

/** Creates the state directory if it is missing, and checks it. */
export function prepareStateDir(instance: Instance): void {
  if (isStateHomeless(instance)) ensureOwnDir(instance.runtimeDir);
  ensureOwnDir(instance.stateDir);
}

/**
 * Whether the state directory can be used: false if it is another user's (sudo without -H), is a file, or
 * cannot be created.
 * @throws WshError unsafe_path when it is ours, but open to others or a symbolic link
 */
export function hasStateDir(instance: Instance): boolean {
  try {
    prepareStateDir(instance);
    return true;
  } catch (thrown) {
    if (WshError.from(thrown).code !== "runtime_dir_unusable" && !hasOtherOwner(instance)) throw thrown;
    return false;
  }
}

/** Whether the state directory's path belongs to another user, or is not a directory. */
function hasOtherOwner({ stateDir }: Instance): boolean {
  try {
    const stat = fs.lstatSync(stateDir);
    return stat.uid !== ownUid() || !(stat.isDirectory() || stat.isSymbolicLink());
  } catch (error) {
    return errorCode(error) !== "ENOENT"; // in a directory that is not ours to enter, or below a file
  }
}

/**
 * Runs `fn` in a directory of the state directory, for files that no cleaner of the runtime directory may take. If that
 * fails (another user's, read-only, full) `fn` runs once more in a directory of the runtime directory.
 * @throws the state directory's error, if both fail; unsafe_path at once
 */
export function inKeptDir<T>(instance: Instance, name: KeptDir, fn: (directory: string) => T): T {
  const [directory, instead] = keptDirs(instance, name);
  try {
    prepareStateDir(instance);
    ensureOwnDir(directory);
    return fn(directory);
  } catch (thrown) {
    if (!hasOtherOwner(instance) && WshError.from(thrown).code === "unsafe_path") throw thrown;
    try {
      ensureOwnDir(instance.runtimeDir);
      ensureOwnDir(dirname(instead));
      ensureOwnDir(instead);
      return fn(instead);
    } catch {
      throw thrown;
    }
  }
}

/** The directories of inKeptDir: the usual one, and the fallback. */
export function keptDirs({ stateDir, runtimeDir }: Instance, name: KeptDir): readonly [string, string] {
  return [join(stateDir, name), join(runtimeDir, homelessDir, name)];
}

/**
 * Locks of living processes; published descriptions of servers; scripts of shells; standard inputs that programs will
 * read; secrets that shells will read; paste buffers and pasted images.
 */
type KeptDir = "locks" | "servers" | "shell" | "stdin" | "keys" | "buffers" | "images";
