/** `wsh receipt`: prints a signed statement of one command, prints the key that signs it, and verifies statements. */
import fs from "node:fs";
import { type Command, InvalidArgumentError } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { ownerText } from "../../protocol/owner.ts";
import { firstCommandId, paneOfCommand } from "../../protocol/pane-numbers.ts";
import { type Checked, check } from "../../receipts/check.ts";
import { type CheckedCommit, checkCommits, TRAILER } from "../../receipts/commits.ts";
import { unverified } from "../../receipts/envelope.ts";
import { readKeys, type VerifyingKey } from "../../receipts/keys.ts";
import { collect, requireOptions, UsageError, wholeNumber } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson, printText } from "../print.ts";
import { SessionClient } from "../session/client.ts";

interface ReceiptOptions {
  readonly session?: string;
  readonly trailer?: boolean;
  readonly key?: string;
  readonly command?: string;
  readonly exit?: number;
  readonly tree?: string;
  readonly output?: string;
  readonly commits?: string;
  readonly require?: readonly string[];
  readonly json?: boolean;
}

const verifyRules = [
  { option: "commits", excludes: ["file"], needs: "key" },
  { option: "require", needs: "commits" },
];

/** Standard input. */
const STDIN = "-";

export function register(program: Command): void {
  program
    .command("receipt <what> [name]")
    .usage("COMMAND_ID [--trailer] | key NAME | verify [FILE] [options]")
    .description(
      "Print a receipt: what the session's process saw of a command (line, directory, files, exit code, output), signed " +
        "with a key that no program in the session can read. 'verify' checks a receipt, or those of commits, and exits " +
        "with 1 if anything is wrong; 'wsh commands NAME' lists the ids.",
    )
    .option("--session <target>", "the session or pane of the command, if not of this instance")
    .option("--trailer", `print it as a line for git commit --trailer: ${TRAILER}: …`)
    .option("--key <file>", "verify: keys to trust, one a line (default: that of the running session)")
    .option("--command <text>", "verify: this command ran")
    .option("--exit <code>", "verify: it ended with this exit code (default: 0)", wholeNumber(0))
    .option("--tree <id>", "verify: it ran on the files of this git tree, and left them unchanged")
    .option("--output <file>", "verify: it printed the text of this file")
    .option("--commits <range>", `verify: every ${TRAILER} of these commits, such as main..HEAD, with its files`)
    .option("--require <text>", "with --commits: the newest has a receipt of this command; repeatable", collect)
    .option("--json", "verify: as JSON")
    .action(async (what: string, name: string | undefined, options: ReceiptOptions, command: Command) => {
      const instance = instanceOf(command);
      if (what === "verify") return verify(instance, name, options);
      if (what === "key") return printKey(instance, name);
      if (name !== undefined) throw new UsageError(`unexpected argument '${name}'`);
      return printReceipt(instance, commandId(what), options);
    });
}

function commandId(text: string): number {
  const id = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(id)) {
    if (id >= firstCommandId("@1")) return id;
    throw new UsageError(`no command has the id ${id}`, "`wsh commands NAME` lists those of a session.");
  }
  throw new InvalidArgumentError(`'${text}' is neither an action (key, verify) nor the id of a command`);
}

async function printReceipt(instance: Instance, id: number, { session, trailer }: ReceiptOptions): Promise<void> {
  using client = await SessionClient.open(instance, session ?? paneOfCommand(id));
  const envelope = JSON.stringify(await client.call("commands.receipt", { id }));
  const line = trailer === true ? `${TRAILER}: ${Buffer.from(envelope).toString("base64url")}` : envelope;
  await print(`${line}\n`);
}

async function printKey(instance: Instance, name: string | undefined): Promise<void> {
  if (name === undefined) throw new UsageError("'key' needs a session");
  using client = await SessionClient.open(instance, name);
  const { public_key } = await client.call("receipt.key", {});
  await print(`${public_key}\n`);
}

async function verify(instance: Instance, file: string | undefined, options: ReceiptOptions): Promise<void> {
  const { commits, key, require: required = [], json = false } = options;
  requireOptions(verifyRules, { ...options, file, require: required.length > 0 }, { file: "a file" });
  if (commits !== undefined && key !== undefined) {
    const place = { cwd: process.cwd(), env: process.env };
    return report(await checkCommits(place, commits, trusted(key), required), json);
  }
  const given = (file === undefined || file === STDIN ? await Bun.stdin.text() : fs.readFileSync(file, "utf8"))
    .trim()
    .replace(new RegExp(`^${TRAILER}: *`, "i"), "");
  const { command, exit, tree, output } = options;
  const text = output === undefined ? output : fs.readFileSync(output, "utf8");
  const keys = key === undefined ? await livingKey(instance, given) : trusted(key);
  const checked = check(given, keys, { command, exit, tree, output: text });
  if (checked.faults.length > 0) process.exitCode = 1;
  if (json) return printJson(checked);
  return printText(`${describe(checked)}\n`);
}

function trusted(file: string): VerifyingKey[] {
  return readKeys(fs.readFileSync(file, "utf8"), file);
}

/** The key of the session that the receipt names, if the session is running: its own answer is trusted. */
async function livingKey(instance: Instance, given: string): Promise<VerifyingKey[]> {
  try {
    const statement = unverified(given);
    if (statement === null) throw new WshError("invalid_request", "it is not a receipt");
    using client = await SessionClient.open(instance, statement.predicate.session.pane);
    return readKeys((await client.call("receipt.key", {})).public_key, "the session's answer");
  } catch (error) {
    const { message } = WshError.from(error);
    throw new WshError("invalid_request", `no session here has the receipt's key: ${message}`, {
      hint: "Give the keys that you trust: --key FILE. A session's is printed by: wsh receipt key NAME",
    });
  }
}

async function report(commits: readonly CheckedCommit[], json: boolean): Promise<void> {
  const isGood = commits.every(
    ({ receipts, missing }) => missing.length === 0 && receipts.every(({ faults }) => faults.length === 0),
  );
  if (!isGood || commits.length === 0) process.exitCode = 1;
  if (json) return printJson(commits);
  if (commits.length === 0) return printText("No commits in this range.\n");
  const lines = commits.flatMap(({ commit, receipts, missing }) => {
    const short = commit.slice(0, 12);
    return [
      ...receipts.map((checked) => `${short}  ${describe(checked)}`),
      ...missing.map((each) => `${short}  INVALID: it has no valid receipt of '${each}'`),
      ...(receipts.length + missing.length === 0 ? [`${short}  no receipt`] : []),
    ];
  });
  return printText(`${lines.join("\n")}\n`);
}

function describe({ statement, key, faults }: Checked): string {
  if (statement === null) return `INVALID: ${faults.join("; ")}`;
  const { command, exit_code, by, offered_by, started_at, session } = statement.predicate;
  const typist =
    offered_by === undefined
      ? `typed by ${ownerText(by)}`
      : `offered by ${ownerText(offered_by)}, run by ${ownerText(by)}`;
  const what = `'${command ?? "?"}' ended with ${exit_code ?? "?"}, ${typist} at ${started_at} in ${session.name}`;
  return faults.length === 0 ? `valid: ${what} (key ${key})` : `INVALID: ${faults.join("; ")} (${what})`;
}
