/**
 * The command with which something else (an AI host, launchd, systemd) starts wsh, now and after an upgrade: a name that
 * leads to this executable is preferred to the executable's own path, which carries a version under Homebrew.
 */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { selfCommand } from "../instance/launch/launch.ts";

export function stableCommand(args: readonly string[]): string[] {
  const [own = process.execPath, ...before] = selfCommand([]);
  const known = before.length > 0 ? null : linkTo(own, [Bun.which("wsh"), ...brewLinks(own)]);
  return [known ?? own, ...before, ...args];
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

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null; // removed, or out of reach
  }
}
