/**
 * The program under test: WSH_BIN, else the built binary when no source is newer, else the source itself. Tests that
 * measure, or that need the binary's own behaviour, check `isCompiled`.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const built = join(root, "dist/wsh");

function newest(directory: string): number {
  return Math.max(
    ...readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== "tsconfig.json")
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  );
}

function choose(): readonly string[] {
  const named = process.env.WSH_BIN;
  if (named !== undefined && named !== "") return [named];
  if (existsSync(built) && statSync(built).mtimeMs > newest(join(root, "src"))) return [built];
  return [process.execPath, join(root, "src/main.ts")];
}

/** The command that runs wsh; arguments follow. */
export const program: readonly string[] = choose();

export const isCompiled: boolean = program.length === 1;
