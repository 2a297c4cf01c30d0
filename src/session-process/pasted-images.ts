/**
 * Stores images that people paste as files for the session's programs: in the state directory, accessible only to
 * the account. The session process keeps the newest files and removes all of them when it ends. The files of a
 * killed process are removed some days later, when another one stores its first image. Loaded with the first
 * image.
 */
import fs from "node:fs";
import { join } from "node:path";
import { randomToken } from "../base/random-token.ts";
import { removeOldFiles } from "../instance/owned-files.ts";
import { type Instance, inKeptDir } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import type { ImageFormat } from "../protocol/paste.ts";

/** Maximum files of one session: a person pastes a few per question. */
const MAX_FILES = 32;
/** Age at which a file is a leftover, in ms: sessions live for days, but their programs read an image at once. */
const LEFTOVER_AGE_MS = 7 * 24 * 3_600_000;
const NAME_LENGTH = 12;

const signatures: Readonly<Record<ImageFormat, RegExp>> = {
  png: /^\x89PNG\r\n\x1a\n/,
  jpeg: /^\xff\xd8\xff/,
  gif: /^GIF8[79]a/,
  webp: /^RIFF.{4}WEBP/s,
};

/** Oldest first. */
const files: string[] = [];

/** @returns the file's path. @throws WshError invalid_request, runtime_dir_unusable */
export function storeImage(instance: Instance, bytes: Buffer, format: ImageFormat): string {
  if (!signatures[format].test(bytes.toString("latin1", 0, 16)))
    throw new WshError("invalid_request", `the data does not begin like a file of the format ${format}`);
  return inKeptDir(instance, "images", (directory) => {
    if (files.length === 0) {
      removeOldFiles(directory, LEFTOVER_AGE_MS);
      process.on("exit", () => removeFiles(files));
    }
    const path = join(directory, `${randomToken(NAME_LENGTH)}.${format === "jpeg" ? "jpg" : format}`);
    fs.writeFileSync(path, bytes, { mode: 0o600, flag: "wx" });
    files.push(path);
    removeFiles(files.splice(0, files.length - MAX_FILES));
    return path;
  });
}

function removeFiles(paths: readonly string[]): void {
  for (const path of paths) fs.rmSync(path, { force: true });
}
