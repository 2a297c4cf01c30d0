/** Commands that take several sessions: one failure does not stop the rest. */
import { WshError } from "../../protocol/errors.ts";

/** @throws WshError of the first failure, with the messages of all, after every session's turn */
export async function forEachSession(names: readonly string[], act: (name: string) => Promise<void>): Promise<void> {
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
