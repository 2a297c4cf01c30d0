/**
 * The line that makes a running shell load our integration with a new secret. The line first checks where it runs, and
 * reports by its exit code why it did nothing: in another shell, or as another user, it changes nothing.
 */
import type { IntegratedShell } from "./integration.ts";

interface AdoptFiles {
  readonly script: string;
  /** Holds the secret; the script empties it. */
  readonly key: string;
}

/** Exit codes of a shell that has not loaded the integration. */
export const adoptRefusals = {
  unreadable: 77,
  otherShell: 78,
  loaded: 79,
} as const;

export function adoptCommand(shell: IntegratedShell, { script, key }: AdoptFiles): string {
  const { unreadable, otherShell, loaded } = adoptRefusals;
  const [s, k] = [quoted(script), quoted(key)];
  if (shell === "fish") {
    return [
      `if set -q __wsh_id; fish -c 'exit ${loaded}'`,
      `else if not test -r ${s} -a -s ${k} -a -r ${k}; fish -c 'exit ${unreadable}'`,
      `else; WSH_SHELL_KEY=${k} source ${s}; end`,
    ].join("; ");
  }
  const [version, own] = shell === "bash" ? ["BASH_VERSION", "__wsh_ps"] : ["ZSH_VERSION", "__wsh"];
  return [
    `if [ -z "\${${version}-}" ]; then (exit ${otherShell})`,
    `elif [ -n "\${${own}+set}" ]; then (exit ${loaded})`,
    `elif ! [ -r ${s} ] || ! [ -s ${k} ] || ! [ -r ${k} ]; then (exit ${unreadable})`,
    `else WSH_SHELL_KEY=${k} . ${s}; fi`,
  ].join("; ");
}

/** Quotes paths of the state and runtime directories, for bash, zsh and fish alike. */
function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}
