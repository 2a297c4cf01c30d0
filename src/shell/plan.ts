/**
 * Decides how a pane's program is started: which file, under which argv[0], with which arguments and environment, and
 * whether shell integration goes in. Pure: the file system is seen through `findExecutable` only.
 *
 * Without a command the program is the person's shell, a login shell as in tmux. A command that is only a known shell's
 * name or path starts that shell; any other runs as `$SHELL -c` with neither job control nor rc files.
 */
import { basename } from "node:path";
import { WshError } from "../protocol/errors.ts";
import { integrationNames } from "./integration.ts";

/** Shells with known startup; all others run unchanged. */
export type ShellKind = "bash" | "zsh" | "fish" | "other";

export interface BashVersion {
  readonly major: number;
  readonly minor: number;
}

export interface ShellRequest {
  /** A path, or one of `supportedShells` in any case; absent: $SHELL, else the account's shell, else /bin/sh. */
  readonly shell?: string;
  /** Command to run instead of an interactive shell. */
  readonly command?: string;
  /** Setting login_shell. */
  readonly loginShell: boolean;
  /** Setting shell_integration, already combined with WSH_SHELL_INTEGRATION of the caller. */
  readonly integration: boolean;
}

export interface ShellFacts {
  /** The program's environment before the plan's changes; SHELL, ZDOTDIR, ENV and so on are read from it. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute directory that holds `integrationFiles()`. */
  readonly scriptsDir: string;
  /**
   * Absolute path of a file with the secret that this session's marks carry (letters and digits). The script empties
   * it, so no program finds the secret there or in the shell's environment, which keeps its first state in /proc.
   */
  readonly keyFile: string;
  /** The shell that the system's user database names for the person; null when it names none. */
  readonly accountShell: string | null;
  /** Version of the bash at a path; null when unknown. */
  bashVersion(file: string): BashVersion | null;
  /** Absolute path of an executable file for a path or for a name in PATH; null when not found. */
  findExecutable(nameOrPath: string): string | null;
}

export interface ShellPlan {
  readonly ok: true;
  readonly file: string;
  readonly args: readonly string[];
  /** argv[0] if it is not `file`: a login shell's is "-bash". */
  readonly argv0?: string;
  /** Variables to add to the program's environment. */
  readonly set: Readonly<Record<string, string>>;
  /** Variables to remove from it. */
  readonly unset: readonly string[];
  readonly kind: ShellKind;
  readonly login: boolean;
  readonly integration: { readonly active: true } | { readonly active: false; readonly reason: string };
  /** Shown in lists: the shell's path, or the command as given. */
  readonly displayCommand: string;
}

interface ShellFailure {
  readonly ok: false;
  /** unknown_shell or shell_not_found. */
  readonly error: WshError;
}

/** Names that a request may use instead of a path. */
const supportedShells = ["bash", "zsh", "fish", "sh", "pwsh"] as const;

const fallbackShell = "/bin/sh";

/** 4.4, the first with PS0 and @P, as wsh.bash compares it. */
const OLDEST_BASH = 404;

export function planShell(request: ShellRequest, facts: ShellFacts): ShellPlan | ShellFailure {
  const asShell = request.command === undefined ? null : shellOfCommand(request.command);
  const wanted = asShell?.shell ?? request.shell ?? (facts.env.SHELL || facts.accountShell || fallbackShell);
  const isOwn = asShell === null && request.shell === undefined && wanted === facts.env.SHELL;
  const found = resolveShell(wanted, facts, isOwn);
  if (typeof found !== "string") return { ok: false, error: found };
  const kind = shellKind(found);
  if (request.command !== undefined && asShell === null) {
    return {
      ok: true,
      file: found,
      args: ["-c", request.command],
      set: {},
      unset: [],
      kind,
      login: false,
      integration: {
        active: false,
        reason:
          "it was created with a command, which wsh does not integrate; create it with 'shell' to get an integrated shell",
      },
      displayCommand: request.command,
    };
  }
  const login = asShell?.login ?? request.loginShell;
  const refusal = integrationRefusal(kind, found, request, facts);
  const bare = bareShell(found, kind, login);
  if (refusal !== null) return { ...bare, integration: { active: false, reason: refusal } };
  return { ...bare, ...injected(kind, login, facts), integration: { active: true } };
}

/** The kind of shell that a path's last part names; versioned names such as bash-5.2 included. */
export function shellKind(path: string): ShellKind {
  const name = basename(path).replace(/-?[\d.]+$/, "");
  return name === "bash" || name === "zsh" || name === "fish" ? name : "other";
}

/** A command that is only a known shell, with or without -l and -i: which, and whether it asks for a login shell. */
function shellOfCommand(command: string): { shell: string; login: boolean | undefined } | null {
  const [shell, ...flags] = command.trim().split(/[ \t]+/);
  if (shell === undefined || !/^[\w./+-]+$/.test(shell)) return null;
  if (!isSupportedName(basename(shell).replace(/-?[\d.]+$/, ""))) return null;
  if (!flags.every((flag) => /^-(?:l|i|li|il|-login)$/.test(flag))) return null;
  if (flags.some((flag) => flag.includes("l"))) return { shell, login: true };
  return { shell, login: flags.length > 0 ? false : undefined };
}

