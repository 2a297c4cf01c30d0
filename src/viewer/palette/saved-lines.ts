/**
 * The latest lines of the command palette, for its next use: in a file of the state directory that only this user
 * can read.
 *
 * Invariants: no secret is stored, since only the name is stored of a parameter that may contain any text; a
 * private session adds nothing. If the file cannot be read or written, the lines are lost, but no command fails.
 */
import fs from "node:fs";
import { checkOwnFile, replaceOwnFile } from "../../instance/owned-files.ts";
import { hasStateDir, type Instance } from "../../instance/paths.ts";
import { parseCommandLine, quoteValue, TARGET_PARAMETER } from "../../keys/line.ts";
import type { Parameter } from "../../operations/parameters.ts";

/** Maximum stored lines, and characters of one: about a screen, and a typed line. */
const MAX_LINES = 50;
const MAX_CHARS = 500;

/** Parameters whose text is a name, not a program's input. */
const nameParameters: ReadonlySet<string> = new Set([
  ...[TARGET_PARAMETER, "name", "title", "with", "to", "view", "beside", "signal"],
]);

/** The part of a line that may be stored. @param parameters those of its operation */
export function storableLine(
  line: string,
  parameters: readonly Pick<Parameter, "name" | "values" | "isPlain">[],
): string {
  const { operation, parameters: givenParameters } = parseCommandLine(line);
  const words = Object.entries(givenParameters).map(([name, value]) => {
    const parameter = parameters.find((each) => each.name === name);
    const mayHoldText =
      !nameParameters.has(name) &&
      (parameter === undefined || !(parameter.isPlain || parameter.values.includes(value)));
    return mayHoldText || value === "" ? `${name}=` : `${name}=${quoteValue(value)}`;
  });
  const storable = [operation, ...words].join(" ");
  return storable.length > MAX_CHARS ? operation : storable;
}

export class SavedLines {
  private stored: readonly string[];

  constructor(
    private readonly instance: Instance,
    /** Whether the session is private: nothing is written. */
    private readonly isPrivate: boolean,
  ) {
    this.stored = this.read();
  }

  /** Newest first. */
  get lines(): readonly string[] {
    return this.stored;
  }

  /** @param line result of `keepable` */
  add(line: string): void {
    if (this.isPrivate) {
      this.stored = [line, ...this.stored.filter((each) => each !== line)].slice(0, MAX_LINES);
      return;
    }
    // Other terminals store lines in the same file.
    this.stored = [line, ...this.read().filter((each) => each !== line)].slice(0, MAX_LINES);
    try {
      if (hasStateDir(this.instance)) replaceOwnFile(this.instance.paletteFile, `${this.stored.join("\n")}\n`);
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
