/**
 * The last lines of the command palette, for the next time: in a file of the state directory that is accessible to this
 * user alone.
 *
 * Invariants: of a parameter that may hold any text only the name is stored, so nothing secret is; a private session
 * adds nothing. A file that cannot be read or written costs the remembered lines, and no command.
 */
import fs from "node:fs";
import { checkOwnFile, replaceOwnFile } from "../../instance/owned-files.ts";
import { hasStateDir, type Instance } from "../../instance/paths.ts";
import { parseCommandLine, quoted, TARGET_PARAMETER } from "../../keys/line.ts";
import type { Parameter } from "../../operations/parameters.ts";

/** Maximum stored lines, and characters of one: about a screen, and a typed line. */
const MAX_LINES = 50;
const MAX_CHARS = 500;
const _OWNER_ONLY = 0o600;

/** Parameters whose text is a name, and no program's input. */
const names: ReadonlySet<string> = new Set([
  ...[TARGET_PARAMETER, "name", "title", "with", "to", "view", "beside", "signal"],
]);

/** The part of a line that may be stored. @param parameters those that its operation takes */
export function keepable(line: string, parameters: readonly Pick<Parameter, "name" | "values" | "isPlain">[]): string {
  const { operation, parameters: given } = parseCommandLine(line);
  const words = Object.entries(given).map(([name, value]) => {
    const parameter = parameters.find((each) => each.name === name);
    const isOpen =
      !names.has(name) && (parameter === undefined || !(parameter.isPlain || parameter.values.includes(value)));
    return isOpen || value === "" ? `${name}=` : `${name}=${quoted(value)}`;
  });
  const kept = [operation, ...words].join(" ");
  return kept.length > MAX_CHARS ? operation : kept;
}

export class Remembered {
  private kept: readonly string[];

  constructor(
    private readonly instance: Instance,
    /** Nothing is written. */
    private readonly isPrivate: boolean,
  ) {
    this.kept = this.read();
  }

  /** Newest first. */
  get lines(): readonly string[] {
    return this.kept;
  }

  /** @param line as `keepable` has made it */
  add(line: string): void {
    if (this.isPrivate) {
      this.kept = [line, ...this.kept.filter((each) => each !== line)].slice(0, MAX_LINES);
      return;
    }
    // Other terminals remember in the same file.
    this.kept = [line, ...this.read().filter((each) => each !== line)].slice(0, MAX_LINES);
    try {
      if (hasStateDir(this.instance)) replaceOwnFile(this.instance.paletteFile, `${this.kept.join("\n")}\n`);
    } catch {
      // This terminal still remembers it.
    }
  }

  private read(): string[] {
    try {
      const { paletteFile } = this.instance;
      if (!checkOwnFile(paletteFile)) return [];
      const lines = fs.readFileSync(paletteFile, "utf8").split("\n");
      return lines.filter((line) => line !== "" && line.length <= MAX_CHARS).slice(0, MAX_LINES);
    } catch {
      return [];
    }
  }
}
