/**
 * Saves a session under a label: its processes write the present state of their parts into a new folder, which gets its
 * name when all parts are on the disk. The checkpoint of a crashed session is copied.
 */
import fs from "node:fs";
import { join } from "node:path";
import { orUntil } from "../../base/deadline.ts";
import type { Instance } from "../../instance/paths.ts";
import type { ParsedInput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseTarget, sessionId } from "../../protocol/names.ts";
import type { Repository } from "../../protocol/worktree.ts";
import { loadSettings } from "../../settings/settings.ts";
import { Connection } from "../../wire/connection.ts";
import { type CheckpointFacts, checkNote, writeFacts } from "../files/facts.ts";
import { createNamed, withUnfinishedFolder } from "../files/named.ts";
import { parsePartFile } from "../files/paths.ts";
import type { PaneRecord } from "../files/record.ts";
import { type CrashedSession, findCrashed, readSession } from "../files/sessions.ts";
import { restoreCaller } from "../launch.ts";
import { checkLabel, type NamedCheckpoint } from "./find.ts";
import { findRepositoryInTime } from "./repository.ts";
import { findRunning, type RunningSession } from "./running.ts";

/** Longest wait for a session's processes to write, in ms: longer than a process waits for one pane. */
const SAVE_MS = 15_000;

/** @throws WshError invalid_label, invalid_request, checkpoint_exists, checkpoint_refused, resource_limit_reached, session_not_found */
export async function saveNamed(
  instance: Instance,
  { session, label, note, replace }: ParsedInput<"checkpoint.save">,
): Promise<NamedCheckpoint> {
  const checkedLabel = checkLabel(label ?? defaultLabel(new Date()));
  const checkedNote = note === undefined ? null : checkNote(note);
  const source = findSource(instance, session);
  const { checkpoint_bytes } = loadSettings(instance, { env: process.env }).values;
  const slot = { number: source.number, label: checkedLabel, replace };
  const folder = await createNamed(instance, slot, checkpoint_bytes, async (folder, directory) => {
    if (source.socket === null) copyParts(source.directory, directory);
    else await requestWrite(source.socket, folder);
    const { panes } = readWritten(source.number, directory);
    writeFacts(directory, { note: checkedNote, git: await repositoriesOf(panes) });
  });
  return { folder, stored: readWritten(source.number, folder.directory) };
}

/** The repositories of the panes that are in one. */
async function repositoriesOf(panes: readonly PaneRecord[]): Promise<CheckpointFacts["git"]> {
  const repositories = new Map(
    [...new Set(panes.map(({ cwd }) => cwd))].map((cwd) => [cwd, findRepositoryInTime(cwd)]),
  );
  const git: Record<string, Repository> = {};
  for (const { pane, cwd } of panes) {
    const repository = await repositories.get(cwd);
    if (repository != null) git[pane] = repository;
  }
  return git;
}

/**
 * Reads a running session's present state in the form of a checkpoint.
 * @throws WshError checkpoint_refused, session_unavailable
 */
export function withPresentState<T>(
  instance: Instance,
  { number, socket }: RunningSession,
  use: (stored: CrashedSession) => T,
): Promise<T> {
  return withUnfinishedFolder(instance, number, async (folder, directory) => {
    await requestWrite(socket, folder);
    return use(readWritten(number, directory));
  });
}

/** @throws WshError checkpoint_refused when a part is missing */
function readWritten(number: number, directory: string): CrashedSession {
  const stored = readSession(number, directory);
  if (stored !== null) return stored;
  throw new WshError("checkpoint_refused", `session '${sessionId(number)}' has nothing to save`);
}

type SaveSource = RunningSession | { readonly number: number; readonly socket: null; readonly directory: string };

/** @throws WshError session_not_found */
function findSource(instance: Instance, target: string): SaveSource {
  const running = findRunning(instance, target);
  if (running !== null) return running;
  try {
    const { number, directory } = findCrashed(instance, parseTarget(target));
    return { number, directory, socket: null };
  } catch (thrown) {
    if (WshError.from(thrown).code !== "checkpoint_not_found") throw thrown;
    throw new WshError("session_not_found", `no session '${target}' in instance '${instance.name}'`);
  }
}

/** @throws WshError of the session's processes */
async function requestWrite(socket: string, folder: string): Promise<void> {
  const { connection } = await Connection.open(socket, "cli", {});
  try {
    const request = connection.request("peer.checkpoint", { folder }, { caller: restoreCaller, access: "admin" });
    await orUntil(request, { ms: SAVE_MS }, () => {
      throw new WshError("session_unavailable", "the session's process does not answer");
    });
  } finally {
    connection.close();
  }
}

function copyParts(from: string, to: string): void {
  for (const name of fs.readdirSync(from)) {
    if (parsePartFile(name) === null || fs.lstatSync(join(from, name)).isFile() !== true) continue;
    fs.copyFileSync(join(from, name), join(to, name), fs.constants.COPYFILE_EXCL);
  }
}

/** Time as `20261122-103105`, in the local time zone. */
function defaultLabel(now: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  return `${day}-${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
}
