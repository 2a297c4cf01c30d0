/** Commands that take several sessions: one that cannot be served keeps nobody from the others. */
import type { Instance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { SessionClient } from "./session-client.ts";

/** @throws WshError of the first that failed, with the messages of all, when every session had its turn */
export async function forEachSession(
  instance: Instance,
  names: readonly string[],
  act: (session: SessionClient) => Promise<void>,
): Promise<void> {
  const failed: WshError[] = [];
  for (const name of names) {
    try {
      using session = await SessionClient.open(instance, name);
      await act(session);
    } catch (thrown) {
      failed.push(WshError.from(thrown));
    }
  }
  const [first] = failed;
  if (first === undefined) return;
  const messages = failed.map(({ message }) => message).join("\n");
  throw new WshError(first.code, messages, first.details, { cause: first });
}
