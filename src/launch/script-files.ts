/**
 * Installs embedded files where other programs can read them: one directory per content, in the state directory (0700,
 * so its content is ours). Each file is written whole under another name and renamed into place, so that any number of
 * session processes may do this at once, and a file that was removed is restored. Directories of earlier versions go
 * when no session has been started with them for a month.
 */
import fs from "node:fs";
import { dirname, join } from "node:path";
import { replaceOwnFile } from "../instance/owned-files.ts";
import { type Instance, inKeptDir } from "../instance/paths.ts";
import { refused } from "../instance/system-refusal.ts";

interface ScriptFile {
  /** Path below the directory, with `/`. */
  readonly name: string;
  readonly text: string;
  /** It can be executed. */
  readonly isProgram?: true;
}

/** Time without a new session after which a directory is removed, in ms. */
const UNUSED_MS = 30 * 24 * 3_600_000;
const DAY_MS = 24 * 3_600_000;

/** @returns the absolute directory that holds the files. @throws WshError runtime_dir_unusable */
export function installScripts(instance: Instance, files: readonly ScriptFile[]): string {
  let hash = 0n;
  for (const { name, text } of files) hash = BigInt(Bun.hash(`${name}\0${text}`, hash));
  const digest = hash.toString(36);
  try {
    return inKeptDir(instance, "shell", (parent) => {
      const directory = join(parent, digest);
      const isNew = !fs.existsSync(directory);
      restoreScripts(directory, files);
      if (isNew) removeUnused(parent);
      else markUsed(directory);
      return directory;
    });
  } catch (thrown) {
    throw refused("the scripts for shells cannot be written", thrown);
  }
}

/** Writes the missing files. */
export function restoreScripts(directory: string, files: readonly ScriptFile[]): void {
  for (const { name, text, isProgram } of files) {
    const path = join(directory, name);
    if (fs.existsSync(path)) continue;
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    replaceOwnFile(path, text);
    if (isProgram) fs.chmodSync(path, 0o700);
  }
}

/** Its modification time is that of its last use, to the day. */
function markUsed(directory: string): void {
  const now = new Date();
  if (now.getTime() - fs.statSync(directory).mtimeMs < DAY_MS) return;
  fs.utimesSync(directory, now, now);
}

function removeUnused(parent: string): void {
  const old = Date.now() - UNUSED_MS;
  for (const name of fs.readdirSync(parent)) {
    const path = join(parent, name);
    const stat = fs.lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory() && stat.mtimeMs < old) fs.rmSync(path, { recursive: true, force: true });
  }
}
