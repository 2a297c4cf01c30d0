/** `ask.any`: asks in the session at whose terminal a person acted last. */
import type { CallContext } from "../../operations/call.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { questionOf } from "../../protocol/asking.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Host } from "../hosts/session-host.ts";
import type { Hosts } from "../hosts/session-hosts.ts";

export async function askAny(
  hosts: Hosts,
  input: ParsedInput<"ask.any">,
  context: CallContext,
): Promise<OperationOutput<"ask.any">> {
  const { kind } = questionOf(input);
  if (kind === "secret") {
    throw new WshError("invalid_request", "'secret' needs the 'session' whose program reads it", { field: "kind" });
  }
  const host = await personsHost(hosts, context);
  if (host !== null) {
    context.reached?.(host.info);
    const { access, caller, signal } = context;
    return (await host.request("ask", input, { access, caller, signal })) as OperationOutput<"ask">;
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
export async function personsHost(hosts: Hosts, { signal, caller, access }: CallContext): Promise<Host | null> {
  const attached = (await hosts.list()).filter((info) => info.running && info.attached > 0);
  const people = await Promise.all(
    attached.map(async ({ id }) => {
      try {
        const host = await hosts.find(id);
        const person = (await host.request(
          "ask.person",
          {},
          { access, caller, signal },
        )) as OperationOutput<"ask.person">;
        return { host, ...person };
      } catch {
        // Gone, busy, or of another version: the others are asked.
        return null;
      }
    }),
  );
  const ready = people.filter((each) => each !== null).filter(({ people: count }) => count > 0);
  const [last] = ready.toSorted((a, b) => (a.acted_ms ?? Infinity) - (b.acted_ms ?? Infinity));
  return last?.host ?? null;
}
