/** Reads a token that the settings name by its file. */
import { readRegularFile } from "../base/regular-file.ts";

/** Largest token in a file, in bytes. */
const MAX_TOKEN_BYTES = 4_096;

/** @throws Error if the file cannot be read, or has no token */
export function readToken(path: string): string {
  const text = readRegularFile(path).slice(0, MAX_TOKEN_BYTES).trim();
  if (!/^[\x21-\x7e]+$/.test(text)) throw new Error(`'${path}' has no token`);
  return text;
}
