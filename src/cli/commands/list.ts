/**
 * `wsh list`: asks the server if one runs, which knows most sessions without waking them. Otherwise it finds the
 * session processes itself and asks all of them at once, so that it needs no server, and one that hangs delays the rest
 * by at most a second.
 */
import type { Command } from "commander";
import * as v from "valibot";
import { hostSocket, type Instance } from "../../instance/paths.ts";
import type { SessionEntry } from "../../instance/registry/directories.ts";
import { cleanStale, listSessions } from "../../instance/registry/registry.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, parseTarget, sessionId } from "../../protocol/names.ts";
import { type SessionInfo, SessionInfoSchema } from "../../protocol/session.ts";
import { Connection } from "../../wire/connection.ts";
import { collect } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson, say, shorten, table } from "../print.ts";
import { askServer } from "../server-client.ts";
import { connectFailure } from "../session/client.ts";

/** Longest wait for a session process to answer before it is shown as unresponsive, in ms: a healthy one takes one. */
const HELLO_PATIENCE_MS = 900;
/** Longest wait for the server, in ms: it waits up to a second for a session process that hangs. */
const SERVER_PATIENCE_MS = 1_500;
/** Like HELLO_PATIENCE_MS, for one that the server reports as unresponsive: only the reason is requested. */
const SILENT_PATIENCE_MS = 150;
/** Longest command in the table, in cells. */
const COMMAND_CELLS = 40;

/** A session process that answered, or why it did not. */
type Listed =
  | { readonly entry: SessionEntry; readonly info: SessionInfo }
  | { readonly entry: SessionEntry; readonly trouble: WshError };

interface ListOptions {
  readonly all?: boolean;
  readonly json?: boolean;
  readonly names?: boolean;
  readonly tag?: readonly string[];
}

export function register(program: Command): void {
  program
    .command("list")
    .description("Show the sessions of the instance, oldest first.")
    .option("-a, --all", "show ended sessions that can still be read, too")
    .option("--tag <tag>", "only sessions with the tag (repeatable)", collect)
    .option("--json", "print everything known of them as JSON")
    .option("--names", "print only their names, without asking the sessions")
    .action(async ({ all, json, names, tag = [] }: ListOptions, command: Command) => {
      const instance = instanceOf(command);
      if (names === true) return say(namesOf(instance, all === true));
      const listed = await findAll(instance);
      const shown = listed.filter(
        (one) =>
          (all === true || !isEnded(one)) &&
          (tag.length === 0 || ("info" in one && tag.some((wanted) => one.info.tags.includes(wanted)))),
      );
      if (json === true) return printJson(shown.map(asJson));
      if (shown.length === 0) return say("No active sessions.\n");
      return print(table([["NAME", "PID", "COMMAND", "SIZE", "CLIENTS", "STATE", "TAGS"], ...shown.map(asRow)]));
    });
}

/** From the registry only: shell completion needs an immediate answer. */
function namesOf(instance: Instance, all: boolean): string {
  const entries = listSessions(instance).filter((entry) => entry.name !== null && (all || !entry.ended));
  return entries.map(({ name }) => `${name}\n`).join("");
}

async function findAll(instance: Instance): Promise<Listed[]> {
  const asked = (await askAtServer(instance)) ?? (await Promise.all(listSessions(instance).map((each) => ask(each))));
  const dead = asked.filter((one) => "trouble" in one && one.trouble.code === "session_not_found");
  // Left behind by session processes that were killed.
  if (dead.length > 0)
    await cleanStale(
      instance,
      dead.map(({ entry }) => entry.id),
    ).catch(() => []);
  return asked.filter((one) => !dead.includes(one));
}

/** The server's answer; null when it does not come in time, or not in this version's form. */
async function askAtServer(instance: Instance): Promise<Listed[] | null> {
  const answer = await askServer(instance, "GET", "/sessions?all=true", { patienceMs: SERVER_PATIENCE_MS }).catch(
    () => null,
  );
  const infos = v.safeParse(v.array(SessionInfoSchema), answer);
  if (!infos.success) return null;
  return Promise.all(
    infos.output.map((info) => {
      const entry = entryOf(instance, info);
      return info.state === "unresponsive" ? ask(entry, SILENT_PATIENCE_MS) : { entry, info };
    }),
  );
}

function entryOf(instance: Instance, { id, pane_id, name, running }: SessionInfo): SessionEntry {
  const pane = parseTarget(pane_id);
  if (pane.kind !== "pane") throw new WshError("internal_error", `'${pane_id}' is not a pane's id`);
  const own = parseTarget(id);
  const session = own.kind === "session_id" ? own.id : null;
  const socket = hostSocket(instance, pane.id);
  return { id: pane.id, session, window: null, socket, name, ended: !running, isMember: false };
}

async function ask(entry: SessionEntry, patienceMs = HELLO_PATIENCE_MS): Promise<Listed> {
  try {
    const { connection, hello } = await Connection.open(entry.socket, "cli", {}, patienceMs);
    connection.close();
    if (hello.info !== undefined) return { entry, info: hello.info };
    return { entry, trouble: new WshError("host_unavailable", "the session is being started") };
  } catch (thrown) {
    return { entry, trouble: connectFailure(thrown, entry.socket) };
  }
}

function isEnded(one: Listed): boolean {
  return "info" in one ? !one.info.running : one.entry.ended;
}

function asJson(one: Listed): object {
  if ("info" in one) return one.info;
  const { entry, trouble } = one;
  const { code, message } = trouble;
  const pane_id = paneId(entry.id);
  const id = entry.session === null ? pane_id : sessionId(entry.session);
  return { id, pane_id, name: entry.name ?? pane_id, state: "unresponsive", error: { code, message } };
}

function asRow(one: Listed): string[] {
  const { entry } = one;
  if ("trouble" in one) {
    const state = one.trouble.code === "host_version" ? "another version" : "unresponsive";
    return [entry.name ?? paneId(entry.id), "-", "-", "-", "-", state, ""];
  }
  const { info } = one;
  return [
    info.running ? info.name : `${info.name} (${info.id})`,
    info.pid === null ? "-" : String(info.pid),
    shorten(info.command, COMMAND_CELLS),
    `${info.cols}x${info.rows}`,
    String(info.clients),
    info.running ? info.state : `exited: ${info.signal ?? info.exit_code ?? "?"}`,
    info.tags.join(", "),
  ];
}
