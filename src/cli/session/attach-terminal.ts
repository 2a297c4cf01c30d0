/** Attaches this process's terminal and reports on stderr how it ended: shared by `wsh` and `wsh attach`. */
import { type AttachOptions, attach } from "../../attach/attach.ts";
import { type AttachOutcome, describeOutcome, exitCodeOf } from "../../attach/outcome.ts";
import { type Person, PersonHere } from "../../attach/person-settings.ts";
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
    "far" | "person" | "agent" | "watch" | "titles" | "copies" | "around" | "brings" | "again"
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
  const person = new PersonHere(first, async () => {
    try {
      return await personOf(instance, loadSettings(instance, { flags, env: process.env }));
    } catch (thrown) {
      return { fault: settingsFault(thrown) };
    }
  });
  const { outcome, name, terminalTakes } = await attach({
    ...options,
    ...(remote === undefined ? {} : { far: { machine: remote.machine, leave: leaveHint(prefix) } }),
    again: (switched) =>
      remote === undefined ? servedAt(instance, switched ?? options.session) : remote.redial(switched),
    around: surroundingSocket,
    brings: remote === undefined ? broughtNames(settings.values) : null,
    person,
    agent: agentAt(process.pid),
    watch: remote === undefined ? undefined : (changed) => void watchConfig(instance.configFile, changed),
    titles: title === "on",
    copies: clipboard_command === "auto",
  });
  const called = name === null ? options.name : formatPlace({ machine: remote?.machine ?? null, target: name });
  // Printed after the session's screen has gone, where the person can read it.
  if (terminalTakes) faults.forEach(complain);
  if (terminalTakes) process.stderr.write(`${visible(describeOutcome(outcome, called))}\n`);
  return { outcome, exitCode: exitCodeOf(outcome) };
}

/**
 * The person's terminal settings.
 * @param onFault receives errors of keys in the file, which then have no effect
 * @throws WshError invalid_setting without it
 */
async function personOf(
  instance: Instance,
  settings: LoadedSettings,
  onFault?: (message: string) => void,
): Promise<Person> {
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
