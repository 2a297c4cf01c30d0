/** Reads a file of JSON that only this user can change. */
import fs from "node:fs";
import * as v from "valibot";
import { checkOwnFile } from "./owned-files.ts";

/** @param maxBytes a larger file is not read @returns null for a missing, foreign, too large or invalid file */
export function readOwnJson<T>(
  path: string,
  schema: v.GenericSchema<unknown, T>,
  maxBytes = Number.POSITIVE_INFINITY,
): T | null {
  try {
    if (!checkOwnFile(path) || fs.statSync(path).size > maxBytes) return null;
    const parsed = v.safeParse(schema, JSON.parse(fs.readFileSync(path, "utf8")));
    return parsed.success ? parsed.output : null;
  } catch {
    return null;
  }
}
