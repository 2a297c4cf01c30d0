/** The history of other machines. This process asks each machine itself, so that ssh can ask the person. */
import { addressedAnswer } from "../../cluster/checked-answer.ts";
import { historyOfAll } from "../../cluster/history-everywhere.ts";
import type { History } from "../../history/queries.ts";
import { hostname } from "../../instance/hostname.ts";
import type { Instance } from "../../instance/paths.ts";
import type { HistoryDeleteInput, HistoryPage, HistorySearchInput } from "../../operations/history.ts";
import { settingsOf } from "../instance.ts";
import { cliCaller } from "../session/client.ts";
import { fleetMachines } from "../session/machine-list.ts";
import { linkOf, machinesOf } from "../session/machines.ts";
import { nextRequest } from "../session/remote-request.ts";

/** The history of one machine; its answers use names valid for callers here. */
export class RemoteHistory implements Disposable {
  constructor(
    private readonly instance: Instance,
    private readonly machine: string,
  ) {}

  /** @throws WshError machine_not_found, machine_unreachable and errors of the search */
  async search(input: HistorySearchInput): Promise<HistoryPage> {
    const link = await linkOf(this.instance, this.machine);
    const page = await link.call("history.search", input, { caller: cliCaller });
    return addressedAnswer(this.machine, "history.search", page) as HistoryPage;
  }

  /** @throws WshError session_not_found, machine_unreachable */
  async requireSession(session: string): Promise<void> {
    const link = await linkOf(this.instance, this.machine);
    await link.call("session.get", {}, { session, caller: cliCaller });
  }

  async delete(input: HistoryDeleteInput) {
    const link = await linkOf(this.instance, this.machine);
    return link.call("history.delete", input, { caller: cliCaller, request: nextRequest() });
  }

  [Symbol.dispose](): void {}
}

/** Searches this machine, the added machines, and those of the fleet that the server here knows. */
export async function searchEverywhere(
  instance: Instance,
  localHistory: History,
  search: HistorySearchInput,
): Promise<HistoryPage> {
  const machines = await machinesOf(instance);
  const { values } = await settingsOf(instance);
  const added = machines.addedMachines.map(({ name }) => name);
  const members = (await fleetMachines(instance)).map(({ hostname: name }) => name);
  const remoteParts = [...new Set([...added, ...members])].map((server) => ({
    server,
    ask: (own: HistorySearchInput) => new RemoteHistory(instance, server).search(own),
  }));
  const own = {
    server: hostname(values.hostname),
    ask: async (input: HistorySearchInput) => localHistory.search(input),
  };
  // Where a person is present, ssh may ask for a password.
  const asks = process.stdin.isTTY && process.stderr.isTTY;
  return historyOfAll([own, ...remoteParts], search, asks ? Number.POSITIVE_INFINITY : undefined);
}
