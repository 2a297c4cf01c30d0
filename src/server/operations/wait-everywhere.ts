/**
 * A wait over sessions of several machines: each machine waits for its own, the first decisive answer wins, and the
 * others are cancelled. Named sessions must exist on any of them; with tags, a machine without matching sessions or
 * without an answer does not affect the decision, and a timeout names the latter. A machine asked by another one waits
 * only for its own sessions: two that know each other would otherwise ask each other endlessly.
 */
import { addressedAnswer } from "../../cluster/checked-answer.ts";
import type { CallContext } from "../../operations/call.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { localMachine } from "../../protocol/machines.ts";
import { parsePlace } from "../../protocol/names.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import { waitAny } from "./any-session.ts";
import type { ServerState } from "./server-state.ts";
import type { RemoteMachines } from "./servers.ts";

type Input = ParsedInput<"wait.any">;
type Result = OperationOutput<"wait.any">;

/** The request to one machine; null: this one. */
interface MachineWait {
  readonly machine: string | null;
  readonly input: Input;
}

export async function waitEverywhere(
  proxies: SessionProxies,
  { machines }: RemoteMachines,
  { hostname, concealedFrom }: Pick<ServerState, "hostname" | "concealedFrom">,
  input: Input,
  context: CallContext,
): Promise<Result> {
  const isLocalOnly = context.caller.only !== undefined || context.fromMachine === true;
  const others = isLocalOnly ? [] : machines.names;
  const parts = partsOf(input, [hostname, localMachine], others);
  const foreign = context.fromMachine === true ? parts.find(({ machine }) => machine !== null) : undefined;
  if (foreign !== undefined) {
    throw new WshError("access_denied", `a machine answers only for itself, not for '${foreign.machine}'`);
  }
  const agent = concealedFrom(context.caller);
  const [only] = parts;
  if (parts.length === 1 && only?.machine === null) return waitAny(proxies, only.input, context, agent);
  const losers = new AbortController();
  const race = { ...context, signal: AbortSignal.any([context.signal, losers.signal]) };
  const wait = async ({ machine, input: own }: MachineWait): Promise<Result> => {
    if (machine === null) return waitAny(proxies, own, race, agent);
    const { caller, access, signal } = race;
    const answer = await machines.link(machine).call("wait.any", own, { caller, access, signal });
    return addressedResult(machine, answer);
  };
  try {
    return await firstDecisive(parts.map(wait), input.sessions !== undefined);
  } finally {
    losers.abort();
  }
}

/** The wait of each machine. Without names and tags, only this machine's sessions. */
function partsOf(input: Input, ownSessions: readonly string[], others: readonly string[]): MachineWait[] {
  const { sessions, since, ...rest } = input;
  if (sessions === undefined) {
    const elsewhere = input.tag.length === 0 ? [] : others.map((name) => machineWait(name, rest, since));
    return [{ machine: null, input }, ...elsewhere];
  }
  const byMachine = Map.groupBy(sessions, (place) => {
    const { machine } = parsePlace(place);
    return machine === null || ownSessions.includes(machine) ? null : machine;
  });
  return [...byMachine].map(([machine, places]) =>
    machineWait(machine, { ...rest, sessions: places.map((place) => parsePlace(place).target) }, since),
  );
}

/** A caller gives cursors by the names that sessions have on this machine; each machine gets its own cursors. */
function machineWait(machine: string | null, rest: Omit<Input, "since">, since: Input["since"]): MachineWait {
  if (since === undefined) return { machine, input: rest };
  if (typeof since !== "object") return { machine, input: { ...rest, since } };
  const cursors = Object.entries(since).flatMap(([place, cursor]) => {
    const { machine: named, target } = parsePlace(place);
    return named === machine ? [[target, cursor] as const] : [];
  });
  return { machine, input: { ...rest, since: Object.fromEntries(cursors) } };
}

function addressedResult(machine: string, answer: Result): Result {
  const named = addressedAnswer(machine, "wait.any", answer) as Result;
  if (!("output_cursors" in named) || named.output_cursors === undefined) return named;
  const cursors = Object.entries(named.output_cursors).map(([name, cursor]) => [`${machine}/${name}`, cursor] as const);
  return { ...named, output_cursors: Object.fromEntries(cursors) };
}

/**
 * The first decisive answer, otherwise one timeout with the cursors of all. @param strict whether any error fails the
 * wait
 */
async function firstDecisive(waits: readonly Promise<Result>[], strict: boolean): Promise<Result> {
  const failed = Promise.withResolvers<never>();
  const undecided: Result[] = [];
  const decided = waits.map(async (wait) => {
    let result: Result;
    try {
      result = await wait;
    } catch (thrown) {
      if (strict) failed.reject(thrown);
      throw thrown;
    }
    if (result.decided_by !== "timeout") return result;
    undecided.push(result);
    throw new WshError("idle_timeout", "nothing was decided there");
  });
  try {
    return await Promise.race([Promise.any(decided), failed.promise]);
  } catch (thrown) {
    if (undecided.length === 0) throw thrown instanceof AggregateError ? thrown.errors[0] : thrown;
    if (!(thrown instanceof AggregateError)) throw thrown;
    const [single] = undecided;
    if (waits.length === 1 && single !== undefined) return single;
    const silent = thrown.errors.map((error) => WshError.from(error)).filter(({ code }) => code.startsWith("machine_"));
    const unknown = silent.map(({ message }) => `its sessions are unknown: ${message}`);
    const warnings = [...undecided.flatMap((result) => result.warnings ?? []), ...unknown];
    return {
      session: null,
      decided_by: "timeout",
      output_cursors: Object.assign({}, ...undecided.map(cursorsOf)),
      ...(warnings.length === 0 ? {} : { warnings }),
    };
  }
}

function cursorsOf({ session, output_cursor, output_cursors }: Result): Record<string, number> {
  if (output_cursors !== undefined) return { ...output_cursors };
  return typeof session === "string" && output_cursor !== undefined ? { [session]: output_cursor } : {};
}
