/** The instance that flags and environment name, its settings, and warnings about them. */
import type { Command } from "commander";
import { type Instance, resolveInstance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import type { LoadedSettings, SettingSources } from "../settings/settings.ts";
import { UsageError } from "./arguments.ts";
import { complain } from "./print.ts";

/** Flags that every command takes, before or after its name. */
interface GlobalFlags {
  readonly serverName?: string;
  readonly socket?: string;
  readonly config?: string;
}

/** @throws UsageError when flags or environment name no valid instance */
export function instanceOf(command: Command): Instance {
  const { serverName, socket, config } = command.optsWithGlobals<GlobalFlags>();
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
 * @throws WshError invalid_setting for a flag, and for the file if not `tolerant`
 */
export async function settingsOf(
  instance: Instance,
  flags: SettingSources["flags"] = {},
  tolerant = true,
): Promise<LoadedSettings> {
  const { loadSettings } = await import("../settings/settings.ts");
  const settings = loadSettings(instance, { flags, env: process.env, tolerant });
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
