/**
 * The checks of `wsh doctor`, one function per subject. A check changes nothing and reports its finding in one line,
 * with advice if something is wrong.
 */
import fs from "node:fs";
import os from "node:os";
import { basename, dirname } from "node:path";
import { errorCode } from "../../base/errno.ts";
import { type Instance, isStateHomeless, maxSocketPathBytes } from "../../instance/paths.ts";
import { readKept } from "../../launch/login-path.ts";
import { bashVersion } from "../../pane/bash-version.ts";
import { openFileLimit } from "../../platform/own-process.ts";
import { readText } from "../../platform/readable.ts";
import { system as here } from "../../platform/system.ts";
import { WshError } from "../../protocol/errors.ts";
import { plural } from "../../protocol/plural.ts";
import { VERSION } from "../../protocol/version.ts";
import { listSessions } from "../../registry/registry.ts";
import { requireAnswering } from "../../registry/server-client.ts";
import { readServerInfo } from "../../registry/server-info.ts";
import { isServerAlive, serverState } from "../../registry/single-server.ts";
import { devices } from "../../secrets/devices.ts";
import { hasExpired, readTokens, tokensFile } from "../../secrets/named-tokens.ts";
import { loadSettings } from "../../settings/settings.ts";
import { oldBash } from "../../shell/plan.ts";
import { bindingsOf } from "../session/bindings.ts";
import type { Finding } from "./finding.ts";
import { agentHooks } from "./hooks.ts";
import { sessionShells, startupFiles } from "./shells.ts";
import { keychain, noTerminalsAdvice, productVersion, utf8Advice } from "./system-words.ts";

const platform = here.name;

type Check = (instance: Instance) => Finding[] | Promise<Finding[]>;

const ok = (subject: string, text: string): Finding => ({ subject, state: "ok", text });
const note = (subject: string, text: string, advice: string): Finding => ({ subject, state: "note", text, advice });
const problem = (subject: string, text: string, advice: string): Finding => ({ subject, state: "wrong", text, advice });

/** By subject; the subject names a check that failed to run. */
export const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["system", system],
  ["directories", directories],
  ["token", files],
  ["settings", settings],
  ["sockets", sockets],
  ["server", server],
  ["browsers", browsers],
  ["shells", shells],
  ["startup files", startupFiles],
  ["session's shell", sessionShells],
  ["agents' hooks", agentHooks],
  ["terminal", terminal],
  ["inside", nested],
  ["login keychain", () => keychain(platform, process.env)],
  ["login PATH", loginPath],
]);

function system(): Finding[] {
  const limit = openFileLimit();
  const mac = productVersion(readText("/System/Library/CoreServices/SystemVersion.plist") ?? "");
  const findings = [ok("system", `wsh ${VERSION}, ${mac}${os.type()} ${os.release()} ${os.arch()}`)];
  if (!fs.existsSync("/dev/ptmx")) {
    findings.push(problem("system", "/dev/ptmx does not exist", noTerminalsAdvice(platform)));
  }
  if (limit !== null && limit < 1024) {
    findings.push(note("system", `${limit} open files are allowed`, "Raise it with ulimit -n for many sessions."));
  }
  return findings;
}

function directories(instance: Instance): Finding[] {
  const { runtimeDir, stateDir } = instance;
  const findings = [directory("runtime directory", runtimeDir), directory("state directory", stateDir)];
  if (isStateHomeless(instance)) {
    const text = "HOME and XDG_STATE_HOME do not name a directory of yours; state is in the runtime directory";
    findings.push(note("state directory", text, "State there is lost at a reboot: set one of them."));
  }
  if (runtimeDir.startsWith("/tmp/wsh-")) {
    const text = `XDG_RUNTIME_DIR is not set, so ${runtimeDir} is used`;
    findings.push(
      note("runtime directory", text, "Programs that clean /tmp may remove it; session processes then register again."),
    );
  }
  return findings;
}

