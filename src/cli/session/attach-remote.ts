/** `wsh attach m1/dev`: attaches this terminal to another machine's session, and reconnects after a lost connection. */
import type { AttachOptions } from "../../attach/attach.ts";
import type { Instance } from "../../instance/paths.ts";
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
  const { exitCode } = await attachTerminal(instance, {
    ...options,
    name: `${hostName}/${info === null ? target : info.name.slice(machine.length + 1)}`,
    session: null,
    // Like here, a window or pane stands for its session: its own dial would show it alone, and cannot show a pane that
    // another process runs.
    socket: link.dial(id),
    remote: {
      machine: hostName,
      redial: async (switched) => link.dial(switched === null ? id : sessionId(switched)),
    },
  });
  return exitCode;
}
