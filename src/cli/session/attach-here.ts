/** Attaches this process's terminal and reports on stderr how it ended: shared by `wsh` and `wsh attach`. */
import { type AttachOptions, attach } from "../../attach/attach.ts";
import { describeOutcome, exitCodeOf, type Outcome } from "../../attach/outcome.ts";
import type { Instance } from "../../instance/paths.ts";
import { parsePrefix } from "../../keys/prefix.ts";
import { visible } from "../../protocol/visible.ts";
import { settingsOf } from "../instance.ts";
import { bindingsOf } from "./bindings.ts";
import { refuseMirror, sessionAround } from "./mirrors.ts";

export interface Ended {
  readonly outcome: Outcome;
  readonly exitCode: number;
}

export async function attachHere(
  instance: Instance,
  options: Omit<
    AttachOptions,
    "prefix" | "bindings" | "modeKeys" | "colors" | "titles" | "copies" | "around" | "again"
  > & {
    readonly name: string;
    /** The session's number, if it is known. */
    readonly session: number | null;
    /** The prefix key, where a flag names it. */
    readonly prefixKey?: string | undefined;
  },
): Promise<Ended> {
  const around = sessionAround(process.env);
  if (around !== null) await refuseMirror(around, options);
  const settings = await settingsOf(instance, { prefix_key: options.prefixKey });
  const { prefix_key, colours: colors, title, clipboard_command } = settings.values;
  const { outcome, name, terminalTakes } = await attach({
    ...options,
    again: (switched) => servedAt(instance, switched ?? options.session),
    around,
    prefix: parsePrefix(prefix_key),
    modeKeys: settings.values.mode_keys,
    bindings: await bindingsOf(settings),
    colors,
    titles: title === "on",
    copies: clipboard_command === "auto",
  });
  if (terminalTakes) process.stderr.write(`${visible(describeOutcome(outcome, name ?? options.name))}\n`);
  return { outcome, exitCode: exitCodeOf(outcome) };
}

/** Where a session is served now; null while it is not. */
async function servedAt(instance: Instance, session: number | null): Promise<string | null> {
  const { listSessions } = await import("../../instance/registry/registry.ts");
  const { processState } = await import("../../instance/registry/liveness.ts");
  const found = listSessions(instance).find((entry) => entry.session === session);
  return found !== undefined && processState(found.socket) === "alive" ? found.socket : null;
}
