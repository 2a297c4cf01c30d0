/**
 * The sessions for a question that names none: where a person is attached; else where a notice of it reaches a person.
 */
import type { CallContext } from "../../operations/call.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { sessionToAsk } from "../../protocol/asking.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import type { SessionProxy } from "../sessions/session-proxy.ts";

export async function askIn(
  proxy: SessionProxy,
  input: ParsedInput<"ask.any">,
  { reached, access, caller, signal }: CallContext,
): Promise<OperationOutput<"ask.any">> {
  reached?.(proxy.info);
  return (await proxy.request("ask", input, { access, caller, signal })) as OperationOutput<"ask">;
}

/** The session at whose terminal a person last acted. Null when no person who could answer is attached anywhere. */
export async function personsSession(proxies: SessionProxies, context: CallContext): Promise<SessionProxy | null> {
  const found = await bestSession(proxies, context, ({ attached }) => attached > 0);
  return found === null || found.people === 0 ? null : found.proxy;
}

/** The session used last of those whose questions a notice takes to a person who is elsewhere; null: there is none. */
export async function noticedSession(proxies: SessionProxies, context: CallContext): Promise<SessionProxy | null> {
  return (await bestSession(proxies, context, () => true))?.proxy ?? null;
}

async function bestSession(
  proxies: SessionProxies,
  { signal, caller, access }: CallContext,
  isCandidate: (info: SessionInfo) => boolean,
) {
  const candidates = (await proxies.list()).filter((info) => info.running && isCandidate(info));
  const people = await Promise.all(
    candidates.map(async ({ id }) => {
      try {
        const proxy = await proxies.find(id);
        const answer = await proxy.request("ask.person", {}, { access, caller, signal });
        return { proxy, ...(answer as OperationOutput<"ask.person">) };
      } catch {
        // Gone, busy, or of another version: the other sessions are asked.
        return null;
      }
    }),
  );
  return sessionToAsk(people.filter((each) => each !== null));
}
