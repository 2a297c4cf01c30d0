/** `wsh forget`: deletes the checkpoints of crashed sessions. */
import type { Command } from "commander";
import { defined } from "../../protocol/defined.ts";
import { forgetRules } from "../../protocol/option-rules.ts";
import { requireOptions } from "../arguments.ts";
import { confirmed } from "../confirm.ts";
import { instanceOf } from "../instance.ts";
import { complain, printJson, printText } from "../print.ts";
import { requirePerson } from "../session/client.ts";

interface ForgetOptions {
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("forget [name]")
    .description(
      "Delete all checkpoints of a session that is not running, labelled ones too. It can then no longer be read " +
        "or restored.",
    )
    .option("-a, --all", "every session that is not running")
    .option("-y, --yes", "do not ask")
    .option("--json", "print what was deleted as JSON")
    .action(async (name: string | undefined, { all = false, yes, json }: ForgetOptions, command: Command) => {
      requireOptions(forgetRules, { session: name, all }, { session: "a name" });
      const instance = instanceOf(command);
      await requirePerson(instance, "wsh forget");
      const what =
        name === undefined ? "the checkpoints of all sessions that are not running" : `the checkpoints of '${name}'`;
      if (yes !== true && !(await confirmed(`Delete ${what}?`))) return complain("nothing was deleted");
      const { forgetSessions } = await import("../../checkpoints/operations.ts");
      const { forgotten } = await forgetSessions(instance, { all, ...defined({ session: name }) });
      if (json === true) return printJson({ forgotten });
      if (forgotten.length === 0) return printText("No checkpoints of sessions that are not running.\n");
      for (const { id, name: called, bytes, labels } of forgotten) {
        const quoted = labels.map((label) => `'${label}'`).join(", ");
        const named = labels.length === 0 ? "" : `, with checkpoint${labels.length === 1 ? "" : "s"} ${quoted}`;
        const size = `${Math.ceil(bytes / 1_024)} KB`;
        await printText(`Deleted the checkpoints of session '${called ?? id}' (${id})${named}: ${size}.\n`);
      }
    });
}
