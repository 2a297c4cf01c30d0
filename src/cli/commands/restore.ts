/** `wsh restore`: restores crashed sessions. */
import type { Command } from "commander";
import { defined } from "../../protocol/defined.ts";
import { restoreRules } from "../../protocol/option-rules.ts";
import { requireOptions, UsageError } from "../arguments.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { complain, printJson, printText } from "../print.ts";
import { cliCaller } from "../session/client.ts";

interface RestoreOptions {
  readonly all?: boolean;
  readonly as?: string;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("restore [name]")
    .description(
      "Restore a crashed session with its name, ids, tags and layout. Each pane shows its old screen above a rule and " +
        "a new shell in the same directory below; the command line that was running is at the prompt, Enter runs it. " +
        "Pagers, editors, ssh and agents are restarted (the setting restore_programs adds others). Without a name: the " +
        "only crashed session.",
    )
    .option("-a, --all", "all crashed sessions")
    .option("--as <new>", "under another name")
    .option("--json", "print the sessions as JSON")
    .action(async (name: string | undefined, { all = false, as, json }: RestoreOptions, command: Command) => {
      const instance = instanceOf(command);
      requireOptions(restoreRules, { session: name ?? !all, all, as }, { session: "a name" });
      const { restoreCheckpoints } = await import("../../checkpoints/operations.ts");
      const session = name ?? (all ? undefined : await onlyCrashed(instance));
      const { requireOwnCheckpoint } = await import("../../checkpoints/agent-rights.ts");
      const rights = (await settingsOf(instance)).values;
      requireOwnCheckpoint(instance, rights, cliCaller, "checkpoint.restore", { session });
      const result = await restoreCheckpoints(instance, defined({ session, as }), { env: process.env, starter: "cli" });
      if (json === true) await printJson(result);
      else {
        for (const info of result.restored)
          await printText(`Session '${info.name}' is restored: wsh attach ${info.name}\n`);
        if (result.restored.length === 0 && result.failed.length === 0) await printText("No crashed sessions.\n");
      }
      for (const { session, pane_id, message } of result.left_out)
        complain(`session '${session}' is restored without pane ${pane_id}: ${message}`);
      for (const failure of result.failed) complain(`session '${failure.session}' is not restored: ${failure.message}`);
      if (result.failed.length > 0) process.exitCode = 1;
    });
}

/** @throws UsageError */
async function onlyCrashed(instance: ReturnType<typeof instanceOf>): Promise<string> {
  const { listRestorable } = await import("../../checkpoints/find-crashed.ts");
  const { waitForDyingProcesses } = await import("../../checkpoints/killed-processes.ts");
  await waitForDyingProcesses(instance);
  const crashed = listRestorable(instance);
  const [first] = crashed;
  if (first !== undefined && crashed.length === 1) return `@s${first.number}`;
  if (first === undefined) throw new UsageError("no crashed sessions");
  const names = crashed.map(({ session }) => session.name).join(", ");
  throw new UsageError(`${crashed.length} sessions crashed: ${names}`, "Name one, or give --all.");
}