function isSupportedName(name: string): boolean {
  return supportedShells.some((supported) => supported === name);
}

/**
 * The shell's absolute path, or an error with the reason.
 * @param isOwn it was taken from $SHELL, which the caller may not have had in mind
 */
function resolveShell(wanted: string, facts: ShellFacts, isOwn: boolean): string | WshError {
  const isPath = wanted.includes("/");
  const name = isPath ? wanted : wanted.toLowerCase();
  if (!isPath && wanted !== facts.env.SHELL && !isSupportedName(name.replace(/-?[\d.]+$/, ""))) {
    return new WshError("unknown_shell", `'${wanted}' is not a known shell`, { supported: supportedShells });
  }
  const file = facts.findExecutable(name);
  if (file !== null) return file;
  const reason = isPath ? `${wanted} is not an executable file` : `${name} is not in PATH`;
  if (!isOwn) return new WshError("shell_not_found", reason);
  const hint = "Set SHELL to the path of a shell, or name one (--shell, 'shell').";
  return new WshError("shell_not_found", `the shell of $SHELL: ${reason}`, { hint });
}

function bareShell(file: string, kind: ShellKind, login: boolean): Omit<ShellPlan, "integration"> {
  const name = basename(file);
  const plan = { ok: true, file, args: [], set: {}, unset: [], kind, login, displayCommand: file } as const;
  if (!login) return plan;
  // PowerShell takes no hint from argv[0].
  return name === "pwsh" ? { ...plan, args: ["-Login"] } : { ...plan, argv0: `-${name}` };
}

/** Why the integration cannot be used; null: it can. */
function integrationRefusal(kind: ShellKind, file: string, request: ShellRequest, facts: ShellFacts): string | null {
  if (!request.integration) return "disabled by the shell_integration setting";
  if (kind === "other") return `${basename(file)} has no integration`;
  if (kind !== "bash") return null;
  // Apple's 3.2 reads no ENV as a login shell: our script would not run there, and posix mode would stay.
  const age = oldBash(facts.bashVersion(file));
  if (age !== null) return age;
  if (facts.env.POSIXLY_CORRECT !== undefined) return "POSIXLY_CORRECT is set, so bash starts in posix mode";
  return null;
}

/** Why a bash of this version gets no integration; null: it gets it, or its version is unknown. */
export function oldBash(version: BashVersion | null): string | null {
  if (version === null || version.major * 100 + version.minor >= OLDEST_BASH) return null;
  return `bash ${version.major}.${version.minor} is older than 4.4`;
}

/** The same from our script's message, which any program could print; null: other text. */
export function inactiveReason(words: string): string | null {
  const [, major, minor] = /^bash (\d{1,2})\.(\d{1,2})\S{0,40} is older than 4\.4$/.exec(words) ?? [];
  return major === undefined ? null : oldBash({ major: Number(major), minor: Number(minor) });
}

type Injection = Pick<ShellPlan, "args" | "set" | "unset">;

/**
 * Variables and arguments that make the shell read our script; the script undoes them before the user's files are read.
 */
function injected(kind: ShellKind, login: boolean, facts: ShellFacts): Injection {
  const { env, keyFile, scriptsDir } = facts;
  const set: Record<string, string> = { WSH_SHELL_KEY: keyFile };
  switch (kind) {
    case "zsh": {
      set.ZDOTDIR = `${scriptsDir}/${integrationNames.zdotdir}`;
      if (env.ZDOTDIR !== undefined) set.WSH_SHELL_ZDOTDIR = env.ZDOTDIR;
      return { args: [], set, unset: [] };
    }
    case "fish":
      return {
        args: ["--init-command", `source ${fishQuote(`${scriptsDir}/${integrationNames.fish}`)}`],
        set,
        unset: [],
      };
    default: {
      const script = `${scriptsDir}/${integrationNames.bash}`;
      set.WSH_SHELL_INJECT = "interactive";
      if (!login) return { args: ["--rcfile", script], set, unset: [] };
      // In posix mode an interactive shell reads $ENV, also as a login shell. The script corrects values that
      // bash presets differently in that mode, unless they were inherited.
      const presets = [env.HISTFILE === undefined ? "histfile" : "", env.MAILCHECK === undefined ? "mailcheck" : ""];
      set.WSH_SHELL_INJECT = ["login", ...presets.filter((preset) => preset !== "")].join(" ");
      if (env.ENV !== undefined) set.WSH_SHELL_ENV = env.ENV;
      set.ENV = bashQuote(script);
      return { args: ["--posix"], set, unset: [] };
    }
  }
}

/** bash expands the value of ENV as it does text between double quotes. */
function bashQuote(text: string): string {
  return text.replace(/[$`"\\]/g, "\\$&");
}

function fishQuote(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
