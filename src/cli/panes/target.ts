/** Resolves the pane, window or session of a command; without one, the pane around the command. */
import type { Command } from "commander";
import type { Instance } from "../../instance/paths.ts";
import type { OperationInput, OperationNameOf } from "../../operations/table.ts";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { SessionClient } from "../session/client.ts";
import { paneAround } from "../session/surrounding-session.ts";
import { splitAtDashes } from "../shell-words.ts";
import { printResult } from "./output.ts";

/** @throws UsageError outside any session of the instance */
function targetOf(command: Command, given: string | undefined): { instance: Instance; target: string } {
  const instance = instanceOf(command);
  if (given !== undefined) return { instance, target: given };
  const around = paneAround(process.env);
  if (around === null || around.instance.httpSocket !== instance.httpSocket) {
    throw new UsageError("not inside a session: name one", "Such as dev, dev:0, dev:0.1, @w5 or @7.");
  }
  return { instance, target: around.pane };
}

/**
 * Calls the session of a target, and closes the connection afterwards.
 * @param isWhole see SessionClient.open
 */
export async function atTarget<T>(
  command: Command,
  given: string | undefined,
  act: (session: SessionClient) => Promise<T>,
  isWhole = false,
): Promise<T> {
  const { instance, target } = targetOf(command, given);
  using session = await SessionClient.open(instance, target, {}, isWhole);
  return await act(session);
}

/** The words of an action with an optional target and the named further words. @throws UsageError */
export function wordsOf(
  action: string,
  words: readonly string[],
  own: readonly string[] = [],
): { readonly target: string | undefined; readonly rest: readonly string[] } {
  const extra = words.length - own.length;
  if (extra < 0) throw new UsageError(`'${action}' needs ${own.join(" and ")}`);
  if (extra > 1) throw new UsageError(`unexpected argument '${words[1 + own.length]}'`);
  return { target: extra === 1 ? words[0] : undefined, rest: words.slice(extra) };
}

/** The parameters of an action of `wsh pane` or `wsh window`. */
export interface ParsedArguments<O> {
  readonly words: readonly string[];
  /** The command after `--`; null without one. */
  readonly after: readonly string[] | null;
  readonly options: O;
  withSession<T>(target: string | undefined, call: (session: SessionClient) => Promise<T>): Promise<T>;
  /** Calls an operation whose answer has no new data: it is printed only as JSON. */
  change: ChangeCall;
}

type ChangeCall = <N extends OperationNameOf<"layout">>(
  target: string | undefined,
  operation: N,
  input: OperationInput<N>,
) => Promise<void>;

/** @param json whether the answer is printed */
export function changeCall(
  withSession: ParsedArguments<unknown>["withSession"],
  json: boolean | undefined,
): ChangeCall {
  return async (target, operation, input) =>
    printResult(await withSession(target, (session) => session.call(operation, input)), json);
}

/**
 * The handler of a subcommand whose first word is an action, `list` by default.
 * @param starts the one action that takes a command after `--`
 */
export function paneAction<A extends string, O extends { readonly json?: boolean }>(
  starts: A,
  act: (action: A | "list", given: ParsedArguments<O>) => Promise<void>,
): (action: A | undefined, all: string[], options: O, command: Command) => Promise<void> {
  return (action, all, options, command) => {
    const { before: words, after } = splitAtDashes(all, process.argv);
    if (after !== null && action !== starts) throw new UsageError(`only ${starts} accepts a command`);
    const withSession: ParsedArguments<O>["withSession"] = (target, call) => atTarget(command, target, call, true);
    return act(action ?? "list", { words, after, options, withSession, change: changeCall(withSession, options.json) });
  };
}
