/** Waits over several sessions: asks every candidate, returns the first answer that decides, and cancels the rest. */
import type { CallContext } from "../../operations/call.ts";
import type { OperationInput, OperationOutput, ParsedInput } from "../../operations/table.ts";
import { isConcealed } from "../../protocol/concealed.ts";
import { splitConditions } from "../../protocol/conditions.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Owner } from "../../protocol/owner.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import type { RequestContext } from "../../wire/connection.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import type { SessionProxy } from "../sessions/session-proxy.ts";

/** Waits until one session is silent. Candidates are fixed when the request starts (docs/protocol.md, Silence). */
export async function idleAny(
  proxies: SessionProxies,
  input: ParsedInput<"idle.any">,
  context: CallContext,
  agent: Owner | null,
): Promise<OperationOutput<"idle.any">> {
  const { last_session, last_generation, tag, ...idle } = input;
  const candidates = runningWithTag(await proxies.listCurrent(), tag, agent);
  return firstOf(candidates, context, async ({ proxy: session }, race) => {
    const own = last_session === session.info.name && last_generation !== undefined ? { last_generation } : {};
    const result = (await proxies.request(
      session,
      "idle.await",
      { ...idle, ...own },
      race,
    )) as OperationOutput<"idle.await">;
    return { ...result, session: session.info.name };
  });
}

export async function waitAny(
  proxies: SessionProxies,
  input: ParsedInput<"wait.any">,
  context: CallContext,
  agent: Owner | null,
): Promise<OperationOutput<"wait.any">> {
  const { sessions, tag, since, ...wait } = input;
  const named =
    sessions === undefined
      ? null
      : await Promise.all(sessions.map(async (target) => ({ proxy: await proxies.find(target), target })));
  const candidates = named ?? runningWithTag(await proxies.listCurrent(), tag, agent);
  const cursors = new Map<string, number>();
  const warnings: string[] = [];
  const first = await firstOf(
    candidates,
    context,
    async ({ proxy: session, target }, race) => {
      const { target: pane_id, isPart: isOfMany } = await proxies.paneOf(session, target);
      const { name, id } = session.info;
      const own = typeof since === "object" ? sinceOf(since, [target, pane_id, name, id]) : since;
      const from = defined({ since: own });
      const result = await waitIn(proxies, session, { ...wait, ...from }, { ...race, target: pane_id });
      const place = isOfMany ? (target ?? name) : name;
      if (result.output_cursor !== undefined) cursors.set(place, result.output_cursor);
      if (result.decided_by === "timeout") warnings.push(...(result.warnings ?? []).map((text) => `${place}: ${text}`));
      return { ...result, session: name, ...(isOfMany ? { pane: pane_id } : {}) };
    },
    (result) => result.decided_by !== "timeout",
  );
  if (first.decided_by !== "timeout" || candidates.length === 1) return first;
  return {
    session: null,
    decided_by: "timeout",
    output_cursors: Object.fromEntries(cursors),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

/** The cursor given for a session, under any of the names that address it. */
function sinceOf(given: Readonly<Record<string, number>>, names: readonly (string | undefined)[]): number | undefined {
  const cursors = new Map(Object.entries(given));
  return names
    .map((name) => (name === undefined ? undefined : cursors.get(name)))
    .find((cursor) => cursor !== undefined);
}

/** A question belongs to one session: the others wait for the other conditions. */
async function waitIn(
  proxies: SessionProxies,
  proxy: SessionProxy,
  input: OperationInput<"wait">,
  race: RequestContext,
): Promise<OperationOutput<"wait">> {
  try {
    return (await proxies.request(proxy, "wait", input, race)) as OperationOutput<"wait">;
  } catch (thrown) {
    const { program } = splitConditions(input.any_of);
    if (WshError.from(thrown).code !== "question_not_found" || program.length === 0) throw thrown;
    return (await proxies.request(proxy, "wait", { ...input, any_of: [...program] }, race)) as OperationOutput<"wait">;
  }
}

/** A session to ask, and the target that named it, if any. */
interface Candidate {
  readonly proxy: SessionProxy;
  readonly target?: string;
}

/** @param agent for an AI agent: excludes private sessions that it does not name */
function runningWithTag(
  proxies: readonly SessionProxy[],
  tags: readonly string[],
  agent: Owner | null,
): readonly Candidate[] {
  const matching = proxies.filter(
    ({ info }) => info.running && !isConcealed(info, agent) && (tags.length === 0 || hasTag(info, tags)),
  );
  if (matching.length > 0) return matching.map((proxy) => ({ proxy }));
  throw new WshError(
    "no_sessions",
    tags.length === 0 ? "there are no sessions" : `no session has a tag of: ${tags.join(", ")}`,
  );
}

/** Asks all candidates. When no answer decides, the first answer counts; when all fail, the first error. */
async function firstOf<T>(
  candidates: readonly Candidate[],
  context: CallContext,
  ask: (candidate: Candidate, context: Pick<CallContext, "access" | "caller" | "signal">) => Promise<T>,
  decides: (result: T) => boolean = () => true,
): Promise<T> {
  const losers = new AbortController();
  const signal = AbortSignal.any([context.signal, losers.signal]);
  const undecided: T[] = [];
  try {
    return await Promise.any(
      candidates.map(async (candidate) => {
        const result = await ask(candidate, { ...contextOf(context), signal });
        if (decides(result)) return result;
        undecided.push(result);
        throw new WshError("idle_timeout", `session '${candidate.proxy.info.name}' decided nothing`);
      }),
    );
  } catch (thrown) {
    const [first] = undecided;
    if (first !== undefined) return first;
    throw thrown instanceof AggregateError ? thrown.errors[0] : thrown;
  } finally {
    losers.abort();
  }
}

export function hasTag(info: SessionInfo, tags: readonly string[]): boolean {
  return tags.some((tag) => info.tags.includes(tag));
}

function contextOf({ access, caller, signal }: CallContext): Pick<CallContext, "access" | "caller" | "signal"> {
  return { access, caller, signal };
}
