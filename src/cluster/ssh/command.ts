/**
 * Command lines of ssh, and the scripts for the other machine's shell. Pure.
 *
 * The person's own ssh configuration applies, except for options that would break a link. User and host were checked
 * when the address was read (protocol/machines.ts) and follow `-l` and `--`, so nothing in an address is an option.
 *
 * The command goes through the login shell there, which may be fish, xonsh or tcsh: it sees one command, `sh -c '…'`,
 * whose text has no quote, backslash, exclamation mark or line break in it. Startup files may print: the answer begins
 * with HELLO.
 */
import type { SshAddress } from "../../protocol/machines.ts";

/** Begins our script's output, after any output of startup files. */
const HELLO = "wsh-link-1";
/** Interval between ssh's own liveness checks, in s, and how many may stay unanswered. */
const ALIVE_S = 5;
const ALIVE_COUNT = 3;
/** Lifetime of a master without connections, in s: a working day, so that a person types a passphrase once. */
const PERSIST_S = 8 * 60 * 60;
/** Longest wait for the other machine to accept, in s. */
const CONNECT_S = 10;

export interface SshProgram {
  /** `ssh` and the person's options, from the setting ssh_command. */
  readonly argv: readonly string[];
}

interface SshRun {
  readonly script: string;
  /** Whether ssh asks no questions. */
  readonly batch: boolean;
}

/** Runs a script there over the master at the control path; the first one starts the master. */
export function runArgs(
  { argv }: SshProgram,
  address: SshAddress,
  control: string,
  { script, batch }: SshRun,
): string[] {
  return [...argv, ...options(batch, control), "-T", ...destination(address), remote(script)];
}

/** Sends the master at the control path a command: `check`, `exit`. */
export function masterArgs(program: SshProgram, address: SshAddress, control: string, action: string): string[] {
  return [...program.argv, "-o", `ControlPath=${control}`, "-O", action, ...destination(address)];
}

/** Makes the master listen at a socket here that leads to one there; `cancel` ends that. */
export function forwardArgs(
  program: SshProgram,
  address: SshAddress,
  control: string,
  action: "forward" | "cancel",
  sockets: { readonly local: string; readonly remote: string },
): string[] {
  const path = ["-o", `ControlPath=${control}`, "-O", action, "-L", `${sockets.local}:${sockets.remote}`];
  return [...program.argv, ...path, ...destination(address)];
}

function options(batch: boolean, control: string): string[] {
  const set = [
    "ControlMaster=auto",
    `ControlPath=${control}`,
    `ControlPersist=${PERSIST_S}`,
    `ServerAliveInterval=${ALIVE_S}`,
    `ServerAliveCountMax=${ALIVE_COUNT}`,
    `ConnectTimeout=${CONNECT_S}`,
    `BatchMode=${batch ? "yes" : "no"}`,
    // The person's forwardings do not belong on every link, and one that fails would end it.
    "ClearAllForwardings=yes",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "StreamLocalBindUnlink=yes",
    "StreamLocalBindMask=0177",
    "LogLevel=ERROR",
  ];
  return set.flatMap((option) => ["-o", option]);
}

function destination({ user, host, port }: SshAddress): string[] {
  return [...(user === null ? [] : ["-l", user]), ...(port === null ? [] : ["-p", String(port)]), "--", host];
}

/** @throws Error for a script that a login shell could read differently */
function remote(script: string): string {
  if (/['\\!\n]/.test(script)) throw new Error(`not every shell passes this on: ${script}`);
  return `sh -c '${script}'`;
}

/** Finds the program there: PATH of a login that runs one command is often short. */
const FIND =
  'for w in "$(command -v wsh 2>/dev/null)" "$HOME/.local/bin/wsh" "$HOME/bin/wsh" /usr/local/bin/wsh ' +
  "/opt/homebrew/bin/wsh /home/linuxbrew/.linuxbrew/bin/wsh; do";

/** Starts a server there if none runs; prints its address. */
export function ensureScript({ instance }: SshAddress): string {
  const name = instance === null ? "" : ` -L ${instance}`;
  return (
    `${FIND} if [ -x "$w" ]; then echo; echo "${HELLO} found $w"; ` +
    `exec "$w" server${name} --ensure --bind none --json; fi; done; ` +
    `echo; echo "${HELLO} missing $(uname -s) $(uname -m)"`
  );
}

/** Copies standard input and output to the server's socket there. */
export function proxyScript({ instance }: SshAddress): string {
  const name = instance === null ? "" : ` ${instance}`;
  return `${FIND} if [ -x "$w" ]; then exec "$w" proxy${name}; fi; done; echo; echo "${HELLO} missing"`;
}

/**
 * Writes standard input as the program there, under a temporary name until its checksum is right and it runs.
 * @param sha256 in hexadecimal
 */
export function installScript(sha256: string): string {
  return (
    'umask 022; d="$HOME/.local/bin"; t="$d/.wsh.$$"; echo; ' +
    `if mkdir -p "$d" && cat >"$t"; then :; else rm -f "$t"; echo "${HELLO} unwritable $d"; exit 1; fi; ` +
    's=$( (sha256sum "$t" || shasum -a 256 "$t" || openssl dgst -sha256 -r "$t") 2>/dev/null ); ' +
    `case "$s" in ${sha256}*) ;; *) rm -f "$t"; echo "${HELLO} damaged"; exit 1;; esac; ` +
    `chmod 755 "$t"; if v=$("$t" --version 2>&1); then mv "$t" "$d/wsh"; echo "${HELLO} installed $d/wsh"; ` +
    `else rm -f "$t"; echo "${HELLO} unfit $v"; exit 1; fi`
  );
}

/** Our script's answer, after the output of startup files; null without one. */
export function parsedHello(
  stdout: string,
): { readonly word: string; readonly rest: string; readonly after: string } | null {
  const lines = stdout.split("\n");
  const index = lines.findIndex((line) => line.startsWith(`${HELLO} `));
  const line = lines[index];
  if (line === undefined) return null;
  const [word = "", ...rest] = line
    .trimEnd()
    .slice(HELLO.length + 1)
    .split(" ");
  return { word, rest: rest.join(" "), after: lines.slice(index + 1).join("\n") };
}
