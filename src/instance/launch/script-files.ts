/**
 * Installs embedded files where other programs can read them: one directory per content, in the runtime directory
 * (0700, so its content is ours). Each file is written whole under another name and renamed into place, so that any
 * number of session processes may do this at once, and a file that a cleaner removed is restored.
 */
import fs from "node:fs";
import { dirname, join } from "node:path";
import type { Instance } from "../paths.ts";

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
  for (const { name, text } of files) {
    const path = join(directory, name);
    if (fs.existsSync(path)) continue;
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const temporary = `${path}.${process.pid}.new`;
    fs.writeFileSync(temporary, text, { mode: 0o600 });
    fs.renameSync(temporary, path);
  }
  return directory;
}
