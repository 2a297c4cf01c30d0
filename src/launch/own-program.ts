/**
 * The file to start when this program starts itself again. An upgrade may have replaced or removed it (Homebrew removes
 * the old version's directory, and npm its package) while this process runs. Linux's kernel still has it; elsewhere the
 * name of the new version is the closest substitute.
 */
import fs from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { RUNNING_FILE } from "../platform/own-process.ts";

interface ExecutableFacts {
  /** Path of the running executable, links resolved. */
  readonly running: string;
  /** The name by which this process was called. */
  readonly called: string;
  readonly isThere: (path: string) => boolean;
  readonly inPath: (name: string) => string | null;
}

/** @returns the file, `running` if none is found; and whether it may be another version */
export function programFile({ running, called, isThere, inPath }: ExecutableFacts): { path: string; isOther: boolean } {
  const same = [running, RUNNING_FILE].find(isThere);
  if (same !== undefined) return { path: same, isOther: false };
  const named = [...brewLinks(running), ...(isAbsolute(called) ? [called] : [])].find(isThere);
  const found = named ?? inPath(nameOf(called)) ?? inPath("wsh");
  return { path: found ?? running, isOther: found !== null };
}

let isSaid = false;

/** The program's file; if it may be another version, standard error (of a server its log) reports that once. */
export function ownProgram(): string {
  const running = process.execPath;
  const { path, isOther } = programFile({
    running,
    called: process.argv0,
    isThere: (candidate) => fs.existsSync(candidate),
    inPath: (name) => Bun.which(name),
  });
  if (isOther && !isSaid) {
    isSaid = true;
    process.stderr.write(
      `wsh: ${running}, which this process runs, is gone, as after an upgrade: ${path} is started\n`,
    );
  }
  return path;
}

/** The first of these paths that leads to the file; absolute. */
export function linkTo(file: string, paths: readonly (string | null)[]): string | null {
  const target = realPath(file);
  const found = paths.find((path) => path !== null && target !== null && realPath(path) === target);
  return found === undefined || found === null ? null : resolve(found);
}

/** Links that Homebrew keeps to PREFIX/Cellar/FORMULA/VERSION/bin/NAME, through every upgrade. */
export function brewLinks(path: string): string[] {
  const [, prefix, formula, name] = /^(.*)\/Cellar\/([^/]+)\/[^/]+\/bin\/([^/]+)$/.exec(realPath(path) ?? path) ?? [];
  return prefix === undefined ? [] : [`${prefix}/bin/${name}`, `${prefix}/opt/${formula}/bin/${name}`];
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function realPath(path: string): string | null {
  try {
    return fs.realpathSync(path);
  } catch {
    return null; // removed, or out of reach
  }
}
