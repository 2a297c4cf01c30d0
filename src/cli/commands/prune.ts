/** `wsh prune`: ends the unused sessions of agents and programs. */
import type { Command } from "commander";
import { WshError } from "../../protocol/errors.ts";
import { agentOfCaller, isSameOwner, ownerOf } from "../../protocol/owner.ts";
import { duration } from "../arguments.ts";
import { formatAge } from "../history/columns.ts";
import { instanceOf } from "../instance.ts";
import { complain, printJson, printText } from "../print.ts";
import { cliCaller } from "../session/client.ts";
import { endSession } from "../session/end-session.ts";
import { isOrphan, ORPHAN_IDLE_MS } from "../session/orphans.ts";
import { findAll } from "../session/session-list.ts";

interface PruneOptions {
  readonly idle?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("prune")
    .description(
      "End unused sessions that agents and programs created: no terminal or page shows them, nothing " +
        "runs in them, not even in the background, and nothing has happened there for an hour. Sessions that a person " +
        "created stay. 'wsh list --orphans' shows which would end.",
    )
    .option("--idle <duration>", "minimum time without use: 30m, 12h, 7d (default: 1h)")
    .option("-n, --dry-run", "only print what would end")
    .option("--json", "print the sessions as JSON")
    .action(async ({ idle, dryRun = false, json }: PruneOptions, command: Command) => {
      const instance = instanceOf(command);
      const idleMs = idle === undefined ? ORPHAN_IDLE_MS : duration(idle);
      const listed = (await findAll(instance)).flatMap((one) => ("info" in one ? [one.info] : []));
      const isAgent = agentOfCaller(cliCaller) !== null;
      const pruned: { readonly id: string; readonly name: string }[] = [];
      for (const info of listed) {
        const { id, name, idle_ms, owner } = info;
        // An agent cleans up its own sessions.
        const isOthers = isAgent && (owner === undefined || !isSameOwner(owner, ownerOf(cliCaller)));
        if (isOthers || !isOrphan(info, idleMs)) continue;
        try {
          if (!dryRun) await endSession(instance, id);
        } catch (thrown) {
          complain(WshError.from(thrown).message);
          process.exitCode = 1;
          continue;
        }
        pruned.push({ id, name });
        const verb = dryRun ? "would be ended" : "ended";
        const whose = owner === undefined ? "" : `, made by ${owner.name}`;
        const now = Date.now();
        if (json !== true)
          await printText(`Session '${name}' ${verb}: idle since ${formatAge(now - idle_ms, now)}${whose}.\n`);
      }
      if (json === true) return printJson({ dry_run: dryRun, sessions: pruned });
      if (pruned.length === 0) return printText("No sessions to end.\n");
    });
}
