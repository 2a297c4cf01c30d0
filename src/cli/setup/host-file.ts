/**
 * The real location of a host's file, and its text. A repository may contain symbolic links: within a project's
 * directory, links are followed only as long as they stay inside it; links of the user's own are followed and named.
 */
import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { WshError } from "../../protocol/errors.ts";
import type { HostScope } from "./ai-hosts.ts";

/**
 * Largest file that is read, in bytes: Claude Code keeps histories beside its servers; anything larger is a mistake.
 */
const LARGEST_FILE_BYTES = 64 * 1024 * 1024;

export interface ConfigFile {
  /** The path as the host names it. */
  readonly file: string;
  /** The path with every link resolved; the file itself may not exist yet. */
  readonly target: string;
}

/** @throws WshError unsafe_path for a dangling link or, in a project, one out of it */
export function placeOf(file: string, scope: HostScope, cwd: string): ConfigFile {
  const target = resolveLinks(file);
  if (scope === "project") {
    const root = realpathSync(cwd);
    if (!target.startsWith(root.endsWith(sep) ? root : root + sep))
      throw outsideError(file, target, "out of the project");
    if (target.slice(root.length).split(sep).includes(".git"))
      throw outsideError(file, target, "into its .git directory");
  }
  return { file, target };
}

/** Resolves as much of the path as exists. */
function resolveLinks(file: string): string {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat !== undefined) {
    try {
      return realpathSync(file);
    } catch (cause) {
      throw new WshError("unsafe_path", `${file} is a dangling symbolic link`, { hint: LINK_HINT }, { cause });
    }
  }
  const parent = dirname(file);
  return parent === file ? file : join(resolveLinks(parent), basename(file));
}

const LINK_HINT = "Nothing was written. Replace the link with a file or directory, or edit its target by hand.";

function outsideError(file: string, target: string, where: string): WshError {
  return new WshError("unsafe_path", `${file} leads ${where}, to ${target}`, { hint: LINK_HINT });
}

/**
 * The text of a file, undefined when it does not exist. @throws WshError invalid_setting when it cannot be read as text
 */
export function textOf({ file, target }: ConfigFile): string | undefined {
  const refuse = (reason: string, cause?: unknown): WshError =>
    new WshError("invalid_setting", `${file} ${reason}`, { hint: "It was not changed." }, { cause });
  try {
    const stat = statSync(target);
    if (!stat.isFile()) throw refuse("is not a regular file");
    if (stat.size > LARGEST_FILE_BYTES) throw refuse(`has ${stat.size} bytes, too many for a configuration file`);
    // Text that does not decode would be written back as other bytes.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(target));
  } catch (cause) {
    if (cause instanceof WshError) throw cause;
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
    if (cause instanceof TypeError) throw refuse("is not text in UTF-8", cause);
    throw refuse(`cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}
