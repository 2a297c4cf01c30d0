/** Finds shells of sessions and startup files known to interfere with integration. */
import fs from "node:fs";
import os from "node:os";
import { basename, join } from "node:path";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { listSessions } from "../../registry/registry.ts";
import { SessionClient } from "../session/client.ts";
import type { Finding } from "./finding.ts";

/** Longest wait for a session's answer, in ms. */
const ANSWER_MS = 2_000;
/** Limit of sessions asked. */
const MAX_SESSIONS = 50;
/** Maximum bytes read of a startup file. */
const MAX_FILE = 256 * 1024;

interface Obstacle {
  readonly pattern: RegExp;
  readonly description: (found: string) => string;
  readonly advice: string;
}

/** The start of a command in a startup file, where one line shows it. */
const START = String.raw`(?:^|[;&|{]|\bthen\b)\s*`;
const otherPrograms = "zsh|bash|fish|tmux|screen|zellij|nu|xonsh|elvish";

const obstacles: readonly Obstacle[] = [
  {
    pattern: new RegExp(`${START}exec\\s+(?:-l\\s+)?(?:\\S*/)?(${otherPrograms})\\b`, "m"),
    description: (found) => `replaces the shell with ${found}: exec is then refused`,
    advice: "Make that one your shell (chsh, SHELL), or name it: wsh new --shell. See docs/shells.md.",
  },
  {
    pattern: new RegExp(`${START}(?:\\S*/)?(zsh|bash|fish)\\s*(?:;|&&)\\s*exit\\b`, "m"),
    description: (found) => `runs ${found} before its first prompt: exec is then refused`,
    advice: "Make that one your shell (chsh, SHELL), or name it: wsh new --shell. See docs/shells.md.",
  },
  {
    pattern: /\b(?:readonly|declare\s+-\w*r\w*)\s+(?:\S+\s+)*?(PROMPT_COMMAND|PS0|PS1)\b/m,
    description: (found) => `makes ${found} readonly: prompts may lack marks`,
    advice: "Leave it writable; wsh puts its marks around its value.",
  },
  {
    pattern: /(ble\.sh)\b/,
    description: (found) => `loads ${found}, which replaces bash's line editor and output`,
    advice: "docs/shells.md lists what is exact there.",
  },
];

/** The startup files of this person's shells. */
export function startupFiles(): Finding[] {
  const home = process.env.HOME ?? os.homedir();
  const zsh = process.env.ZDOTDIR ?? home;
  const config = process.env.XDG_CONFIG_HOME ?? join(home, ".config");
  const files: Readonly<Record<string, readonly string[]>> = {
    bash: [".bash_profile", ".bash_login", ".profile", ".bashrc"].map((name) => join(home, name)),
    zsh: [".zshenv", ".zprofile", ".zshrc", ".zlogin"].map((name) => join(zsh, name)),
    fish: [join(config, "fish/config.fish")],
  };
  const shell = basename(process.env.SHELL ?? "");
  return (files[shell] ?? []).flatMap((path) => {
    const text = uncommented(path);
    return obstacles.flatMap(({ pattern, description, advice }): Finding[] => {
      const match = pattern.exec(text)?.[1];
      return match === undefined
        ? []
        : [{ subject: "startup files", state: "note", text: `${path} ${description(match)}`, advice }];
    });
  });
}

function uncommented(path: string): string {
  try {
    const stat = fs.statSync(path);
    if (!stat.isFile() || stat.size > MAX_FILE) return "";
    return fs.readFileSync(path, "utf8").replace(/^\s*#.*$/gm, "");
  } catch {
    return ""; // A missing or unreadable file: the shell does not read it either.
  }
}

/** Sessions whose shell should report where commands end, but does not. */
export async function sessionShells(instance: Instance): Promise<Finding[]> {
  const living = listSessions(instance).filter(({ ended }) => !ended);
  const findings = await Promise.all(
    living.slice(0, MAX_SESSIONS).map(({ id, name }) => sessionShell(instance, name ?? `@${id}`)),
  );
  return findings.flat();
}

async function sessionShell(instance: Instance, name: string): Promise<Finding[]> {
  const subject = "session's shell";
  try {
    using session = await SessionClient.open(instance, name);
    const { shell_integration: known, why } = await session.call("status.get", {}, AbortSignal.timeout(ANSWER_MS));
    // A shell without intended integration needs no report.
    const isIntegrable = known.shell !== null || known.reason?.startsWith("the shell has become") === true;
    if (known.active || !isIntegrable) return [];
    const text = `'${name}': exec is refused: ${known.reason ?? "its marks are missing"} (${why})`;
    return [{ subject, state: "note", text, advice: "See docs/shells.md; wsh run works there." }];
  } catch (thrown) {
    const { message } = WshError.from(thrown);
    return [
      {
        subject,
        state: "note",
        text: `'${name}' could not be queried: ${message}`,
        advice: "wsh list shows its state.",
      },
    ];
  }
}
