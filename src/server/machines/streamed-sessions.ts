/** Finds the processes to which streams connect: here by the registry, on another machine by asking over its link. */
import * as v from "valibot";
import { addressedSession } from "../../cluster/machine-prefix.ts";
import type { Machines } from "../../cluster/machines.ts";
import { openRemote } from "../../cluster/remote-connection.ts";
import { requireAllSessions } from "../../operations/rights.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { isAddress } from "../../protocol/machines.ts";
import { parsePlace, parseTarget } from "../../protocol/names.ts";
import { mayRunElsewhere } from "../../protocol/session.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import { CONTEXT } from "../sessions/session-proxy.ts";
import type { StreamedPane, StreamedSession, StreamedSessions } from "../sessions/streamed-session.ts";

const ResolvedSchema = v.object({ pane: v.string() });

export class SessionsEverywhere implements StreamedSessions {
  constructor(
    private readonly proxies: SessionProxies,
    private readonly machines: Machines,
    /** This server's name, which stands for itself. */
    private readonly hostname: string,
  ) {}

  async find(place: string, only?: string): Promise<StreamedSession> {
    const { machine, target } = this.placeOf(place);
    return machine === null ? this.proxies.find(target, only) : this.onMachine(machine, target, only, false);
  }

  async pane(place: string, only?: string): Promise<StreamedPane> {
    const { machine, target } = this.placeOf(place);
    if (machine !== null) return this.onMachine(machine, target, only, true);
    return this.proxies.paneOf(await this.proxies.find(target, only), target);
  }

  private placeOf(place: string): ReturnType<typeof parsePlace> {
    const { machine, target } = parsePlace(place);
    if (machine === null || machine === this.hostname) return { machine: null, target };
    if (isAddress(machine)) throw new WshError("machine_not_found", `no machine '${machine}': add it first`);
    return { machine, target };
  }

  private async onMachine(
    machine: string,
    target: string,
    only: string | undefined,
    wantsPane: boolean,
  ): Promise<StreamedPane> {
    requireAllSessions({ caller: defined({ only }) }, "a stream of another machine");
    parseTarget(target);
    const link = this.machines.link(machine);
    const { connection, hello } = await openRemote(link, link.dial(target));
    try {
      const { info } = hello;
      if (info === undefined) throw new WshError("session_unavailable", `session '${target}' is being started`);
      const named = addressedSession(machine, info);
      const isOneOfMany = info.windows.flatMap(({ panes }) => panes).length > 1;
      const isPart = isOneOfMany || mayRunElsewhere(info);
      if (!isPart || !wantsPane) {
        return { address: link.dial(info.id), info: named, target: info.pane_id, isPart: false };
      }
      const { pane } = v.parse(ResolvedSchema, await connection.request("peer.resolve", {}, { ...CONTEXT, target }));
      return {
        address: link.dial(pane, "pane"),
        info: { ...named, pane_id: `${machine}/${pane}` },
        target: pane,
        isPart: true,
      };
    } finally {
      connection.close();
    }
  }
}
