/**
 * Named checkpoints: a folder each beside those that are written continuously (`s3.before` beside `s3`), with the
 * same files, none of which changes once the folder has its name. They outlive their session, and are deleted
 * only on request. While it is written, a folder is called `s3~RANDOM`; a replacement is called `s3.before~2`. At
 * every moment one of the two is complete and has the label: the highest number counts.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { randomToken } from "../../base/random-token.ts";
import { readOwnJson } from "../../instance/own-json.ts";
import { checkOwnDir, ensureOwnDir } from "../../instance/owned-files.ts";
import type { Instance } from "../../instance/paths.ts";
import { platform } from "../../platform/platform.ts";
import { WshError } from "../../protocol/errors.ts";
import { decodeName, encodeName, isLabel } from "../../protocol/names.ts";
import { checkpointsDir, numbersFile } from "./paths.ts";
import { type PaneNumbers, PaneNumbersSchema } from "./record.ts";
import { removeSession } from "./sessions.ts";

/** Maximum named checkpoints of an instance: each is listed whenever one is named. */
export const MAX_NAMED = 200;
const RANDOM_LENGTH = 10;
/** Age of a folder without a name, in ms, after which its writer must have died. */
const UNFINISHED_MS = 3_600_000;
const namedPattern = /^s([1-9]\d{0,8})\.([^~]+)(?:~([1-9]\d{0,8}))?$/;
const unfinishedPattern = /^s[1-9]\d{0,8}~[A-Za-z0-9]+$/;

/** Request to a session process to save: the folder to write into. */
export const SaveToSchema = v.object({ folder: v.pipe(v.string(), v.regex(unfinishedPattern)) });

export interface NamedFolder {
  /** Number of the session. */
  readonly number: number;
  readonly label: string;
  readonly directory: string;
  readonly bytes: number;
}

/** Folder of a named checkpoint that has replaced none; it need not exist. */
function namedDir(instance: Instance, number: number, label: string): string {
  return join(checkpointsDir(instance), `s${number}.${encodeName(label, platform().foldsFileNames)}`);
}

/** Folder of a checkpoint that is being written. @throws WshError unsafe_path */
export function unfinishedDir(instance: Instance, folder: string): string {
  checkOwnDir(checkpointsDir(instance));
  return join(checkpointsDir(instance), folder);
}

/** Labelled checkpoints of one session, or all: by session, then by label. */
export function listNamedFolders(instance: Instance, onlyNumber?: number): NamedFolder[] {
  return listFoldersWithReplaced(instance, onlyNumber).filter(
    ({ number, label }, index, all) => all[index + 1]?.number !== number || all[index + 1]?.label !== label,
  );
}

