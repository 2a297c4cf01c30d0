/** Copies this program to a machine without it, with the person's consent: only for the same system and processor. */
import fs from "node:fs";
import os from "node:os";
import { installScript, parsedHello } from "../../cluster/ssh/command.ts";
import type { SshTransport } from "../../cluster/ssh/ssh-transport.ts";
import { WshError } from "../../protocol/errors.ts";
import { VERSION } from "../../protocol/version.ts";
import { confirmed } from "../confirm.ts";
import { complain } from "../print.ts";

/** Longest time for the copy, in ms: 100 MB over a slow line. */
const COPY_MS = 20 * 60_000;

/**
 * @param system `uname -s` and `uname -m` there
 * @returns whether wsh is installed there now
 * @throws WshError machine_unreachable with the error on that machine
 */
export async function installRemote(system: string, transport: SshTransport): Promise<boolean> {
  const program = process.execPath;
  const ownSystem = `${os.type()} ${machineOf(os.arch())}`;
  if (normal(system) !== ownSystem || !isOurs(program)) {
    complain(`${transport.host} has no wsh, and this one (${ownSystem}) cannot run there (${system}).`);
    return false;
  }
  const megabytes = Math.round(fs.statSync(program).size / 1_000_000);
  const question = `${transport.host} has no wsh. Copy this one (${VERSION}, ${megabytes} MB) to ~/.local/bin there?`;
  if (!(await confirmed(question))) return false;
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const part of Bun.file(program).stream()) hasher.update(part);
  const stdout = await transport.run(installScript(hasher.digest("hex")), {
    timeoutMs: COPY_MS,
    input: Bun.file(program),
  });
  const answer = parsedHello(stdout);
  if (answer?.word === "installed") return true;
  throw new WshError("machine_unreachable", `the copy failed: ${answer?.word ?? "no reply"} ${answer?.rest ?? ""}`);
}

/** When run from source, this process is Bun. */
function isOurs(program: string): boolean {
  return !/\/bun(-[^/]*)?$/.test(program);
}

function machineOf(arch: string): string {
  return arch === "arm64" ? "aarch64" : arch === "x64" ? "x86_64" : arch;
}

/** macOS calls arm64 what Linux calls aarch64. */
function normal(system: string): string {
  return system.replace(/ arm64$/, " aarch64").replace(/ amd64$/, " x86_64");
}
