/** `wsh agents`: the AI agents in all sessions, those that need a person first; live on a terminal. */
import type { Command } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { agentWords } from "../../protocol/agent.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseTarget } from "../../protocol/names.ts";
import { findSession } from "../../registry/registry.ts";
import { watchAgents } from "../agents/live.ts";
import { type AgentRow, age, agentRows, conversationWords, reason, shortPath } from "../agents/rows.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { print, printJson, printText, shorten, table } from "../print.ts";
import { requirePerson, SessionClient } from "../session/client.ts";
import { findAll } from "../session/session-list.ts";

/** Cells of a conversation's title and age. */
const TITLE_CELLS = 40;

interface AgentsOptions {
  readonly allow?: string;
  readonly forget?: string;
  readonly allowed?: boolean;
  readonly json?: boolean;
  readonly once?: boolean;
}

export function register(program: Command): void {
  program
    .command("agents")
    .description(
      "Show the AI agents in sessions and their panes, those that need you first. On a terminal the view is " +
        "live: arrows select, Enter attaches to an agent's pane, q quits. A question mark means that the agent is " +
        "idle and only its hooks can tell why (wsh setup HOST --hooks). The setting agent_alert rings a bell.",
    )
    .option("--once", "print them once, even on a terminal")
    .option("--json", "print them as JSON")
    .option("--allow <name>", "let an agent change what it did not create, without asking you (with agents_may = own)")
    .option("--forget <name>", "revoke that permission")
    .option("--allowed", "list the agents with that permission")
    .action(async ({ json, once, ...leave }: AgentsOptions, command: Command) => {
      const instance = instanceOf(command);
      if (Object.keys(leave).length > 0) return changeAllowed(instance, leave, json === true);
      if (json === true) return printJson((await find(instance)).map(({ agent, ...at }) => ({ ...at, ...agent })));
      if (once !== true && process.stdout.isTTY && process.stdin.isTTY) return live(instance);
      const rows = await find(instance);
      if (rows.length === 0) return printText("No agents are running.\n");
      return print(
        table([["STATE", "SINCE", "AGENT", "SESSION", "DIRECTORY", "CONVERSATION", "WHY"], ...rows.map(cellsOf)]),
      );
    });
}

/** Allows an agent to act on others' sessions without asking the person. */
async function changeAllowed(
  instance: Instance,
  { allow, forget }: Pick<AgentsOptions, "allow" | "forget" | "allowed">,
  json: boolean,
): Promise<void> {
  const { allowAgent, allowedAgents, forgetAgent } = await import("../../secrets/allowed-agents.ts");
  if (forget !== undefined) await requirePerson(instance, "wsh agents --forget");
  if (allow !== undefined) await requirePerson(instance, "wsh agents --allow");
  if (forget !== undefined) {
    await forgetAgent(instance, forget);
    // Sessions end what the agent has open there.
    const { effectiveSettings } = await import("../session/effective-settings.ts");
    await effectiveSettings(instance, true);
  }
  if (allow !== undefined) await allowAgent(instance, allow);
  const allowed = allowedAgents.read(instance);
  if (json) return printJson(allowed);
  if (allowed.length === 0) return printText("No agent may change what it did not create.\n");
  const day = (since: number) => new Date(since).toISOString().slice(0, 10);
  return print(table([["AGENT", "SINCE"], ...allowed.map(({ name, since }) => [name, day(since)])]));
}

async function find(instance: Instance): Promise<AgentRow[]> {
  const listed = await findAll(instance);
  return agentRows(listed.flatMap((one) => ("info" in one ? [one.info] : [])));
}

function cellsOf({ target, cwd, agent }: AgentRow): string[] {
  const now = Date.now();
  const where = shortPath(cwd, process.env.HOME);
  const title = shorten(conversationWords(agent, now) || "-", TITLE_CELLS);
  return [agentWords(agent), age(now - agent.since), agent.name, target, where, title, reason(agent)];
}

/** Brings a pane of several into view. If the pane is gone, the session stays unchanged. */
async function select(instance: Instance, pane: string): Promise<void> {
  try {
    using session = await SessionClient.open(instance, pane);
    await session.call("pane.select", {});
  } catch (thrown) {
    const { code } = WshError.from(thrown);
    if (code !== "session_not_found" && code !== "pane_not_found") throw thrown;
  }
}

/** The view returns when the person has left the session. */
async function live(instance: Instance): Promise<void> {
  const { agent_alert: alert } = (await settingsOf(instance)).values;
  for (;;) {
    const row = await watchAgents({ find: () => find(instance), alert });
    if (row === null) return;
    const { attachTerminal } = await import("../session/attach-terminal.ts");
    if (row.target !== row.session) await select(instance, row.pane_id);
    const { socket, session } = findSession(instance, parseTarget(row.session_id));
    const flags = { scrollback: "new", altScreen: true, readOnly: false, detachAtEof: true } as const;
    await attachTerminal(instance, { name: row.session, socket, session, ...flags });
  }
}
