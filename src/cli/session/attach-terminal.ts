/** Attaches this process's terminal and reports on stderr how it ended: shared by `wsh` and `wsh attach`. */
import { type AttachOptions, attach } from "../../attach/attach.ts";
import { type AttachOutcome, describeOutcome, outcomeExitCode } from "../../attach/outcome.ts";
import { LivePersonSettings, type PersonConfig } from "../../attach/person-settings.ts";
import type { Instance } from "../../instance/paths.ts";
import { type Prefix, parsePrefix } from "../../keys/prefix.ts";
import { agentAt } from "../../platform/agent-above.ts";
import { visible } from "../../protocol/harmless-text.ts";
import { formatPlace, parseTarget } from "../../protocol/names.ts";
import { type LoadedSettings, loadSettings, settingsFault } from "../../settings/settings.ts";
import { broughtNames } from "../../settings/terminal-variable-names.ts";
import { watchConfig } from "../../settings/watch.ts";
import type { Dial } from "../../wire/connection.ts";
import { settingsOf } from "../instance.ts";
import { complain } from "../print.ts";
import { bindingsOf, ignored, prefixOf } from "./bindings.ts";
import { requireTerminal } from "./require-terminal.ts";
import { paneAround } from "./surrounding-session.ts";

interface AttachEnd {
  readonly outcome: AttachOutcome;
  readonly exitCode: number;
}

export async function attachTerminal(
  instance: Instance,
  options: Omit<
    AttachOptions,
    "remoteSession" | "person" | "agent" | "watch" | "titles" | "copies" | "around" | "broughtNames" | "findSocket"
  > & {
    readonly name: string;
    /** The session's number, if known. */
    readonly session: number | null;
    /** The prefix key, if a flag names it. */
    readonly prefixKey?: string | undefined;
    /** The session's machine, and a function that finds a session of it again. */
    readonly remote?: { readonly machine: string; redial(switched: number | null): Promise<Dial> };
  },
): Promise<AttachEnd> {
  const surroundingSocket = await socketAround(process.env);
  const { socket } = options;
  if (surroundingSocket !== null && typeof socket === "string") {
    const { refuseMirror } = await import("../../viewer/switcher/mirrors.ts");
    await refuseMirror(instance, surroundingSocket, { ...options, socket });
  }
  requireTerminal("`wsh screen` prints what a session shows, `wsh output` what it printed, `wsh send` types.");
  const { remote } = options;
  const flags = { prefix_key: options.prefixKey };
  const settings = await settingsOf(instance, flags);
  const { title, clipboard_command } = settings.values;
  const faults = [...settings.warnings];
  const first = await personOf(instance, settings, (fault) => faults.push(fault));
  const { prefix } = first;
  const person = new LivePersonSettings(first, async () => {
    try {
      return await personOf(instance, loadSettings(instance, { flags, env: process.env }));
    } catch (thrown) {
      return { fault: settingsFault(thrown) };
    }
  });
  const { outcome, name, terminalTookAll } = await attach({
    ...options,
    ...(remote === undefined ? {} : { remoteSession: { machine: remote.machine, leaveHint: leaveHint(prefix) } }),
    findSocket: (switched) =>
      remote === undefined ? servedAt(instance, switched ?? options.session) : remote.redial(switched),
    around: surroundingSocket,
    broughtNames: remote === undefined ? broughtNames(settings.values) : null,
    person,
    agent: agentAt(process.pid),
    watch: remote === undefined ? undefined : (changed) => void watchConfig(instance.configFile, changed),
    titles: title === "on",
    copies: clipboard_command === "auto",
  });
  const called = name === null ? options.name : formatPlace({ machine: remote?.machine ?? null, target: name });
  // Printed after the session's screen has gone, where the person can read it.
  if (terminalTookAll) faults.forEach(complain);
  if (terminalTookAll) process.stderr.write(`${visible(describeOutcome(outcome, called))}\n`);
  return { outcome, exitCode: outcomeExitCode(outcome) };
}

/**
 * The person's terminal settings.
 * @param onFault receives errors of keys in the file; these keys then have no effect
 * @throws WshError invalid_setting without it
 */
async function personOf(
  instance: Instance,
  settings: LoadedSettings,
  onFault?: (message: string) => void,
): Promise<PersonConfig> {
  const { mode_keys: modeKeys, repeat_time: repeatMs, colours: colors, underlines } = settings.values;
  const { escape_ms: escapeMs, key_help_ms: keyHelpMs } = settings.values;
  const isFlag = settings.originOf("prefix_key").from === "flag";
  const { prefix: prefixKey, changes: bindings } = await bindingsOf(
    instance,
    settings,
    onFault && ((error) => onFault(ignored(error))),
  );
  const prefix = isFlag || onFault === undefined ? parsePrefix(prefixKey) : prefixOf(prefixKey, onFault);
  return { prefix, modeKeys, repeatMs, escapeMs, keyHelpMs, colors, underlines, bindings };
}

/** Prints how to detach, before anything else is shown. */
function leaveHint(prefix: Prefix | null): string {
  return prefix === null ? "" : ` (${prefix.label} ${prefix.label} detaches)`;
}

/** The socket that now serves a session; null if there is none. */
async function servedAt(instance: Instance, session: number | null): Promise<string | null> {
  const { listSessions } = await import("../../registry/registry.ts");
  const { processState } = await import("../../registry/liveness.ts");
  const registered = listSessions(instance).find((entry) => entry.session === session);
  return registered !== undefined && processState(registered.socket) === "alive" ? registered.socket : null;
}

/** The socket of the session in which this process runs; null outside. */
async function socketAround(env: Readonly<Record<string, string | undefined>>): Promise<string | null> {
  const around = paneAround(env);
  if (around === null) return null;
  const { listProcesses, lookUp } = await import("../../registry/registry.ts");
  return lookUp(listProcesses(around.instance), parseTarget(around.pane))?.socket ?? null;
}