function directory(subject: string, path: string): Finding {
  const stat = lstat(path);
  if (stat === null) {
    const parent = existingParent(path);
    if (isWritable(parent)) return ok(subject, `${path} does not exist yet`);
    return problem(subject, `${path} cannot be created: ${parent} is not writable`, "Set HOME or the XDG variables.");
  }
  if (stat.isSymbolicLink())
    return problem(subject, `${path} is a symbolic link`, "Replace it by a directory of yours.");
  if (!stat.isDirectory()) return problem(subject, `${path} is not a directory`, "Move it away.");
  if (stat.uid !== process.getuid?.()) {
    return problem(
      subject,
      `${path} belongs to user ${stat.uid}`,
      "Remove it, or set XDG_RUNTIME_DIR to one of yours.",
    );
  }
  if ((stat.mode & 0o077) !== 0) return problem(subject, `${path} is accessible to others`, `chmod 700 ${path}`);
  if (!isWritable(path)) return problem(subject, `${path} is not writable`, `chmod 700 ${path}`);
  return ok(subject, `${path}, yours alone`);
}

function existingParent(path: string): string {
  const parent = dirname(path);
  return parent === path || lstat(parent) !== null ? parent : existingParent(parent);
}

function isWritable(path: string): boolean {
  try {
    fs.accessSync(path, fs.constants.W_OK | fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function files(instance: Instance): Finding[] {
  return [instance.tokenFile, tokensFile(instance), devices.path(instance)].flatMap((path): Finding[] => {
    const stat = lstat(path);
    if (stat === null) return [];
    if (!stat.isFile()) return [problem("token", `${path} is not a file`, "Move it away; wsh creates a new one.")];
    if ((stat.mode & 0o077) !== 0) {
      return [
        problem(
          "token",
          `${path} can be read by others`,
          `Others may know the token: rm ${path}, and restart the server.`,
        ),
      ];
    }
    return [ok("token", `${path}, yours alone`)];
  });
}

async function settings(instance: Instance): Promise<Finding[]> {
  try {
    const loaded = loadSettings(instance, { env: process.env });
    const { warnings } = loaded;
    await bindingsOf(instance, loaded);
    const stat = lstat(instance.configFile);
    const where = stat === null ? `no ${instance.configFile}; all defaults` : instance.configFile;
    return [ok("settings", where), ...warnings.map((text) => note("settings", text, "It has no effect."))];
  } catch (thrown) {
    const error = WshError.from(thrown);
    return [problem("settings", error.message, error.hintAt("cli"))];
  }
}

function sockets(instance: Instance): Finding[] {
  const longest = Buffer.byteLength(instance.httpSocket);
  const findings =
    longest > maxSocketPathBytes - 10
      ? [note("sockets", `paths take ${longest} of ${maxSocketPathBytes} bytes`, "Use a shorter runtime directory.")]
      : [];
  const dead = [instance.httpSocket, instance.mcpSocket].filter((path) => serverState(instance, path) === "dead");
  for (const path of dead) {
    findings.push(note("sockets", `${path} is left from a server that died`, "The next server replaces it."));
  }
  for (const path of [instance.httpSocket, instance.mcpSocket]) {
    if (serverState(instance, path) !== "not_a_socket") continue;
    findings.push(problem("sockets", `${path} is not a socket`, "Move it away; wsh removes only sockets."));
  }
  return findings.length === 0 ? [ok("sockets", "no stale files")] : findings;
}

async function server(instance: Instance): Promise<Finding[]> {
  const info = readServerInfo(instance);
  const isAlive = isServerAlive(instance);
  const sessions = sessionCount(instance);
  if (!isAlive) return [ok("server", `not running; ${sessions}`)];
  try {
    await requireAnswering(instance);
  } catch (thrown) {
    const error = WshError.from(thrown);
    return [problem("server", error.message, error.hintAt("cli"))];
  }
  if (info !== null && info.version !== VERSION) {
    const text = `the server is wsh ${info.version}, this is ${VERSION}; ${sessions}`;
    return [note("server", text, "Restart it (kill it and start it again): sessions keep running.")];
  }
  const where = [instance.httpSocket, ...(info?.addresses ?? [])].join(", ");
  return [ok("server", `process ${info?.pid ?? "unknown"} at ${where}; ${sessions}`)];
}

/** The logged-in browsers, the valid links, and the address of links. */
function browsers(instance: Instance): Finding[] {
  const now = Date.now();
  const links = readTokens(instance).filter((token) => token.share === true && !hasExpired(token, now));
  const writing = links.filter(({ access }) => access !== "observe").length;
  const may = writing === 0 ? "" : ` (${writing} may type)`;
  const findings = [ok("browsers", `logged in: ${devices.read(instance).length}; valid links: ${links.length}${may}`)];
  const { public_url } = loadSettings(instance, { env: process.env, tolerant: true }).values;
  const info = isServerAlive(instance) ? readServerInfo(instance) : null;
  if (public_url !== "" && info !== null && info.public_url !== new URL(public_url).origin) {
    const text = `the running server does not use public_url (${public_url})`;
    findings.push(note("browsers", text, "Restart it (kill it and start it again): sessions keep running."));
  }
  return findings;
}

function sessionCount(instance: Instance): string {
  const count = listSessions(instance).length;
  return plural(count, "session");
}

function shells(): Finding[] {
  const ownShell = process.env.SHELL ?? "";
  const integrated = ["bash", "zsh", "fish"].filter((name) => {
    const path = Bun.which(name);
    return path !== null && (name !== "bash" || oldBash(bashVersion(path)) === null);
  });
  const age = basename(ownShell).startsWith("bash") ? oldBash(bashVersion(ownShell)) : null;
  const findings = [
    ok("shells", `with integration: ${integrated.join(", ") || "none"}; SHELL is ${ownShell || "not set"}`),
  ];
  if (ownShell !== "" && !fs.existsSync(ownShell)) {
    findings.push(problem("shells", `SHELL is ${ownShell}, which does not exist`, "Set it to an existing shell."));
  } else if (age !== null) {
    const advice = "Commands at its prompt end after silence; zsh or a newer bash (--shell) reports exit codes.";
    findings.push(note("shells", `SHELL is ${ownShell}, and ${age}: no integration`, advice));
  } else if (ownShell !== "" && !["bash", "zsh", "fish"].includes(basename(ownShell))) {
    const text = `${basename(ownShell)} has no integration`;
    findings.push(note("shells", text, "Commands there end after silence; --shell bash reports exit codes."));
  }
  return findings;
}

/** A slow or failing login shell leaves agents' sessions without the person's PATH. */
function loginPath(instance: Instance): Finding[] {
  const remembered = readKept(instance);
  if (remembered === null || remembered.path !== null) return [];
  const text = `${remembered.shell} reported no PATH to wsh mcp when a desktop AI host started it`;
  return [note("login PATH", text, "Its startup files take too long or fail: see docs/mcp-tools.md.")];
}

function terminal(): Finding[] {
  const { TERM = "", COLORTERM = "", LANG = "", LC_ALL = "", LC_CTYPE = "" } = process.env;
  if (process.stdout.isTTY !== true) return [ok("terminal", "standard output is not a terminal")];
  const size = `${process.stdout.columns}x${process.stdout.rows}`;
  const findings = [ok("terminal", `TERM=${TERM || "unset"} COLORTERM=${COLORTERM || "unset"}, ${size}`)];
  if (TERM === "" || TERM === "dumb") {
    findings.push(problem("terminal", `TERM is '${TERM}'`, "Set it to your terminal's name, such as xterm-256color."));
  }
  if (!/utf-?8/i.test(LC_ALL || LC_CTYPE || LANG)) {
    findings.push(note("terminal", "the locale is not UTF-8", utf8Advice(platform)));
  }
  return findings;
}

function nested(): Finding[] {
  const { WSH_SESSION = "", TMUX = "", STY = "" } = process.env;
  if (WSH_SESSION !== "") return [ok("inside", `session '${WSH_SESSION}' of wsh`)];
  if (TMUX !== "" || STY !== "") {
    const text = `inside ${TMUX === "" ? "screen" : "tmux"}`;
    return [note("inside", text, "The prefix keys of both must differ: see prefix_key in wsh config.")];
  }
  return [];
}

function lstat(path: string): fs.Stats | null {
  try {
    return fs.lstatSync(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new WshError("invalid_request", `${path} cannot be examined: ${code ?? String(error)}`, {
      hint: "HOME and the XDG variables must name directories that this user can enter.",
    });
  }
}
