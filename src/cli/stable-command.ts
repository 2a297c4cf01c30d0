/**
 * The command with which another program (an AI host, launchd, systemd) starts wsh, now and after an upgrade: a name
 * that resolves to this executable is preferred to the executable's own path, which contains a version under Homebrew.
 */
import { selfCommand } from "../launch/launch.ts";
import { brewLinks, linkTo } from "../launch/own-program.ts";

export function stableCommand(args: readonly string[]): string[] {
  const [own = process.execPath, ...before] = selfCommand([]);
  const link = before.length > 0 ? null : linkTo(own, [Bun.which("wsh"), ...brewLinks(own)]);
  return [link ?? own, ...before, ...args];
}
