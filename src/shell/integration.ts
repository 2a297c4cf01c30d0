/**
 * The shell-integration scripts as data: embedded in the executable, written by the caller into a private directory
 * (0700, files 0600) from which shells read them. The names fix how `plan.ts` refers to them; nothing here does I/O.
 */
import bash from "./scripts/wsh.bash" with { type: "text" };
import fish from "./scripts/wsh.fish" with { type: "text" };
import zsh from "./scripts/wsh.zsh" with { type: "text" };
import zshenv from "./scripts/zshenv.zsh" with { type: "text" };

interface IntegrationFile {
  /** Path below the scripts directory, with `/`. */
  readonly name: string;
  readonly text: string;
}

/** Shells that the integration knows. */
export type IntegratedShell = "bash" | "zsh" | "fish";

export const integratedShells: readonly IntegratedShell[] = ["bash", "zsh", "fish"];

/** Where in the scripts directory each shell finds its script. zsh gets a directory: its ZDOTDIR. */
export const integrationNames = {
  bash: "wsh.bash",
  fish: "wsh.fish",
  zsh: "wsh.zsh",
  zdotdir: "zsh",
} as const;

/** Everything that the scripts directory must hold before a shell is started with integration. */
export function integrationFiles(): readonly IntegrationFile[] {
  return [
    { name: integrationNames.bash, text: bash },
    { name: integrationNames.fish, text: fish },
    { name: integrationNames.zsh, text: zsh },
    { name: `${integrationNames.zdotdir}/.zshenv`, text: zshenv },
  ];
}

/**
 * The script that `wsh shell-integration SHELL` prints, to be sourced at the end of an rc file over ssh or in a
 * container. Its marks carry no nonce and so count as unverified.
 */
export function portableScript(shell: IntegratedShell): string {
  return { bash, fish, zsh }[shell];
}
