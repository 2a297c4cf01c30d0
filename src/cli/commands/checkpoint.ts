/** `wsh checkpoint`: saves sessions under labels, shows, compares and restores checkpoints. */
import { Argument, type Command } from "commander";
import { filterVisible, requireMaySave, requireOwnCheckpoint, requireVisible } from "../../checkpoints/agent-rights.ts";
import type { Instance } from "../../instance/paths.ts";
import type { OperationOutput } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { parseTarget } from "../../protocol/names.ts";
import { plural } from "../../protocol/plural.ts";
import { findSession } from "../../registry/registry.ts";
import { shortPath } from "../agents/rows.ts";
import { requireArgument, UsageError } from "../arguments.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { complain, printJson, printText, table } from "../print.ts";
import { cliCaller, reportWaiting } from "../session/client.ts";
import { localConcealment } from "../session/concealed.ts";
import { configuredHostname } from "../session/session-list.ts";

interface CheckpointOptions {
  readonly as?: string;
  readonly replace?: boolean;
  readonly note?: string;
  readonly grep?: string;
  readonly json?: boolean;
}

const actions = ["save", "list", "show", "diff", "restore", "delete"] as const;
type Action = (typeof actions)[number];
type CheckpointView = OperationOutput<"checkpoint.show">;
type Difference = OperationOutput<"checkpoint.diff">;

const KB = 1_024;

export function register(program: Command): void {
  program
    .command("checkpoint")
    .addArgument(new Argument("<action>", "what to do").choices([...actions]))
    .argument("[name]", "the session")
    .argument("[label]", "label of the checkpoint")
    .argument("[other]", "diff: another label")
    .usage("[options] ACTION [NAME] [LABEL]")
    .description(
      "save NAME [LABEL]: saves the session's present state (default label: date and time) until you delete it, even " +
        "after the session ends; list [NAME]; show NAME [LABEL]: its content; diff NAME LABEL [OTHER]: the difference " +
        "from now, or from OTHER; restore NAME LABEL: restores that state; delete NAME LABEL.",
    )
    .option("--as <new>", "restore: under another name, also beside the running session")
    .option("--replace", "save: replace a checkpoint with the same label")
    .option("--note <text>", "save: what it is for, up to 500 characters")
    .option(
      "--grep <text>",
      "list: only checkpoints with the text in their name, label, note, directory, commands or lines; also print where",
    )
    .option("--json", "print the answer as JSON")
    .action(
      (
        action: Action,
        name: string | undefined,
        label: string | undefined,
        other: string | undefined,
        options: CheckpointOptions,
        command: Command,
      ) => runAction(action, { name, label, otherLabel: other, ...options }, command),
    );
}

type CheckpointArguments = CheckpointOptions & {
  readonly name: string | undefined;
  readonly label: string | undefined;
  readonly otherLabel: string | undefined;
};

async function runAction(action: Action, parameters: CheckpointArguments, command: Command): Promise<void> {
  const { name, label, otherLabel, as, replace = false, note, grep, json = false } = parameters;
  if (otherLabel !== undefined && action !== "diff")
    throw new UsageError(`unexpected argument '${otherLabel}' for '${action}'`);
  if (as !== undefined && action !== "restore") throw new UsageError(`--as cannot be used with '${action}'`);
  if (replace && action !== "save") throw new UsageError(`--replace cannot be used with '${action}'`);
  if (note !== undefined && action !== "save") throw new UsageError(`--note cannot be used with '${action}'`);
  if (grep !== undefined && action !== "list") throw new UsageError(`--grep cannot be used with '${action}'`);
  const instance = instanceOf(command);
  const work = await import("../../checkpoints/named/operations.ts");
  const session = action === "list" ? (name ?? "") : requireArgument(name, action, "the name of a session");
  const rights = (await settingsOf(instance)).values;
  // Agents may read what is not private.
  if (action === "save" || action === "restore" || action === "delete")
    requireOwnCheckpoint(instance, rights, cliCaller, `checkpoint.${action}`, { session, label, replace });
  switch (action) {
    case "save": {
      await requireMaySave(instance, { session }, { caller: cliCaller, waits: reportWaiting });
      const saved = await work.saveCheckpoint(instance, { session, label, note, replace });
      if (json) return printJson(saved);
      const { panes, bytes } = saved;
      const size = `${plural(panes, "pane")}, ${kilobytes(bytes)}`;
      return printText(`Saved session '${saved.session}' as '${saved.label}': ${size}.\n`);
    }
    case "list": {
      if (label !== undefined) throw new UsageError(`'list' takes no '${label}'`);
      const { listCheckpoints } = await import("../../checkpoints/operations.ts");
      const listing = await listCheckpoints(instance, configuredHostname(instance), { session: name, search: grep });
      const all = filterVisible(listing, await localConcealment(instance));
      if (name !== undefined && grep === undefined && isNothing(all)) requireKnown(instance, name);
      return json ? printJson(all) : printList(all, grep);
    }
    case "show": {
      requireVisible(instance, session, [label], await localConcealment(instance));
      const shown = work.showCheckpoint(instance, { session, label });
      return json ? printJson(shown) : printCheckpoint(shown);
    }
    case "diff": {
      const from = requireArgument(label, action, "a label");
      requireVisible(instance, session, [from, otherLabel], await localConcealment(instance));
      const difference = await work.diffCheckpoints(instance, { session, label: from, to: otherLabel });
      return json ? printJson(difference) : printDifference(difference);
    }
    case "restore": {
      const from = requireArgument(label, action, "a label; `wsh restore` takes none");
      const { restoreCheckpoints } = await import("../../checkpoints/operations.ts");
      const input = { session, label: from, ...defined({ as }) };
      const result = await restoreCheckpoints(instance, input, { env: process.env, starter: "cli" });
      for (const { pane_id, message } of result.left_out) complain(`restored without pane ${pane_id}: ${message}`);
      if (json) return printJson(result);
      const restored = result.restored[0]?.name ?? session;
      return printText(`Session '${restored}' is restored from '${from}': wsh attach ${restored}\n`);
    }
    case "delete": {
      const deleted = work.deleteCheckpoint(instance, { session, label: requireArgument(label, action, "a label") });
      if (json) return printJson(deleted);
      return printText(`Deleted checkpoint '${deleted.label}' of session '${session}': ${kilobytes(deleted.bytes)}.\n`);
    }
  }
}

