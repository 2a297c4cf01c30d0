/** `wsh clients`: the terminals that are attached to sessions. */
import type { Command } from "commander";
import type { OperationOutput } from "../../operations/table.ts";
import { visibleCell } from "../../protocol/harmless-text.ts";
import { formatAge } from "../history/columns.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson, printText, table } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { findAll, isEnded } from "../session/session-list.ts";

type Client = OperationOutput<"session.clients">[number] & { readonly session: string };

export function register(program: Command): void {
  program
    .command("clients [name]")
    .description(
      "Show the terminals that are attached to a session (default: to all). `wsh detach NAME --client ID` disconnects one.",
    )
    .option("--json", "print all details as JSON")
    .action(async (name: string | undefined, { json }: { readonly json?: boolean }, command: Command) => {
      const instance = instanceOf(command);
      const living = name === undefined ? (await findAll(instance)).filter((one) => !isEnded(one)) : [];
      const names = name === undefined ? living.flatMap((one) => ("info" in one ? [one.info.name] : [])) : [name];
      const clients: Client[] = [];
      for (const each of names) {
        try {
          using session = await SessionClient.open(instance, each);
          const own = await session.call("session.clients", {});
          clients.push(...own.map((client) => ({ session: session.name, ...client })));
        } catch (thrown) {
          // While all sessions are listed, one may end.
          if (name !== undefined) throw thrown;
        }
      }
      if (json === true) return printJson(clients);
      if (clients.length === 0) return printText("No terminals are attached.\n");
      return print(table([["SESSION", "ID", "TERMINAL", "SIZE", "SINCE", "LAST KEY", ""], ...clients.map(rowOf)]));
    });
}

function rowOf({ session, client, terminal, page, rows, cols, since, last_key, used, read_only }: Client): string[] {
  const now = Date.now();
  const place = page === null ? (terminal ?? "elsewhere") : `page ${page}`;
  const marks = [...(used ? ["used last"] : []), ...(read_only ? ["read-only"] : [])].join(", ");
  return [
    ...[visibleCell(session), String(client), visibleCell(place), `${cols}x${rows}`, formatAge(since, now)],
    ...[formatAge(last_key, now), marks],
  ];
}
