/** `wsh stop`: ends every session and the server; without a server, ends the sessions itself. */
import type { Command } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, sessionId } from "../../protocol/names.ts";
import { plural } from "../../protocol/plural.ts";
import type { SessionEntry } from "../../registry/directories.ts";
import { listenerPid, processState } from "../../registry/liveness.ts";
import { cleanStale, listProcesses, listSessions } from "../../registry/registry.ts";
import { askServer } from "../../registry/server-client.ts";
import { clearDeadServer, isServerAlive } from "../../registry/single-server.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { printText } from "../print.ts";
import { requirePerson } from "../session/client.ts";
import { endSession, untilDead } from "../session/end-session.ts";

/** Longest time from the request to stop until the server is gone, and the interval between checks, in ms. */
const GONE_PATIENCE_MS = 10_000;
const GONE_POLL_MS = 20;
/** Longest wait for the panes of a killed session, in ms: they end two seconds after it. */
const CARRIER_PATIENCE_MS = 4_000;

export function register(program: Command): void {
  program
    .command("stop")
    .description("Stop all sessions of the instance, its server, and its ssh connections.")
    .action(async (_options, command: Command) => {
      const instance = instanceOf(command);
      await requirePerson(instance, "wsh stop");
      if (isServerAlive(instance)) {
        await askServer(instance, "POST", "/server/stop").catch(ignoreEndedServer);
        await waitUntilGone(instance);
        await endSessions(instance);
        return printText("Server stopped.\n");
      }
      const ended = await endSessions(instance);
      const count = ended === 0 ? "" : ` ${plural(ended, "session")} ended.`;
      return printText(`No server running.${count}\n`);
    });
}

/** A session that ends before it answers has obeyed, or was killed: a later check finds out. */
function ignoreEndedServer(thrown: unknown): void {
  if (WshError.from(thrown).code !== "outcome_unknown") throw thrown;
}

async function waitUntilGone(instance: Instance): Promise<void> {
  const deadline = performance.now() + GONE_PATIENCE_MS;
  while (isServerAlive(instance)) {
    if (performance.now() > deadline) {
      throw new WshError("server_unavailable", `the server is still running after ${GONE_PATIENCE_MS / 1000} s`, {
        hint: "It was asked to stop; its log is in the state directory.",
      });
    }
    await Bun.sleep(GONE_POLL_MS);
  }
}

/**
 * Ends sessions that the server did not know or could not end, and removes files of dead processes.
 * @throws the first session's refusal, after all were asked
 */
async function endSessions(instance: Instance): Promise<number> {
  const running = listSessions(instance).filter(({ socket }) => processState(socket) !== "dead");
  const results = await Promise.allSettled(
    running.map(({ id, session }) =>
      // The id is the session's: its first pane may be gone.
      endSession(instance, session === null ? paneId(id) : sessionId(session), "server_stopped"),
    ),
  );
  const refused = results.flatMap((end) => (end.status === "rejected" ? [WshError.from(end.reason)] : []));
  const trouble = refused.find(({ code }) => code !== "session_not_found" && code !== "session_unavailable");
  await endWindowProcesses(instance, new Set(trouble === undefined ? running.map(({ id }) => id) : []));
  await cleanStale(instance);
  await clearDeadServer(instance);
  await endConnections(instance);
  if (trouble !== undefined) throw trouble;
  return results.length - refused.length;
}

/**
 * Processes that only run panes of another session end with that session, or soon after it was killed. A process that
 * remains is killed, which hangs up its programs.
 * @param ending processes of sessions that end: one may be about to run only panes of another session
 */
async function endWindowProcesses(instance: Instance, ending: ReadonlySet<number>): Promise<void> {
  const deadline = performance.now() + CARRIER_PATIENCE_MS;
  const alive = (): readonly SessionEntry[] =>
    listProcesses(instance).filter(({ socket }) => processState(socket) === "alive");
  const living = (): readonly SessionEntry[] => alive().filter(({ isMember }) => isMember);
  while (alive().some(({ id, isMember }) => isMember || ending.has(id)) && performance.now() < deadline)
    await Bun.sleep(GONE_POLL_MS);
  for (const { socket } of living()) {
    const pid = listenerPid(socket);
    if (pid !== null) process.kill(pid, "SIGKILL");
    await untilDead(socket);
  }
}

/** Closes ssh connections that stay open for the next command. */
async function endConnections(instance: Instance): Promise<void> {
  const { endMasters } = await import("../../cluster/ssh/ssh-transport.ts");
  const { values } = await settingsOf(instance);
  await endMasters({ instance, program: { argv: values.ssh_command.split(" ") } });
}
