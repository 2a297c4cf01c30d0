/** Finds and reads the histories of other programs for `wsh history --import`. */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import {
  type ImportSource,
  importSources,
  readAtuin,
  readBash,
  readFish,
  readZsh,
} from "../../history/import/sources.ts";
import type { History } from "../../history/queries.ts";
import type { HistoryRecord } from "../../history/record.ts";
import { UsageError } from "../arguments.ts";

interface ImportFile {
  readonly source: ImportSource;
  readonly path: string;
}

interface Imported extends ImportFile {
  readonly commands: number;
  /** The number of commands that were not imported before. */
  readonly imported: number;
  readonly error?: string;
}

/**
 * @param sources `SOURCE` or `SOURCE=FILE`; empty: every history that exists at its usual path
 * @throws UsageError
 */
export function findImports(
  sources: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ImportFile[] {
  if (sources.length === 0) {
    return importSources
      .map((source) => ({ source, path: usualPlace(source, env) }))
      .filter(({ path }) => fs.existsSync(path));
  }
  return sources.map((text) => {
    const [name, ...file] = text.split("=");
    const source = importSources.find((each) => each === name);
    if (source === undefined) throw new UsageError(`'${name}' is not one of ${importSources.join(", ")}`);
    const path = file.length > 0 ? file.join("=") : usualPlace(source, env);
    if (!fs.existsSync(path)) throw new UsageError(`${path} does not exist`, `Give ${source}=FILE.`);
    return { source, path };
  });
}

function usualPlace(source: ImportSource, env: Readonly<Record<string, string | undefined>>): string {
  const home = env.HOME ?? os.homedir();
  const data = env.XDG_DATA_HOME ?? join(home, ".local/share");
  switch (source) {
    case "bash":
      return join(home, ".bash_history");
    case "zsh":
      return join(env.ZDOTDIR ?? home, ".zsh_history");
    case "fish":
      return join(data, "fish/fish_history");
    case "atuin":
      return join(data, "atuin/history.db");
  }
}

export function importFrom(history: History, { source, path }: ImportFile): Imported {
  try {
    const records = read(source, path);
    const before = fs.statSync(path).mtimeMs;
    return { source, path, commands: records.length, imported: history.import(source, records, before) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { source, path, commands: 0, imported: 0, error: reason };
  }
}

function read(source: ImportSource, path: string): HistoryRecord[] {
  switch (source) {
    case "bash":
      return readBash(fs.readFileSync(path, "utf8"));
    case "zsh":
      return readZsh(fs.readFileSync(path));
    case "fish":
      return readFish(fs.readFileSync(path, "utf8"));
    case "atuin":
      return readAtuin(path);
  }
}
