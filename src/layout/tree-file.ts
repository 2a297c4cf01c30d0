/**
 * What a layout process must know after it was lost: the session's name, tags and elements, its windows and panes. One
 * file a session in the state directory, replaced by rename(2) after each change, removed with the session. A file of a
 * session that is gone (a reboot) is removed by the next layout process of the instance.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { type Instance, prepareStateDir } from "../instance/paths.ts";
import { snapshot } from "../instance/registry/directories.ts";
import { WshError } from "../protocol/errors.ts";
import type { ElementState } from "../session/drawing/element.ts";
import type { Windows } from "../session/windows/state.ts";

const VERSION = 1;

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

export function treeFile(instance: Instance, session: number): string {
  return join(instance.stateDir, `${instance.name}.s${session}.layout`);
}

/** The session in the form that `parseTree` reads. */
export function treeOf(stored: Stored): object {
  return { version: VERSION, ...stored };
}

/** @throws WshError session_create_failed when it cannot be written */
export function writeTree(instance: Instance, stored: Stored): void {
  const path = treeFile(instance, stored.session);
  const temporary = `${path}.${process.pid}.new`;
  try {
    prepareStateDir(instance);
    fs.writeFileSync(temporary, JSON.stringify(treeOf(stored)), { mode: 0o600 });
    fs.renameSync(temporary, path);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    const reason = error instanceof Error ? error.message : String(error);
    throw new WshError(
      "session_create_failed",
      `the layout cannot be kept in ${path}: ${reason}`,
      {},
      { cause: error },
    );
  }
}

/** @throws WshError session_not_found when there is none, or none that this version wrote */
export function readTree(instance: Instance, session: number): Stored {
  const path = treeFile(instance, session);
  let value: unknown;
  try {
    value = JSON.parse(fs.readFileSync(path, "utf8"));
  } catch (error) {
    throw new WshError("session_not_found", `no layout of session @s${session} in ${path}`, {}, { cause: error });
  }
  return parseTree(value);
}

/** Written by this program alone, whole or not at all: its parts need no checks of their own. */
export function parseTree(value: unknown): Stored {
  return v.parse(StoredSchema, value) as Stored;
}

export function removeTree(instance: Instance, session: number): void {
  fs.rmSync(treeFile(instance, session), { force: true });
}

/** Removes the files of sessions that no process belongs to. */
export function removeLeftTrees(instance: Instance): void {
  const { ids, members } = snapshot(instance);
  const known = new Set([...ids, ...members].map(({ session }) => session));
  const pattern = new RegExp(`^${instance.name}\\.s(\\d+)\\.layout$`);
  for (const file of fs.readdirSync(instance.stateDir)) {
    const session = Number(pattern.exec(file)?.[1] ?? Number.NaN);
    if (Number.isNaN(session) || known.has(session)) continue;
    fs.rmSync(join(instance.stateDir, file), { force: true });
  }
}
