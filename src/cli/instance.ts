/** The instance that flags and environment name, its settings, and warnings about them. */
import type { Command } from "commander";
import { type Instance, type InstanceFlags, resolveInstance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import type { LoadedSettings, SettingSources } from "../settings/settings.ts";
import { UsageError } from "./arguments.ts";
import { complain } from "./print.ts";

/** @throws UsageError when flags or environment name no valid instance */
export function instanceOf(command: Command): Instance {
  const { serverName, socket, config } = command.optsWithGlobals<InstanceFlags>();
  try {
    return resolveInstance({ flags: { serverName, socket, config }, env: process.env });
  } catch (thrown) {
    if (thrown instanceof WshError) throw new UsageError(thrown.message, thrown.hintAt("cli"));
    throw thrown;
  }
}

/**
 * Reports faults of the file and uses the defaults instead, so that an invalid file never prevents the use of a
 * terminal.
 * @param onFault receives the file's errors instead; null: the first one is thrown
 * @throws WshError invalid_setting for a flag, and for the file if `onFault` is null
 */
export async function settingsOf(
  instance: Instance,
  flags: SettingSources["flags"] = {},
  onFault?: ((error: WshError) => void) | null,
): Promise<LoadedSettings> {
  const { loadSettings } = await import("../settings/settings.ts");
  const settings = loadSettings(instance, {
    flags,
    env: process.env,
    tolerant: onFault === undefined,
    ...(onFault ? { fault: onFault } : {}),
  });
  settings.warnings.forEach(warn);
  return settings;
}

const warned = new Set<string>();

/** Prints a warning once, however often it occurs. */
export function warn(message: string): void {
  if (warned.has(message)) return;
  warned.add(message);
  complain(message);
}
