/**
 * A view of another machine's session: a pane whose program is a terminal attached there, which is back by itself after
 * the way was lost. Its keys are the pane's: it has no prefix key of its own.
 */

import { hasFleet } from "../../cluster/fleet/creds-file.ts";
import { readMachines } from "../../cluster/remembered.ts";
import type { Instance } from "../../instance/paths.ts";
import { selfCommand } from "../../launch/launch.ts";
import { WshError } from "../../protocol/errors.ts";
import type { PaneProgram } from "../../protocol/layout.ts";
import { isMachineName, parsePlace, parseTarget } from "../../protocol/names.ts";

/**
 * The program of the pane; null when the view is of this machine.
 * @throws WshError machine_not_found, session_not_found for what can be no target
 */
export function remoteView(instance: Instance, { view, ...program }: PaneProgram): PaneProgram | null {
  const { machine, target } = parsePlace(view ?? "");
  if (view == null || machine === null) return null;
  // Who is in a fleet only the server knows: the terminal that the pane runs asks it.
  const isOfFleet = isMachineName(machine) && hasFleet(instance);
  if (!isOfFleet && !readMachines(instance).some(({ name }) => name === machine)) {
    throw new WshError("machine_not_found", `no machine '${machine}'`);
  }
  parseTarget(target);
  const words = selfCommand(["--socket", instance.httpSocket, "attach", "--prefix", "none", view]);
  return { ...program, command: `exec ${words.map(quoted).join(" ")}`, title: program.title ?? view };
}

/** Any shell reads the word as it is: neither names nor paths of ours have a quote or a backslash in them. */
function quoted(word: string): string {
  if (/['\\]/.test(word)) throw new WshError("invalid_layout", `'${word}' cannot be used in a view's command`);
  return `'${word}'`;
}
