/**
 * Places a session on any machine with some tags (`place`): asks one machine after another until one accepts it.
 * The next is asked only if the previous one has certainly not started the session; `outcome_unknown` goes to the
 * caller.
 */
import { orUntil } from "../../base/deadline.ts";
import type { Link } from "../../cluster/link.ts";
import type { Machines } from "../../cluster/machines.ts";
import { type Candidate, isSuitable, orderOf, placementOrder } from "../../cluster/placement.ts";
import type { CallContext } from "../../operations/call.ts";
import type { OperationInput, OperationOutput } from "../../operations/table.ts";
import { type ErrorCode, WshError } from "../../protocol/errors.ts";
import { parsePlace } from "../../protocol/names.ts";
import { parse } from "../../protocol/parse.ts";
import type { RequestKey } from "../../protocol/requests.ts";
import { CreateSessionSchema, type PlacementRule } from "../../protocol/session.ts";

/** Wait for added machines to report their load, and for the first suitable one, in ms: includes a login by ssh. */
const SOON_MS = 1_000;
const LONGEST_MS = 14_000;
/** Maximum remembered requests of unknown outcome; the oldest is forgotten first. */
const MAX_UNKNOWN = 256;
/** Maximum machines named in an error. */
const MAX_NAMED = 8;
/** Errors after which another machine may be asked: nothing was started. */
const refusals: ReadonlySet<ErrorCode> = new Set([
  "machine_busy",
  "machine_unreachable",
  "machine_conflict",
  "max_sessions_reached",
  "version_mismatch",
  "access_denied",
]);

type Create = OperationInput<"sessions.create">;
type Created = OperationOutput<"sessions.create">;
/** Starts the session on one machine. */
type CreateOnMachine = (machine: string, input: Create) => Promise<Created>;

/** The place in a call that creates a session; null: none. @throws WshError invalid_request */
export function placeOf(input: unknown): PlacementRule | null {
  if (typeof input !== "object" || input === null || !("place" in input)) return null;
  if (input.place === undefined || input.place === null) return null;
  return parse(CreateSessionSchema.entries.place, input.place, { what: "place" }) ?? null;
}

/** A call with a place names no machine. @throws WshError invalid_request */
export function requireNoMachine(input: unknown, { machine }: Pick<CallContext, "machine">): void {
  const { server, name }: Readonly<Record<string, unknown>> = Object(input);
  const named = machine ?? server ?? (typeof name === "string" ? parsePlace(name).machine : null);
  if (named === null) return;
  throw new WshError("invalid_request", `'place' cannot be used with machine '${named}'`, {
    field: "place",
  });
}

/** Machines that may have started the session of a request, by its key: a repetition goes only to them. */
export class SessionPlacement {
  private readonly possibleMachines = new Map<string, string>();

  constructor(private readonly machines: Machines) {}

  /**
   * @param isOwn whether the caller chose the request's id, and may repeat it at another server
   * @throws WshError machine_not_found when no machine is suitable, machine_busy when none accepts it
   */
  async create(
    { tags }: PlacementRule,
    input: Create,
    { signal }: Pick<CallContext, "signal">,
    { key }: Pick<RequestKey, "key">,
    isOwn: boolean,
    create: CreateOnMachine,
  ): Promise<Created> {
    const previous = this.possibleMachines.get(key);
    const candidates = previous === undefined ? await candidatesOf(this.machines, tags) : [];
    const chosen = isOwn ? orderOf(candidates, tags, key) : placementOrder(candidates, tags, Math.random);
    const order = previous === undefined ? chosen : [previous];
    if (order.length === 0) throw noMachine(candidates, tags, this.machines.fleet?.problem ?? null);
    const failures: string[] = [];
    for (const machine of order) {
      if (signal.aborted) throw new WshError("cancelled", "the caller ended the request");
      try {
        return await create(machine, input);
      } catch (thrown) {
        const error = WshError.from(thrown);
        if (error.code === "outcome_unknown") this.remember(key, machine);
        if (!refusals.has(error.code) || previous !== undefined) throw error;
        failures.push(`${machine}: ${error.message}`);
      }
    }
    throw new WshError("machine_busy", `no machine accepts the session: ${failures.join("; ")}`, {
      hint: "Try again later.",
    });
  }

  private remember(key: string, machine: string): void {
    this.possibleMachines.set(key, machine);
    for (const oldest of this.possibleMachines.keys()) {
      if (this.possibleMachines.size <= MAX_UNKNOWN) break;
      this.possibleMachines.delete(oldest);
    }
  }
}

/**
 * The candidates: members of the fleet by their heartbeats, and added machines, which are asked. Those that
 * answer soon count; if none of them is suitable, those that answer within the time for a first answer.
 */
async function candidatesOf(machines: Machines, tags: readonly string[]): Promise<Candidate[]> {
  const answered = new Map<string, Candidate>();
  const names = machines.addedMachines.map(({ name }) => name);
  const firstSuitable = Promise.withResolvers<void>();
  const requests = names.map(async (name) => {
    const result = await candidate(machines.link(name));
    answered.set(name, result);
    if (isSuitable(result, tags)) firstSuitable.resolve();
  });
  const all = Promise.all(requests);
  await orUntil<unknown>(all, { ms: SOON_MS }, () => null);
  await orUntil<unknown>(Promise.race([firstSuitable.promise, all]), { ms: LONGEST_MS }, () => null);
  await machines.fleet?.ready();
  const ofFleet = machines.ofFleet.flatMap((name) => machines.fleet?.member(name) ?? []);
  return [...names.map((name) => answered.get(name) ?? silent(name)), ...ofFleet];
}

async function candidate(link: Link): Promise<Candidate> {
  const hello = await link.hello().catch(() => null);
  if (hello === null) return { ...silent(link.machine), health: link.state.health };
  const { accept = "named", tags = [], load = 0, sessions = 0 } = hello;
  return { name: link.machine, health: link.state.health, tags, accept, load, sessions };
}

/** A machine without an answer. */
function silent(name: string): Candidate {
  return { name, health: "unreachable", tags: [], accept: "none", load: 0, sessions: 0 };
}

/** @param problem why this server is not connected to its fleet; null: it is, or has none */
function noMachine(candidates: readonly Candidate[], tags: readonly string[], problem: string | null): WshError {
  const description = ["machine", ...tags.map((tag, index) => `${index === 0 ? "with" : "and"} '${tag}'`)].join(" ");
  // The tags of a machine without an answer may be unknown.
  const tagged = candidates.filter(
    ({ health, tags: own }) => health !== "healthy" || tags.every((tag) => own.includes(tag)),
  );
  const busyMachines = tagged.filter((each) => !isSuitable(each, tags));
  if (busyMachines.length === 0 && problem !== null) {
    return new WshError("machine_unreachable", `no ${description} is known: ${problem}`, { hint: "See `wsh doctor`." });
  }
  if (busyMachines.length === 0) {
    return new WshError("machine_not_found", `there is no ${description}`, {
      hint: "`wsh servers` lists the machines; set tags with `wsh fleet invite --tag`, or machine_tags there.",
    });
  }
  const why = busyMachines.slice(0, MAX_NAMED).map(({ name, health, accept }) => {
    if (health !== "healthy") return `${name} is ${health}`;
    return `${name} takes ${accept === "none" ? "none" : "only those that name it"}`;
  });
  return new WshError("machine_busy", `no ${description} accepts the session: ${why.join(", ")}`, {
    hint: 'A machine accepts them with `accept = "placed"` in its settings.',
  });
}
