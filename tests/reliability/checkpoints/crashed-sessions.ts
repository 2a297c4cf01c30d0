/** Helpers for tests of crashed sessions: wait until a checkpoint is written, and kill the session's processes. */
import fs from "node:fs";
import { join } from "node:path";
import { readHistory, readPane, type StoredPane } from "../../../src/checkpoints/files/part-reader.ts";
import { until } from "../../support/until.ts";
import type { Wsh } from "../../support/wsh.ts";

/** Folder of a session's checkpoint. */
export function folderOf({ instance }: Wsh, session = 1): string {
  return join(instance.stateDir, `${instance.fileName}.checkpoints`, `s${session}`);
}

/** The newest checkpoint of a pane; null while there is none. */
export function stored(wsh: Wsh, pane = 1, session = 1): StoredPane | null {
  try {
    return readPane(folderOf(wsh, session), pane);
  } catch {
    return null;
  }
}

/** All text of a pane's checkpoint. */
export function textOf(wsh: Wsh, pane = 1, session = 1): string {
  const found = stored(wsh, pane, session);
  if (found === null) return "";
  const { lines } = readHistory(folderOf(wsh, session), found);
  return [...lines, ...(found.screen ?? []), ...(found.alternate ?? [])].join("\n");
}

/** Waits until a pane's checkpoint has a text at the beginning of a line, as opposed to inside a command line. */
export function written(wsh: Wsh, text: string, pane = 1, session = 1): Promise<unknown> {
  const isThere = (): boolean => Bun.stripANSI(`\n${textOf(wsh, pane, session)}`).includes(`\n${text}`);
  return until(`the checkpoint of @${pane} to have '${text}'`, isThere);
}

/** The same for the last line of a command, with the prompt after it: nothing runs there according to the checkpoint. */
export async function writtenToPrompt(wsh: Wsh, text: string, pane = 1, session = 1): Promise<void> {
  await written(wsh, `${text}\n$`, pane, session);
  // Its end may be recorded, and written, a little later.
  await until("the end of the command to be written", () => stored(wsh, pane, session)?.record.foreground === null);
}

/** Ends session processes at once, as the kernel does when memory runs out. */
export async function kill(wsh: Wsh, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
  const pids = wsh.processes().filter(({ command }) => / session-process$/.test(command));
  for (const { pid } of pids) process.kill(pid, signal);
  await until("the processes to be gone", () => pids.every(({ pid }) => !fs.existsSync(`/proc/${pid}`)));
}

/**
 * Holds locks for half a second, as killed processes do until the kernel has freed their memory: nothing
 * answers at their sockets then. @param paths of locks, or of links to them @returns resolves when all are free again
 */
export async function holdLocks(paths: readonly string[]): Promise<() => Promise<unknown>> {
  const holders = paths.map((path) => {
    const command = ["flock", fs.realpathSync(path), "sh", "-c", "echo held; exec sleep 0.5"];
    return Bun.spawn(command, { stdout: "pipe" });
  });
  await Promise.all(holders.map((holder) => holder.stdout.getReader().read()));
  return () => Promise.all(holders.map((holder) => holder.exited));
}

/** Links to the locks of all processes of sessions. */
export function lifeLocks({ instance }: Wsh): string[] {
  const names = fs.readdirSync(instance.sessionsDir).filter((name) => name.endsWith(".lock"));
  return names.map((name) => join(instance.sessionsDir, name)).filter((path) => fs.existsSync(path));
}
