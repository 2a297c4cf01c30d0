/** Runs a command on several sessions: one failure does not stop the rest. */
import type { Instance } from "../../instance/paths.ts";
import type { OperationInput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { agentOfCaller } from "../../protocol/owner.ts";
import { cliCaller, SessionClient } from "./client.ts";

/**
 * An AI agent gets every permission before the first session changes. @param input of the operation that `act` calls
 * @throws WshError of the first failure, with the messages of all, after every session's turn
 */
export async function forEachSession<N extends "session.kill" | "session.detach">(
  instance: Instance,
  names: readonly string[],
  { operation, input }: { readonly operation: N; readonly input: OperationInput<N> },
  act: (name: string) => Promise<void>,
): Promise<void> {
  if (agentOfCaller(cliCaller) !== null && names.length > 1) await requireAll(instance, names, operation, input);
  const failed: WshError[] = [];
  for (const name of names) {
    try {
      await act(name);
    } catch (thrown) {
      failed.push(WshError.from(thrown));
    }
  }
  const [first] = failed;
  if (first === undefined) return;
  const messages = failed.map(({ message }) => message).join("\n");
  throw new WshError(first.code, messages, first.details, { cause: first });
}

async function requireAll<N extends "session.kill" | "session.detach">(
  instance: Instance,
  names: readonly string[],
  operation: N,
  input: OperationInput<N>,
): Promise<void> {
  for (const name of names) {
    try {
      using session = await SessionClient.open(instance, name);
      await session.requireAhead(operation, input);
    } catch (thrown) {
      // The call itself reports a missing session.
      if (WshError.from(thrown).code === "access_denied") throw thrown;
    }
  }
}