/** Like listNamedFolders, including replaced ones that are not removed yet, each before its replacement. */
function listFoldersWithReplaced(
  instance: Instance,
  onlyNumber?: number,
): (NamedFolder & { readonly replaced: number })[] {
  if (!checkOwnDir(checkpointsDir(instance))) return [];
  const entries = fs.readdirSync(checkpointsDir(instance)).flatMap((name) => {
    const [, session, encoded, replaced = 0] = namedPattern.exec(name) ?? [];
    const number = Number(session);
    if (encoded === undefined || (onlyNumber !== undefined && number !== onlyNumber)) return [];
    const label = decodeName(encoded);
    const directory = join(checkpointsDir(instance), name);
    if (label === null || !isLabel(label)) return [];
    if (fs.lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
    return [{ number, label, directory, bytes: folderBytes(directory), replaced: Number(replaced) }];
  });
  return entries.sort(
    (a, b) => a.number - b.number || (a.label === b.label ? a.replaced - b.replaced : a.label < b.label ? -1 : 1),
  );
}

/** Deletes the labelled checkpoint. @returns its bytes @throws WshError unsafe_path if it contains others' files */
export function removeNamed(instance: Instance, number: number, label: string): number {
  let bytes = 0;
  for (const { directory } of listFoldersWithReplaced(instance, number).filter((each) => each.label === label)) {
    bytes += removeSession(directory);
    if (fs.existsSync(directory)) throw new WshError("unsafe_path", `${directory} cannot be deleted`);
  }
  return bytes;
}

/**
 * Creates a named checkpoint, completely or not at all.
 * @param write writes its files into the given folder
 * @throws WshError checkpoint_exists, resource_limit_reached, and errors of `write`
 */
export async function createNamed(
  instance: Instance,
  { number, label, replace }: { readonly number: number; readonly label: string; readonly replace: boolean },
  maxBytes: number,
  write: (folder: string, directory: string) => Promise<void>,
): Promise<NamedFolder> {
  const check = () => {
    const all = listFoldersWithReplaced(instance);
    const replacedFolders = all.filter((each) => each.number === number && each.label === label);
    const others = listNamedFolders(instance).filter(
      (each) => !replacedFolders.some(({ directory }) => directory === each.directory),
    );
    const isTaken = checkOwnDir(namedDir(instance, number, label)) || replacedFolders.length > 0;
    if (isTaken && !replace) throw labelTakenError(label);
    if (others.length >= MAX_NAMED) {
      throw new WshError(
        "resource_limit_reached",
        `the limit of ${MAX_NAMED} labelled checkpoints is reached (${others.length})`,
      );
    }
    return { replacedFolders, others };
  };
  check();
  return withUnfinishedFolder(instance, number, async (folder, directory) => {
    await write(folder, directory);
    // Others may have been saved, replaced or deleted meanwhile.
    const { replacedFolders, others } = check();
    const bytes = folderBytes(directory);
    const total = others.reduce((sum, each) => sum + each.bytes, bytes);
    if (total > maxBytes) {
      const message = `labelled checkpoints would take ${total} of ${maxBytes} bytes (setting checkpoint_bytes)`;
      throw new WshError("resource_limit_reached", message);
    }
    const newest = Math.max(...replacedFolders.map(({ replaced }) => replaced));
    const path = namedDir(instance, number, label) + (replacedFolders.length === 0 ? "" : `~${newest + 1}`);
    fs.renameSync(directory, path);
    for (const each of replacedFolders) removeSession(each.directory);
    return { number, label, directory: path, bytes };
  });
}

function labelTakenError(label: string): WshError {
  return new WshError("checkpoint_exists", `the session already has a checkpoint '${label}'`);
}

/**
 * Runs with a folder that is removed afterwards, unless it was given a name. @throws WshError unsafe_path, and of `use`
 */
export async function withUnfinishedFolder<T>(
  instance: Instance,
  number: number,
  use: (folder: string, directory: string) => Promise<T>,
): Promise<T> {
  for (const directory of [instance.stateDir, checkpointsDir(instance)]) ensureOwnDir(directory);
  const folder = unfinishedFolderName(number);
  const directory = unfinishedDir(instance, folder);
  ensureOwnDir(directory);
  try {
    return await use(folder, directory);
  } finally {
    removeSession(directory);
  }
}

function unfinishedFolderName(number: number): string {
  return `s${number}~${randomToken(RANDOM_LENGTH)}`;
}

/**
 * Records, beside each named checkpoint of its session, the numbers that an ending pane has issued, so that a pane
 * restored from it reuses none. A failed write does not delay the end.
 */
export function recordIssuedNumbers(instance: Instance, session: number, pane: number, numbers: PaneNumbers): void {
  try {
    for (const { directory } of listNamedFolders(instance, session)) {
      fs.writeFileSync(join(directory, numbersFile(pane)), JSON.stringify(numbers), { mode: 0o600 });
    }
  } catch {
    // A folder that cannot be written is rarely used for a restore.
  }
}

/** The numbers that a pane had issued when it ended after it was saved; null: it has not ended. */
export function readIssuedNumbers(directory: string, pane: number): PaneNumbers | null {
  return readOwnJson(join(directory, numbersFile(pane)), PaneNumbersSchema);
}

/** Removes folders left by processes that died while writing a named checkpoint. */
export function removeUnfinished(instance: Instance): void {
  for (const name of fs.readdirSync(checkpointsDir(instance))) {
    const directory = join(checkpointsDir(instance), name);
    const stat = unfinishedPattern.test(name) ? fs.lstatSync(directory, { throwIfNoEntry: false }) : undefined;
    if (stat?.isDirectory() === true && Date.now() - stat.mtimeMs > UNFINISHED_MS) removeSession(directory);
  }
}

export function folderBytes(directory: string): number {
  const sizes = fs.readdirSync(directory).map((name) => {
    return fs.lstatSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}
