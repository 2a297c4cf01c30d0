/**
 * A view of another machine's session: a pane whose program is a terminal attached there, which reconnects
 * automatically after the connection was lost. Its keys are the pane's: it has no prefix key of its own.
 */

import { readMachines } from "../../cluster/added-machines.ts";
import { hasFleet } from "../../cluster/fleet/creds-file.ts";
import type { Instance } from "../../instance/paths.ts";
import { selfCommand } from "../../launch/launch.ts";
import { WshError } from "../../protocol/errors.ts";
import type { PaneProgram } from "../../protocol/layout.ts";
import { isMachineName, parsePlace, parseTarget } from "../../protocol/names.ts";

/**
 * The program of the pane; null: the view is of this machine.
 * @throws WshError machine_not_found; session_not_found for an invalid target
 */
export function remoteViewProgram(instance: Instance, { view, ...program }: PaneProgram): PaneProgram | null {
  const { machine, target } = parsePlace(view ?? "");
  if (view == null || machine === null) return null;
  // Only the server knows the fleet's machines: the terminal in the pane asks it.
  const isOfFleet = isMachineName(machine) && hasFleet(instance);
  if (!isOfFleet && !readMachines(instance).some(({ name }) => name === machine)) {
    throw new WshError("machine_not_found", `no machine '${machine}'`);
  }
  parseTarget(target);
  const commandWords = selfCommand(["--socket", instance.httpSocket, "attach", "--prefix", "none", view]);
  return { ...program, command: `exec ${commandWords.map(quoteWord).join(" ")}`, title: program.title ?? view };
}

/** A word that any shell reads literally: neither names nor paths of wsh contain a quote or a backslash. */
function quoteWord(word: string): string {
  if (/['\\]/.test(word)) throw new WshError("invalid_layout", `'${word}' cannot be used in a view's command`);
  return `'${word}'`;
}
