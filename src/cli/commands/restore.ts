/** `wsh restore`: lost sessions run again, as they were. */
import type { Command } from "commander";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { complain, printJson, say } from "../print.ts";

interface RestoreOptions {
  readonly all?: boolean;
  readonly as?: string;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("restore [name]")
    .description(
      "Make a lost session run again: the same name, ids, tags and layout. Each pane shows what was there above a rule, " +
        "and a new shell in the same directory below; the line of what ran stands at its prompt, and Enter runs it. " +
        "Pagers, editors, ssh and agents run again at once (setting restore_programs adds others). Without a name: the " +
        "one that is lost, if it is the only one.",
    )
    .option("-a, --all", "every lost session")
    .option("--as <new>", "under another name")
    .option("--json", "print the sessions as JSON")
    .action(async (name: string | undefined, { all = false, as, json }: RestoreOptions, command: Command) => {
      const instance = instanceOf(command);
      const { restoreAsked } = await import("../../lost/work.ts");
      const session = name ?? (all ? undefined : await onlyLost(instance));
      const done = await restoreAsked(
        instance,
        { ...(session === undefined ? {} : { session }), all, ...(as === undefined ? {} : { as }) },
        { env: process.env, starter: "cli" },
      );
      if (json === true) await printJson(done);
      else {
        for (const info of done.restored) await say(`Session '${info.name}' is restored: wsh attach ${info.name}\n`);
        if (done.restored.length === 0 && done.failed.length === 0) await say("No session is lost.\n");
      }
      for (const { session, pane_id, message } of done.left_out)
        complain(`session '${session}' is restored without its pane ${pane_id}: ${message}`);
      for (const failure of done.failed) complain(`session '${failure.session}' is not restored: ${failure.message}`);
      if (done.failed.length > 0) process.exitCode = 1;
    });
}

/** @throws UsageError */
async function onlyLost(instance: ReturnType<typeof instanceOf>): Promise<string> {
  const { allLost } = await import("../../lost/find.ts");
  const lost = allLost(instance);
  const [first] = lost;
  if (first !== undefined && lost.length === 1) return `@s${first.number}`;
  if (first === undefined) throw new UsageError("no session is lost");
  const names = lost.map(({ session }) => session.name).join(", ");
  throw new UsageError(`${lost.length} sessions are lost: ${names}`, "Name one, or give --all.");
}
