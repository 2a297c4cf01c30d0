/**
 * Operations on the history of commands: a process per request opens the database, and other machines have their own.
 */
import { addressedAnswer } from "../../cluster/checked-answer.ts";
import { type HistoryPart, historyOfAll } from "../../cluster/history-everywhere.ts";
import { askWorker } from "../../history/start-worker.ts";
import type { HistoryWork } from "../../history/worker.ts";
import type { CallContext } from "../../operations/call.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { parsePlace } from "../../protocol/names.ts";
import type { ServerState } from "./server-state.ts";
import type { RemoteMachines } from "./servers.ts";

type Search = ParsedInput<"history.search">;
type Page = OperationOutput<"history.search">;

/** A request of another machine is answered only with this machine's commands. */
export async function searchHistory(
  state: ServerState,
  { machines }: RemoteMachines,
  input: Search,
  { caller, access, signal, fromMachine }: CallContext,
): Promise<Page> {
  const searchLocally = (partInput: Search): Promise<Page> =>
    askHistory<Page>(state, { do: "search", input: withoutMachine(partInput) }, signal);
  if (!input.all_machines || fromMachine === true) return searchLocally(input);
  await machines.fleet?.ready();
  const remoteParts = machines.names.map(
    (server): HistoryPart => ({
      server,
      async ask(partInput) {
        const link = machines.link(server);
        const { health, error } = link.state;
        // A machine of the fleet that is known to be absent is not waited for: there may be thousands.
        if (machines.fleet?.members.has(server) === true && !mayAnswer.has(health)) {
          throw new WshError("machine_unreachable", error ?? `machine '${server}' is ${health}`);
        }
        const answer = await link.call("history.search", partInput, { caller, access, signal });
        return addressedAnswer(server, "history.search", answer) as Page;
      },
    }),
  );
  return historyOfAll([{ server: state.hostname, ask: searchLocally }, ...remoteParts], input);
}

const mayAnswer: ReadonlySet<string> = new Set(["healthy", "stale", "connecting"]);

export function deleteHistory(
  state: ServerState,
  input: ParsedInput<"history.delete">,
  signal: AbortSignal,
): Promise<OperationOutput<"history.delete">> {
  return askHistory(state, { do: "delete", input: withoutMachine(input) }, signal);
}

/** A session given with this machine's own name. */
function withoutMachine<T extends { readonly session?: string | undefined }>(input: T): T {
  return input.session === undefined ? input : { ...input, session: parsePlace(input.session).target };
}

function askHistory<T>(state: ServerState, request: HistoryWork["request"], signal: AbortSignal): Promise<T> {
  const { places, retention } = state.history;
  return askWorker<T>(places, retention, request, signal);
}
