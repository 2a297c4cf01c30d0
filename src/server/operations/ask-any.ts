/** `ask.any`: asks in the session at whose terminal a person last acted. */
import type { CallContext } from "../../operations/call.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { questionOf } from "../../protocol/question.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import type { SessionProxy } from "../sessions/session-proxy.ts";

export async function askAny(
  proxies: SessionProxies,
  input: ParsedInput<"ask.any">,
  context: CallContext,
): Promise<OperationOutput<"ask.any">> {
  const { kind } = questionOf(input);
  if (kind === "secret") {
    throw new WshError("invalid_request", "'secret' needs the 'session' whose program reads it", { field: "kind" });
  }
  const proxy = await personsSession(proxies, context);
  if (proxy !== null) {
    context.reached?.(proxy.info);
    const { access, caller, signal } = context;
    return (await proxy.request("ask", input, { access, caller, signal })) as OperationOutput<"ask">;
  }
  if (input.wait_for_person) {
    throw new WshError("invalid_request", "'wait_for_person' needs a 'session' if no terminal is attached", {
      field: "wait_for_person",
      hint: "Name the session that keeps the question.",
    });
  }
  return { session: null, state: "closed", decided_by: "nobody_attached" };
}

/** Null when no person who could answer is attached anywhere. */
export async function personsSession(
  proxies: SessionProxies,
  { signal, caller, access }: CallContext,
): Promise<SessionProxy | null> {
  const attached = (await proxies.list()).filter((info) => info.running && info.attached > 0);
  const people = await Promise.all(
    attached.map(async ({ id }) => {
      try {
        const proxy = await proxies.find(id);
        const person = (await proxy.request(
          "ask.person",
          {},
          { access, caller, signal },
        )) as OperationOutput<"ask.person">;
        return { proxy, ...person };
      } catch {
        // Gone, busy, or of another version: the other sessions are asked.
        return null;
      }
    }),
  );
  const ready = people.filter((each) => each !== null).filter(({ people: count }) => count > 0);
  const [last] = ready.toSorted((a, b) => (a.acted_ms ?? Infinity) - (b.acted_ms ?? Infinity));
  return last?.proxy ?? null;
}
