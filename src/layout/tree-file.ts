/**
 * What a layout process must know after it was lost: the session's name, tags and elements, its windows and panes. One
 * file a session, replaced by rename(2) after each change, removed with the session. It is in the state directory, or in
 * the runtime directory while that one cannot be written to; the newest is right. A file of a session that is gone (a
 * reboot) is removed by the next layout process of the instance.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { removeIfPossible, replaceOwnFile } from "../instance/owned-files.ts";
import { type Instance, inKeptDir, keptDirs } from "../instance/paths.ts";
import { placeDigest } from "../instance/place-digest.ts";
import { snapshot } from "../instance/registry/directories.ts";
import { WshError } from "../protocol/errors.ts";
import type { ElementState } from "../session/drawing/element.ts";
import type { Windows } from "../session/windows/state.ts";

const VERSION = 1;
const KEPT_DIR = "layouts";

const StoredSchema = v.object({
  version: v.literal(VERSION),
  /** The layout process that wrote it: its id in the registry. */
  host: v.number(),
  session: v.number(),
  name: v.string(),
  tags: v.array(v.string()),
  private: v.boolean(),
  created_at: v.number(),
  rows: v.number(),
  cols: v.number(),
  elements: v.unknown(),
  windows: v.unknown(),
  env: v.record(v.string(), v.string()),
  nofile: v.nullable(v.number()),
});

export interface Stored {
  readonly host: number;
  readonly session: number;
  readonly name: string;
  readonly tags: readonly string[];
  readonly private: boolean;
  readonly created_at: number;
  readonly rows: number;
  readonly cols: number;
  readonly elements: ElementState;
  readonly windows: Windows;
  readonly env: Readonly<Record<string, string>>;
  readonly nofile: number | null;
}

/** Where a session's file may be: as a rule, and otherwise. */
export function treeFiles(instance: Instance, session: number): readonly string[] {
  const file = fileName(instance, session);
  return keptDirs(instance, KEPT_DIR).map((directory) => join(directory, file));
}

function fileName(instance: Instance, session: number): string {
  return `${prefixOf(instance)}${session}.json`;
}

/** Of the files of this place alone: others share the state directory. */
function prefixOf({ fileName, runtimeDir }: Instance): string {
  return `${fileName}.${placeDigest(runtimeDir)}.s`;
}

/** The session in the form that `parseTree` reads. */
export function treeOf(stored: Stored): object {
  return { version: VERSION, ...stored };
}

/** Runs per change of the layout. @throws WshError session_create_failed when it cannot be written */
export function writeTree(instance: Instance, stored: Stored): void {
  const text = JSON.stringify(treeOf(stored));
  const file = fileName(instance, stored.session);
  let written: string;
  try {
    written = inKeptDir(instance, KEPT_DIR, (directory) => {
      replaceOwnFile(join(directory, file), text);
      return directory;
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WshError("session_create_failed", `the layout cannot be kept: ${reason}`, {}, { cause: error });
  }
  // What is kept elsewhere is older.
  for (const directory of keptDirs(instance, KEPT_DIR)) {
    if (directory !== written) removeIfPossible(join(directory, file));
  }
}

/** @throws WshError session_not_found when there is none, or none that this version wrote */
export function readTree(instance: Instance, session: number): Stored {
  const paths = treeFiles(instance, session);
  const [newest] = paths.map((path) => ({ path, at: writtenAt(path) })).sort((a, b) => b.at - a.at);
  let value: unknown;
  try {
    value = JSON.parse(fs.readFileSync(newest?.path ?? "", "utf8"));
  } catch (error) {
    const where = paths.join(" or ");
    throw new WshError("session_not_found", `no layout of session @s${session} in ${where}`, {}, { cause: error });
  }
  return parseTree(value);
}

/** In ms since 1970; 0 where there is none, or none that can be read. */
function writtenAt(path: string): number {
  try {
    return fs.statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

/** Written by this program alone, whole or not at all: its parts need no checks of their own. */
export function parseTree(value: unknown): Stored {
  return v.parse(StoredSchema, value) as Stored;
}

/** What cannot be removed is left to the next layout process. */
export function removeTree(instance: Instance, session: number): void {
  for (const path of treeFiles(instance, session)) removeIfPossible(path);
}

/** Removes this place's files of sessions that no process belongs to, as far as they can be. */
export function removeLeftTrees(instance: Instance): void {
  const { ids, members } = snapshot(instance);
  const known = new Set([...ids, ...members].map(({ session }) => session));
  const prefix = prefixOf(instance);
  for (const directory of keptDirs(instance, KEPT_DIR)) {
    for (const file of filesIn(directory)) {
      const [, session] = file.startsWith(prefix)
        ? (/^(\d+)\.json(\.\d+\.new)?$/.exec(file.slice(prefix.length)) ?? [])
        : [];
      if (session !== undefined && !known.has(Number(session))) removeIfPossible(join(directory, file));
    }
  }
}

function filesIn(directory: string): string[] {
  try {
    return fs.readdirSync(directory);
  } catch {
    return []; // there is none, or it is not ours to look into
  }
}
