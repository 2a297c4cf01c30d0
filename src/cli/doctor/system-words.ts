/**
 * Findings of `wsh doctor` that are specific to macOS: pure functions of the platform and the environment, so that they
 * are tested everywhere.
 */
import type { Finding } from "./finding.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The version known to people: from SystemVersion.plist, which names it "ProductVersion". Empty on other systems. */
export function productVersion(systemVersionPlist: string): string {
  const version = /<key>ProductVersion<\/key>\s*<string>([\d.]+)<\/string>/.exec(systemVersionPlist)?.[1];
  return version === undefined ? "" : `macOS ${version}, `;
}

export function utf8Advice(platform: NodeJS.Platform): string {
  return `Set LANG to a UTF-8 locale, such as ${platform === "darwin" ? "en_US.UTF-8" : "C.UTF-8"}.`;
}

export function noTerminalsAdvice(platform: NodeJS.Platform): string {
  return platform === "darwin"
    ? "A sandbox hides it: start wsh outside the sandbox."
    : "Mount devpts: terminals cannot be created without it.";
}

/** Children of ssh belong to no login session of macOS, and so cannot use its keychain: git, gh and others fail. */
export function keychain(platform: NodeJS.Platform, env: Environment): Finding[] {
  if (platform !== "darwin" || (!env.SSH_CONNECTION && !env.SSH_TTY)) return [];
  return [
    {
      subject: "login keychain",
      state: "note",
      text: "locked for this shell and its sessions, because it was started over ssh",
      advice: "security unlock-keychain, or start those sessions from a terminal of the Mac itself.",
    },
  ];
}
