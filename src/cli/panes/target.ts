/** The pane, window or session that a command means; without one, the pane around it. */
import type { Command } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { paneAround } from "../session/around.ts";
import { SessionClient } from "../session/client.ts";

/** @throws UsageError outside any session of the instance */
export function targetOf(command: Command, given: string | undefined): { instance: Instance; target: string } {
  const instance = instanceOf(command);
  if (given !== undefined) return { instance, target: given };
  const around = paneAround(process.env);
  if (around === null || around.instance.httpSocket !== instance.httpSocket) {
    throw new UsageError("this runs in no session: name one", "Such as dev, dev:0, dev:0.1, @w5 or @7.");
  }
  return { instance, target: around.pane };
}

/** Asks the session of a target, and closes the connection behind it. */
export async function atTarget<T>(
  command: Command,
  given: string | undefined,
  act: (session: SessionClient) => Promise<T>,
): Promise<T> {
  const { instance, target } = targetOf(command, given);
  using session = await SessionClient.open(instance, target);
  return await act(session);
}

/** The words of an action that takes an optional target and then so many of its own. @throws UsageError */
export function wordsOf(
  action: string,
  words: readonly string[],
  own: readonly string[] = [],
): { readonly target: string | undefined; readonly rest: readonly string[] } {
  const extra = words.length - own.length;
  if (extra < 0) throw new UsageError(`'${action}' needs ${own.join(" and ")}`);
  if (extra > 1) throw new UsageError(`'${words[1 + own.length]}' is one word too many`);
  return { target: extra === 1 ? words[0] : undefined, rest: words.slice(extra) };
}
