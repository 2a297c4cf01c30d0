/** Runs a command on several sessions: one failure does not stop the rest. */
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { agentOfCaller, isSameOwner, ownerOf } from "../../protocol/owner.ts";
import { cliCaller, SessionClient } from "./client.ts";

/**
 * An AI agent stops at the first refusal: sessions that are not its own come first.
 * @throws WshError of the first failure, with the messages of all, after every session's turn
 */
export async function forEachSession(
  instance: Instance,
  names: readonly string[],
  act: (name: string) => Promise<void>,
): Promise<void> {
  const isAgent = agentOfCaller(cliCaller) !== null;
  const failed: WshError[] = [];
  for (const name of isAgent && names.length > 1 ? await othersFirst(instance, names) : names) {
    try {
      await act(name);
    } catch (thrown) {
      const error = WshError.from(thrown);
      failed.push(error);
      if (isAgent && error.code === "access_denied") break;
    }
  }
  const [first] = failed;
  if (first === undefined) return;
  const messages = failed.map(({ message }) => message).join("\n");
  throw new WshError(first.code, messages, first.details, { cause: first });
}

async function othersFirst(instance: Instance, names: readonly string[]): Promise<string[]> {
  const own = ownerOf(cliCaller);
  const clients = await Promise.all(
    names.map(async (name) => {
      const session = await SessionClient.open(instance, name).catch(() => null);
      session?.[Symbol.dispose]();
      const owner = session?.info?.owner;
      return { name, isOwn: owner !== undefined && isSameOwner(owner, own) };
    }),
  );
  return clients.toSorted((a, b) => Number(a.isOwn) - Number(b.isOwn)).map(({ name }) => name);
}
