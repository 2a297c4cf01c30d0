/** `wsh fleet join` and `leave`: stores or removes this instance's credentials, and notifies its server. */
import fs from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { unpackInvitation } from "../../cluster/authority/invitation.ts";
import { joinedFile, readCredentials, writeSecret } from "../../cluster/fleet/creds-file.ts";
import { type Instance, prepareStateDir } from "../../instance/paths.ts";
import { startServer } from "../../launch/server.ts";
import { WshError } from "../../protocol/errors.ts";
import { type Credentials, parseCredentials } from "../../protocol/fleet.ts";
import { askServer } from "../../registry/server-client.ts";
import { isServerAlive } from "../../registry/single-server.ts";
import { UsageError } from "../arguments.ts";
import { recordAction } from "../credential-audit.ts";
import { complain, printText } from "../print.ts";

/** Longest line that is read from standard input, in bytes. */
const MAX_LINE_BYTES = 1024 * 1024;

interface JoinOptions {
  readonly file?: string;
  readonly start?: boolean;
}

export async function join(instance: Instance, word: string | undefined, options: JoinOptions): Promise<void> {
  const text = unpackInvitation(word === undefined || word === "-" ? await readLine() : word);
  const credentials = parseCredentials(text);
  const { user, settings, expiresAt } = credentials;
  if (expiresAt !== null && expiresAt <= Date.now()) {
    throw new WshError("invalid_credentials", `this invitation ended on ${new Date(expiresAt).toISOString()}`, {
      hint: `Ask for another one; the clock here says ${new Date().toISOString()}.`,
    });
  }
  const membership = { name: user, role: settings.role, fleet: settings.fleet };
  if (options.file !== undefined) {
    const path = resolve(options.file);
    if (fs.existsSync(path)) throw new UsageError(`'${options.file}' already exists`);
    await recordAction(instance, "fleet.join", membership, async () => writeSecret(path, text));
    return printText(`Credentials of '${user}' are in ${path}: wsh server --fleet ${path}\n`);
  }
  await recordAction(instance, "fleet.join", membership, async () => saveMembership(instance, text, credentials));
  await tellServer(instance, settings.role === "machine" && options.start !== false);
  const fleet = settings.fleet === undefined ? "the fleet" : `fleet '${settings.fleet}'`;
  if (settings.role !== "machine") {
    return printText(`Joined ${fleet} as '${user}' (${settings.role}). See its machines: wsh servers\n`);
  }
  await printText(`Joined ${fleet} as machine '${user}', available while a server runs here (wsh server).\n`);
}

/** @throws WshError machine_conflict when this instance already has another identity */
function saveMembership(instance: Instance, text: string, { user, settings }: Credentials): void {
  prepareStateDir(instance);
  const path = joinedFile(instance);
  if (fs.existsSync(path)) {
    const before = readCredentials(path);
    if (before.user !== user || before.settings.fleet !== settings.fleet) {
      const fleet = before.settings.fleet ?? "a fleet";
      throw new WshError("machine_conflict", `this instance is already '${before.user}' of ${fleet}`, {
        hint: "First `wsh fleet leave`, or use another instance (-L).",
      });
    }
  }
  writeSecret(path, text);
}

export async function leave(instance: Instance): Promise<void> {
  const path = joinedFile(instance);
  if (!fs.existsSync(path)) throw new WshError("invalid_request", "this instance is not in a fleet", { hint: "" });
  await recordAction(instance, "fleet.leave", {}, async () => fs.rmSync(path));
  await tellServer(instance, false);
  await printText(
    "Left the fleet; sessions here keep running. To revoke the credentials, run wsh fleet revoke NAME where the fleet was created.\n",
  );
}

/** A running server reads its credentials again; a machine gets a server that stays. */
async function tellServer(instance: Instance, startsServer: boolean): Promise<void> {
  try {
    if (startsServer) {
      await startServer(instance);
      await askServer(instance, "PUT", "/server/persist", { body: { persistent: true } });
    } else if (!isServerAlive(instance)) return;
    await askServer(instance, "POST", "/servers/reload");
  } catch (thrown) {
    process.exitCode = 1;
    complain(`the server here could not be notified: ${WshError.from(thrown).message}. Restart it: wsh server`);
  }
}

/** Reads the invitation from standard input: process lists show the words of a command line. */
async function readLine(): Promise<string> {
  if (process.stdin.isTTY) {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return await lines.question("Invitation: ");
    } finally {
      lines.close();
    }
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of Bun.stdin.stream()) {
    size += part.length;
    if (size > MAX_LINE_BYTES) throw new UsageError("standard input is not an invitation");
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString("utf8");
  if (text.trim() === "") throw new UsageError("'join' needs an invitation, as an argument or on standard input");
  return text;
}
