/** `wsh attach m1/dev`: attaches this terminal to another machine's session, and reconnects after a lost connection. */
import type { AttachOptions } from "../../attach/attach.ts";
import type { Instance } from "../../instance/paths.ts";
import { addressesPane } from "../../operations/routing.ts";
import { isAddress, parseAddress } from "../../protocol/machines.ts";
import { formatPlace, parseTarget, sessionId } from "../../protocol/names.ts";
import { attachTerminal } from "./attach-terminal.ts";
import { SessionClient } from "./client.ts";
import { linkOf } from "./machines.ts";

type Options = Pick<
  AttachOptions,
  "independent" | "follow" | "scrollback" | "altScreen" | "readOnly" | "detachAtEof"
> & {
  readonly prefixKey: string | undefined;
};

/** @returns the exit code */
export async function attachRemote(
  instance: Instance,
  machine: string,
  target: string,
  options: Options,
): Promise<number> {
  parseTarget(target);
  const link = await linkOf(instance, machine);
  const hostName = isAddress(machine) ? parseAddress(machine).host : machine;
  // Reports a missing target before the terminal is changed.
  using session = await SessionClient.open(instance, formatPlace({ machine, target }));
  const { info } = session;
  const id = info === null ? target : info.id.slice(machine.length + 1);
  // A pane is shown alone, by the process that runs it, also after a lost connection.
  const pane = addressesPane(target) ? session.pane : null;
  const { exitCode } = await attachTerminal(instance, {
    ...options,
    name: `${hostName}/${info === null ? target : info.name.slice(machine.length + 1)}`,
    session: null,
    socket: pane === null ? link.dial(target) : link.dial(pane, "pane"),
    remote: {
      machine: hostName,
      redial: async (switched) => {
        if (switched !== null) return link.dial(sessionId(switched));
        return pane === null ? link.dial(id) : link.dial(pane, "pane");
      },
    },
  });
  return exitCode;
}
