/** What every subcommand starts from: the instance that flags and environment name, and its settings. */
import type { Command } from "commander";
import { type Instance, resolveInstance } from "../instance/paths.ts";
import type { LoadedSettings, SettingSources } from "../instance/settings/settings.ts";
import { WshError } from "../protocol/errors.ts";
import { complain } from "./print.ts";

/** The command line is wrong: exit code 2, and no attempt at anything. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  constructor(
    message: string,
    readonly hint = "",
  ) {
    super(message);
  }
}

/** Flags that every command takes, before or after its name (contract §2.1). */
export interface GlobalFlags {
  readonly serverName?: string;
  readonly socket?: string;
  readonly config?: string;
}

/** @throws UsageError when flags or environment name no possible instance */
export function instanceOf(command: Command): Instance {
  const { serverName, socket, config } = command.optsWithGlobals<GlobalFlags>();
  try {
    return resolveInstance({ flags: { serverName, socket, config }, env: process.env });
  } catch (thrown) {
    if (thrown instanceof WshError) throw new UsageError(thrown.message, thrown.hint);
    throw thrown;
  }
}

/** @throws WshError invalid_setting */
export async function settingsOf(instance: Instance, flags: SettingSources["flags"] = {}): Promise<LoadedSettings> {
  const { loadSettings } = await import("../instance/settings/settings.ts");
  const settings = loadSettings(instance, { flags, env: process.env });
  settings.warnings.forEach(warn);
  return settings;
}

const warned = new Set<string>();

/** Tells the person once, however often and from wherever it is noticed. */
export function warn(message: string): void {
  if (warned.has(message)) return;
  warned.add(message);
  complain(message);
}

/** For options with a number: a whole one, at least `min`. */
export function wholeNumber(min: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value;
    throw new UsageError(`'${text}' is not a whole number of at least ${min}`);
  };
}

/** Collects an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** For durations in seconds, as people say them; in ms. */
export function seconds(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && Number.isFinite(value)) return Math.round(value * 1000);
  throw new UsageError(`'${text}' is not a number of seconds`);
}

/** `NAME=VALUE` of a repeatable option. @throws UsageError */
export function variables(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((text) => {
      const equals = text.indexOf("=");
      if (equals < 1) throw new UsageError(`'${text}' sets no variable`, "Give NAME=VALUE.");
      return [text.slice(0, equals), text.slice(equals + 1)];
    }),
  );
}
