/** `wsh forget`: deletes what is kept of lost sessions. */
import type { Command } from "commander";
import { UsageError } from "../arguments.ts";
import { confirmed } from "../confirm.ts";
import { instanceOf } from "../instance.ts";
import { complain, printJson, say } from "../print.ts";

interface ForgetOptions {
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("forget [name]")
    .description(
      "Delete what is kept of a session that does not run, its checkpoints with labels too: it can be neither read nor " +
        "restored any more.",
    )
    .option("-a, --all", "every session that does not run")
    .option("-y, --yes", "do not ask")
    .option("--json", "print what was deleted as JSON")
    .action(async (name: string | undefined, { all = false, yes, json }: ForgetOptions, command: Command) => {
      if (all === (name !== undefined)) throw new UsageError("give the name of a session that does not run, or --all");
      const what = name === undefined ? "what is kept of all sessions that do not run" : `what is kept of '${name}'`;
      if (yes !== true && !(await confirmed(`Delete ${what}?`))) return complain("nothing was deleted");
      const { forgetAsked } = await import("../../lost/work.ts");
      const { forgotten } = await forgetAsked(
        instanceOf(command),
        name === undefined ? { all } : { session: name, all },
      );
      if (json === true) return printJson({ forgotten });
      if (forgotten.length === 0) return say("Nothing is kept of sessions that do not run.\n");
      for (const { id, name: called, bytes, labels } of forgotten) {
        const quoted = labels.map((label) => `'${label}'`).join(", ");
        const named = labels.length === 0 ? "" : `, with checkpoint${labels.length === 1 ? "" : "s"} ${quoted}`;
        const size = `${Math.ceil(bytes / 1_024)} KB`;
        await say(`Deleted what was kept of session '${called ?? id}' (${id})${named}: ${size}.\n`);
      }
    });
}
