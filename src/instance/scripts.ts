/**
 * Puts embedded files where other programs can read them: one directory for each content, in the runtime directory, made
 * whole under another name and renamed into place. A directory that is there is complete and ours (the runtime directory
 * is 0700), so it is used as it is.
 */
import fs from "node:fs";
import { dirname, join } from "node:path";
import type { Instance } from "./paths.ts";

export interface ScriptFile {
  /** Path below the directory, with `/`. */
  readonly name: string;
  readonly text: string;
}

/** @returns the absolute directory that holds the files. The runtime directory must exist. */
export function installScripts(instance: Instance, files: readonly ScriptFile[]): string {
  const digest = Bun.hash(JSON.stringify(files)).toString(36);
  // The dot keeps it apart from instances' directories: no instance name has one.
  const directory = join(instance.runtimeDir, `shell.${digest}`);
  const isWhole = (): boolean => files.every(({ name }) => fs.existsSync(join(directory, name)));
  if (isWhole()) return directory;
  const temporary = `${directory}.${process.pid}`;
  for (const { name, text } of files) {
    const path = join(temporary, name);
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    fs.writeFileSync(path, text, { mode: 0o600 });
  }
  try {
    fs.renameSync(temporary, directory);
  } catch {
    // Another host was quicker, and shells may be reading its files; or something swept some of them away.
    const superfluous = isWhole() ? temporary : directory;
    fs.rmSync(superfluous, { recursive: true, force: true });
    if (superfluous === directory) fs.renameSync(temporary, directory);
  }
  return directory;
}
