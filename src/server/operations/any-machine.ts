/**
 * Operations on any session, over several machines: silence in one of the sessions with a tag, and a question to a
 * person. Each machine decides for its own sessions; a machine without an answer does not affect the decision.
 */
import { addressedAnswer } from "../../cluster/checked-answer.ts";
import type { CallContext } from "../../operations/call.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { parsePlace } from "../../protocol/names.ts";
import { questionOf } from "../../protocol/question.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import { idleAny } from "./any-session.ts";
import { askIn, noticedSession, personsSession } from "./ask-any.ts";
import type { ServerState } from "./server-state.ts";
import type { RemoteMachines } from "./servers.ts";

/**
 * Waits for silence in the first session with one of the tags, on any machine; without tags, in one of this machine's
 * sessions. A machine asked by another one answers only for its own sessions.
 */
export async function idleEverywhere(
  proxies: SessionProxies,
  { machines }: RemoteMachines,
  state: Pick<ServerState, "concealedFrom">,
  input: ParsedInput<"idle.any">,
  context: CallContext,
): Promise<OperationOutput<"idle.any">> {
  const isLocalOnly = input.tag.length === 0 || context.caller.only !== undefined || context.fromMachine === true;
  const others = isLocalOnly ? [] : machines.names;
  const agent = state.concealedFrom(context.caller);
  if (others.length === 0) return idleAny(proxies, input, context, agent);
  const losers = new AbortController();
  const signal = AbortSignal.any([context.signal, losers.signal]);
  const there = others.map(async (name) => {
    const callOptions = { caller: context.caller, access: context.access, signal };
    const answer = await machines.link(name).call("idle.any", idleInputFor(input, name), callOptions);
    return addressedAnswer(name, "idle.any", answer) as OperationOutput<"idle.any">;
  });
  try {
    return await Promise.any([idleAny(proxies, idleInputFor(input, null), { ...context, signal }, agent), ...there]);
  } catch (thrown) {
    if (!(thrown instanceof AggregateError)) throw thrown;
    const errors = thrown.errors.map((error) => WshError.from(error));
    // A timeout of existing sessions is reported before machines without sessions.
    throw errors.find(({ code }) => code === "idle_timeout") ?? errors[0] ?? thrown;
  } finally {
    losers.abort();
  }
}

/** The last silent session, by its name for this machine's callers. @param machine null: this one */
function idleInputFor(input: ParsedInput<"idle.any">, machine: string | null): ParsedInput<"idle.any"> {
  const { last_session, last_generation, ...rest } = input;
  if (last_session === undefined) return rest;
  const place = parsePlace(last_session);
  if (place.machine !== machine) return rest;
  return { ...rest, last_session: place.target, ...defined({ last_generation }) };
}

/**
 * Asks the person at a terminal of this machine; if there is none, a person of a reachable machine; if there is none
 * either, by a notice from this machine.
 */
export async function askEverywhere(
  proxies: SessionProxies,
  remote: RemoteMachines,
  input: ParsedInput<"ask.any">,
  context: CallContext,
): Promise<OperationOutput<"ask.any">> {
  if (questionOf(input).kind === "secret") {
    throw new WshError("invalid_request", "'secret' needs the 'session' whose program reads it", { field: "kind" });
  }
  const person = await personsSession(proxies, context);
  if (person !== null) return askIn(person, input, context);
  const isLocalOnly = context.caller.only !== undefined || context.fromMachine === true;
  const there = isLocalOnly ? null : await askMachine(remote, input, context);
  if (there !== null) return there;
  // The machine that asks has notices of its own.
  const noticed = context.fromMachine === true ? null : await noticedSession(proxies, context);
  if (noticed !== null) return askIn(noticed, input, context);
  if (input.wait_for_person) {
    throw new WshError("invalid_request", "'wait_for_person' needs a 'session' if no terminal is attached", {
      field: "wait_for_person",
      hint: "Name the session that keeps the question.",
    });
  }
  return { session: null, state: "closed", decided_by: "nobody_attached" };
}

/** Null: no reachable machine has a person. */
async function askMachine(
  { machines }: RemoteMachines,
  input: ParsedInput<"ask.any">,
  { caller, access, signal }: CallContext,
): Promise<OperationOutput<"ask.any"> | null> {
  for (const { name } of machines.addedMachines) {
    const link = machines.link(name);
    if (link.state.health !== "healthy") continue;
    try {
      const answer = await link.call("ask.any", { ...input, wait_for_person: false }, { caller, access, signal });
      if (answer.decided_by === "nobody_attached") continue;
      return addressedAnswer(name, "ask.any", answer) as OperationOutput<"ask.any">;
    } catch (thrown) {
      // Only this error proves that the question was not asked there.
      if (WshError.from(thrown).code !== "machine_unreachable") throw thrown;
    }
  }
  return null;
}
