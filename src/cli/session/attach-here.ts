/** Attaches this process's terminal and reports on stderr how it ended: shared by `wsh` and `wsh attach`. */
import { type AttachOptions, attach } from "../../attach/attach.ts";
import { describeOutcome, exitCodeOf, type Outcome } from "../../attach/outcome.ts";
import type { Instance } from "../../instance/paths.ts";
import { parsePrefix } from "../../keys/prefix.ts";
import { visible } from "../../protocol/visible.ts";
import { settingsOf } from "../instance.ts";
import { refuseMirror, sessionAround } from "./mirrors.ts";

export interface Ended {
  readonly outcome: Outcome;
  readonly exitCode: number;
}

export async function attachHere(
  instance: Instance,
  options: Omit<AttachOptions, "prefix" | "colors" | "titles" | "copies" | "around"> & { readonly name: string },
): Promise<Ended> {
  const around = sessionAround(process.env);
  if (around !== null) await refuseMirror(around, options);
  const settings = await settingsOf(instance);
  const { prefix_key, colours: colors, title, clipboard_command } = settings.values;
  const { outcome, name, terminalTakes } = await attach({
    ...options,
    around,
    prefix: parsePrefix(prefix_key),
    colors,
    titles: title === "on",
    copies: clipboard_command === "auto",
  });
  if (terminalTakes) process.stderr.write(`${visible(describeOutcome(outcome, name ?? options.name))}\n`);
  return { outcome, exitCode: exitCodeOf(outcome) };
}