function isNothing({ named, crashed, unreadable }: OperationOutput<"checkpoint.list">): boolean {
  return named.length + crashed.length + unreadable.length === 0;
}

/** A running session, or one that ended a while ago, may have no checkpoint. @throws WshError session_not_found */
function requireKnown(instance: Instance, name: string): void {
  findSession(instance, parseTarget(name));
}

function kilobytes(bytes: number): string {
  return `${Math.ceil(bytes / KB)} KB`;
}

function timeText(time: number): string {
  return new Date(time).toLocaleString("sv");
}

async function printList(
  { named, crashed, unreadable, matches = [], incomplete }: OperationOutput<"checkpoint.list">,
  grep: string | undefined,
): Promise<void> {
  const placeText = (cwd: string | null, branch?: string | null): string =>
    shortPath(cwd, process.env.HOME) + (branch == null ? "" : ` (${branch})`);
  const rows = [
    ...crashed.map(({ name, id, windows, cwd, crashed: known }) => [
      ...[name, id, "-", known === undefined ? "" : timeText(known.saved_at)],
      ...[String(windows.flatMap(({ panes }) => panes).length), "-", "crashed", placeText(cwd), ""],
    ]),
    ...named.map(({ session, id, label, saved_at, panes, bytes, running, cwd, git, note }) => [
      ...[session, id, label, timeText(saved_at), String(panes), kilobytes(bytes), running ? "running" : "not running"],
      ...[placeText(cwd, git?.branch), note ?? ""],
    ]),
  ];
  if (rows.length > 0) {
    await printText(
      table([["SESSION", "ID", "LABEL", "SAVED", "PANES", "SIZE", "STATE", "DIRECTORY", "NOTE"], ...rows]),
    );
  } else if (grep !== undefined) await printText(`No checkpoint with '${grep}'.\n`);
  else if (unreadable.length === 0) await printText("No crashed sessions and no labelled checkpoints.\n");
  if (matches.length > 0) {
    const matchRows = matches.map(({ session, label, pane_id, in: where, excerpt }) => [
      ...[session, label ?? "-", pane_id ?? "-", where, excerpt],
    ]);
    await printText(`\n${table([["SESSION", "LABEL", "PANE", "IN", "TEXT"], ...matchRows])}`);
  }
  if (incomplete === true) complain("the search is incomplete: it took too long, or a checkpoint was removed");
  for (const { session, label, message } of unreadable) {
    complain(`${label === undefined ? session : `${session} '${label}'`} cannot be read: ${message}`);
  }
}

async function printCheckpoint(view: CheckpointView): Promise<void> {
  const { session, id, label, saved_at, note, bytes, tags, rows, cols, windows, panes, left_out } = view;
  const tagged = tags.length === 0 ? "" : `, tags ${tags.join(" ")}`;
  await printText(
    `${session} (${id})${label === null ? "" : ` '${label}'`}, saved ${timeText(saved_at)}, ${kilobytes(bytes)}, ${cols}x${rows}${tagged}\n`,
  );
  if (note !== null) await printText(`note: ${note}\n`);
  for (const window of windows) {
    const marks = [...(window.active ? ["active"] : []), ...(window.zoomed ? ["zoomed"] : [])].join(", ");
    const name = window.name === null ? "" : ` ${window.name}`;
    await printText(`window ${window.id}${name}${marks === "" ? "" : ` (${marks})`}: ${window.layout}\n`);
  }
  for (const pane of panes) {
    const runs = pane.running === null ? pane.program : pane.running;
    const above = pane.lines_above === 0 ? "" : `, ${pane.lines_above} lines above`;
    const of = [
      ...(pane.git === null ? [] : [`git ${pane.git.root}${pane.git.branch === null ? "" : ` on ${pane.git.branch}`}`]),
      ...(pane.agent === null ? [] : [`agent ${pane.agent}`]),
    ].join(", ");
    await printText(`\n${pane.id} in ${pane.cwd ?? "?"}: ${runs} (${pane.cols}x${pane.rows}${above})\n`);
    if (of !== "") await printText(`${of}\n`);
    await printText(pane.screen.map((line) => `  ${line}\n`).join(""));
  }
  for (const { pane_id, message } of left_out) complain(`${pane_id} cannot be restored: ${message}`);
}

async function printDifference({ changes, lines, from, to }: Difference): Promise<void> {
  if (changes.length === 0 && lines.length === 0) return printText("No differences.\n");
  await printText(`--- ${from.label} ${timeText(from.saved_at)}\n+++ ${to.label ?? "now"} ${timeText(to.saved_at)}\n`);
  for (const { of, what, before, after } of changes) {
    await printText(`${of === null ? "" : `${of} `}${what}: ${before ?? "(none)"} → ${after ?? "(none)"}\n`);
  }
  for (const { pane_id, changed, more } of lines) {
    await printText(`@@ ${pane_id}${more > 0 ? `, ${more} older changes omitted` : ""}\n`);
    await printText(changed.map((line) => `${line}\n`).join(""));
  }
}
