/** Receipts of commands: their signer, their content, and errors that `wsh receipt verify` finds. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import type { OperationOutput } from "../../src/operations/table.ts";
import type { Statement } from "../../src/protocol/receipt.ts";
import { Http } from "../support/http.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { testWith } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

let wsh: McpInstance;
let repo: string;
beforeAll(async () => {
  wsh = new McpInstance({}, { config: 'receipt_trees = true\nagents_may = "everything"' });
  repo = join(wsh.dir, "repo");
  git("init", "-q", repo);
  await wsh.session("dev", "--cwd", repo);
  await wsh.exec("dev", "echo one > a");
  git("-C", repo, "add", "a");
  git("-C", repo, "commit", "-qm", "one");
  fs.writeFileSync(join(wsh.dir, "keys"), await wsh.ok("receipt", "key", "dev"));
});
afterAll(async () => {
  await wsh[Symbol.asyncDispose]();
});

function git(...args: readonly string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@t"];
  const { stdout, stderr, exitCode } = Bun.spawnSync(["git", ...who, ...args], { env: wsh.env, cwd: wsh.dir });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString().trim();
}

/** Runs a command and returns its id. */
async function ran(command: string): Promise<string> {
  await wsh.run("exec", "dev", "--", command);
  return String((JSON.parse(await wsh.ok("commands", "dev", "--json", "-n", "1")) as { id: number }[])[0]?.id);
}

function statementOf(envelope: string): Statement {
  const { payload } = JSON.parse(envelope) as OperationOutput<"commands.receipt">;
  return JSON.parse(Buffer.from(payload, "base64").toString()) as Statement;
}

const verify = (given: string, ...args: readonly string[]) =>
  wsh.runWith({ input: given }, "receipt", "verify", ...args);

test("a receipt contains the command, its files, and its output", async () => {
  const id = await ran("cat a; echo two > b; false");
  const receipt = await wsh.ok("receipt", id);
  const { predicate, subject } = statementOf(receipt);
  const { git: trees } = predicate;
  expect(predicate).toMatchObject({ command: "cat a; echo two > b; false", cwd: repo, exit_code: 1, verified: true });
  expect(predicate.by).toEqual({ kind: "person", name: "wsh" });
  expect(trees.before?.tree).toBe(git("-C", repo, "rev-parse", "HEAD^{tree}"));
  git("-C", repo, "add", "b");
  expect(trees.after?.tree).toBe(git("-C", repo, "write-tree"));
  expect(subject).toContainEqual({ name: "files", digest: { gitTree: trees.after?.tree ?? "" } });
  expect(predicate.output?.sha256).toBe(new Bun.SHA256().update("one\n").digest("hex"));
  // The repository's index and objects were not changed for it.
  expect(await verify(receipt, "--exit", "1")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^valid: /) });
  const wrong = await verify(receipt, "--key", "keys", "--command", "make", "--tree", trees.before?.tree ?? "");
  expect(wrong).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^INVALID: .*not with 0.*the command was.*left/),
  });
  git("-C", repo, "commit", "-qm", "two");
});

testWith("openssl")("OpenSSL verifies the signature with the printed key", async () => {
  const receipt = JSON.parse(await wsh.ok("receipt", await ran("true"))) as OperationOutput<"commands.receipt">;
  const payload = Buffer.from(receipt.payload, "base64");
  const front = `DSSEv1 ${receipt.payloadType.length} ${receipt.payloadType} ${payload.length} `;
  const raw = Buffer.from((await wsh.ok("receipt", "key", "dev")).split(" ")[1] ?? "", "base64").subarray(-32);
  const file = (name: string, bytes: Uint8Array): string => {
    fs.writeFileSync(join(wsh.dir, name), bytes);
    return join(wsh.dir, name);
  };
  // The key in X.509: a fixed prefix, and 32 bytes (RFC 8410).
  const key = file("key.der", Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]));
  const signed = file("signed", Buffer.concat([Buffer.from(front), payload]));
  const sig = file("sig", Buffer.from(receipt.signatures[0]?.sig ?? "", "base64"));
  const args = [
    "pkeyutl",
    "-verify",
    "-pubin",
    "-keyform",
    "DER",
    "-inkey",
    key,
    "-rawin",
    "-in",
    signed,
    "-sigfile",
    sig,
  ];
  expect(Bun.spawnSync(["openssl", ...args], { env: wsh.env }).exitCode).toBe(0);
});

test("commits carry receipts, which are checked against their own files", async () => {
  const good = await wsh.ok("receipt", await ran("test -s a"), "--trailer");
  git("-C", repo, "commit", "-q", "--allow-empty", "-m", "tested", "--trailer", good.trim());
  const check = (...args: readonly string[]) => {
    const child = Bun.spawnSync([...wsh.command("receipt", "verify", "--key", "../keys", ...args)], {
      ...{ env: wsh.env, cwd: repo },
    });
    return { code: child.exitCode, text: child.stdout.toString() + child.stderr.toString() };
  };
  expect(check("--commits", "HEAD~1..", "--require", "test -s a")).toMatchObject({ code: 0 });
  const missing = check("--commits", "HEAD~1..", "--require", "make test");
  expect(missing).toMatchObject({ code: 1, text: expect.stringContaining("no valid receipt of 'make test'") });
  // The receipt moves on to other files.
  fs.writeFileSync(join(repo, "a"), "changed");
  git("-C", repo, "commit", "-qam", "more", "--trailer", good.trim());
  const moved = check("--commits", "HEAD~2..", "--require", "test -s a");
  expect(moved).toMatchObject({ code: 1, text: expect.stringMatching(/INVALID: it left the tree/) });
  expect(check("--commits", "--output=x").code).not.toBe(0);
  expect(fs.existsSync(join(repo, "x"))).toBe(false);
});

test("an agent's command has that agent as its signer, with the same receipt by every interface", async () => {
  await wsh.server();
  const client = await wsh.client();
  const { value } = await call(client, "wsh_exec", { session: "dev", command: "echo agent" });
  const id = String(value.command_id);
  const http = new Http({ unix: wsh.instance.httpSocket });
  const answered = await http.expect<object>(200, http.get(`/sessions/dev/commands/${id}/receipt`));
  expect(answered).toEqual(JSON.parse(await wsh.ok("receipt", id)));
  expect(statementOf(JSON.stringify(answered)).predicate.by).toMatchObject({ kind: "agent" });
});

test("a line that an agent has offered and a person has run names both; one that the person has typed names nobody else", async () => {
  await wsh.server();
  await wsh.session("offers", "--cwd", repo);
  await using terminal = await EmulatorTerminal.attach(wsh, "offers", { seen: "$", rows: 24, cols: 100 });
  const receipt = async () => {
    const [command] = JSON.parse(await wsh.ok("commands", "offers", "--json", "-n", "1")) as { id: number }[];
    return wsh.ok("receipt", String(command?.id), "--session", "offers");
  };
  const headers = { "Content-Type": "application/json", "Wsh-Agent": "claude" };
  const offered = await wsh.fetch("/sessions/offers/offer", {
    ...{ method: "POST", headers, body: JSON.stringify({ text: "echo of-$((40+2))" }) },
  });
  expect(offered.status).toBe(200);
  await terminal.sees("echo of-$((40+2))");
  terminal.type("; echo more-$((40+3))\r");
  await terminal.sees(/^more-43/m);
  await wsh.prompt("offers");
  const both = await receipt();
  expect(statementOf(both).predicate).toMatchObject({
    command: "echo of-$((40+2)); echo more-$((40+3))",
    by: { kind: "person", name: "wsh" },
    offered_by: { kind: "agent", name: "claude" },
  });
  expect((await verify(both)).stdout).toContain('offered by the agent "claude", run by a person');
  terminal.type("echo own-$((40+4))\r");
  await terminal.sees(/^own-44/m);
  await wsh.prompt("offers");
  const own = await receipt();
  expect(statementOf(own).predicate).not.toHaveProperty("offered_by");
  expect((await verify(own)).stdout).toContain("typed by a person");
});

test("a line sent with `wsh send` names its sender: the person at the command line, or the agent above it", async () => {
  await wsh.session("sent", "--cwd", repo);
  const senderOf = async (env: Readonly<Record<string, string>>, n: number) => {
    const sent = await wsh.runWith({ env }, "send", "sent", `echo sent-$((${n}))`, "--enter");
    expect(sent.code).toBe(0);
    const id = await until("the command's end", async () => {
      const [last] = JSON.parse(
        await wsh.ok("commands", "sent", "--json", "-n", "1"),
      ) as OperationOutput<"commands.list">;
      return last?.command === `echo sent-$((${n}))` && last.state === "finished" ? last.id : null;
    });
    return statementOf(await wsh.ok("receipt", String(id), "--session", "sent")).predicate.by;
  };
  expect(await senderOf({}, 51)).toEqual({ kind: "person", name: "wsh" });
  expect(await senderOf({ WSH_AGENT: "claude" }, 52)).toEqual({ kind: "agent", name: "claude" });
  expect(await senderOf({}, 53)).toEqual({ kind: "person", name: "wsh" });
});

test("there is no receipt of an unseen command, and the key is out of reach", async () => {
  const start = await wsh.run("exec", "dev", "--background", "--", "sleep 60");
  const running = await wsh.run("receipt", String(Number(start.stdout)));
  expect(running).toMatchObject({ code: 1, stderr: expect.stringContaining("still runs") });
  await wsh.ok("signal", "dev", "INT");
  expect(await wsh.run("receipt", "5")).toMatchObject({ code: 2, stdout: "" });
  expect((await wsh.run("receipt", "nothing")).code).toBe(2);
  expect((await verify("nonsense")).code).toBe(1);
  if (process.platform !== "linux") return;
  // The kernel's view of a process with hidden memory: its files belong to root, whoever runs it.
  const program = 'import { hideMemory } from "./src/platform/undumpable.ts"; console.log(hideMemory())';
  const hidden = Bun.spawnSync([process.execPath, "-e", program], { cwd: join(import.meta.dir, "../..") });
  expect(hidden.stdout.toString()).toBe("true\n");
});

testWith("unshare")("a shell in a visible container has other files: the receipt has no tree", async () => {
  await wsh.session("box", "--cwd", repo);
  await wsh.ok("run", "box", "unshare -Urm bash --norc");
  const { command_id: id } = JSON.parse(await wsh.ok("exec", "box", "--integrate", "bash", "--json", "--", "true"));
  expect(statementOf(await wsh.ok("receipt", String(id))).predicate.git).toEqual({
    ...{ before: null, after: null, missing: expect.stringContaining("in a container") },
  });
});
