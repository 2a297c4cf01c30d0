/** Paste buffers without a name: a person's calls use no copy of an AI agent, by whatever interface; an agent's use the newest. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { kill, stored } from "../reliability/checkpoints/crashed-sessions.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { until } from "../support/until.ts";
import { program } from "../support/wsh-program.ts";

const copies = (text: string) => `printf '\\033]52;c;${Buffer.from(text).toString("base64")}\\007'`;

async function start(config = "# agents_may has its default\n") {
  const wsh = new McpInstance({}, { config });
  await wsh.session("theirs");
  const client = await wsh.client();
  const claude = join(wsh.dir, "claude");
  fs.writeFileSync(claude, `#!/bin/bash\n${program.map((word) => `'${word}'`).join(" ")} "$@"\n`, { mode: 0o700 });
  const byAgent = async (...args: readonly string[]): Promise<string> => {
    const child = Bun.spawn([claude, ...args], { cwd: wsh.dir, env: { ...wsh.env }, stdout: "pipe", stderr: "pipe" });
    const [output, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return output + error;
  };
  return { wsh, client, byAgent, [Symbol.asyncDispose]: () => wsh[Symbol.asyncDispose]() };
}

test("show, get, paste and delete without a name", async () => {
  await using place = await start();
  const { wsh, byAgent } = place;
  await wsh.ok("buffer", "set", "a person's first");
  await wsh.ok("buffer", "set", "a person's");
  await byAgent("buffer", "set", "an agent's");
  const shown = async (...more: string[]) => {
    const over = await wsh.fetch("/sessions/theirs/buffer");
    const body = (await over.json()) as { text?: string; error?: { message: string } };
    return [
      await wsh.run("buffer", "show", ...more),
      await wsh.run("buffer", "show", "--session", "theirs"),
      await wsh.run("tmux", "show-buffer"),
    ]
      .map(({ stdout, stderr }) => stdout.trim() || stderr.split("\n")[0])
      .concat(body.text ?? body.error?.message);
  };
  expect(await shown()).toEqual(new Array(4).fill("a person's"));
  expect(await byAgent("buffer", "show")).toContain("an agent's");
  expect(await byAgent("buffer", "show", "--session", "theirs")).toContain("an agent's");
  expect(await byAgent("tmux", "show-buffer")).toContain("an agent's");

  await wsh.ok("tmux", "paste-buffer", "-d", "-t", "theirs");
  await wsh.shows("theirs", "a person's");
  await wsh.ok("buffer", "delete");
  const left = await wsh.ok("buffer", "list");
  expect(left).toContain("an agent's");
  expect(left).not.toContain("a person's");
  const reason = "only AI agents have made paste buffers: choose one by its name";
  expect(await shown()).toEqual([`wsh: ${reason}`, `wsh: ${reason}`, "no buffers", reason]);
  expect((await wsh.run("buffer", "delete")).stderr).toContain(reason);
  expect((await wsh.run("tmux", "delete-buffer")).stderr).toContain("no buffer");
  expect(await byAgent("buffer", "delete")).toBe("");
  expect(await wsh.ok("buffer", "list")).not.toContain("an agent's");
});

test("a program's copy (OSC 52) is the agent's that typed there last, or that made the pane", async () => {
  await using place = await start();
  const { wsh, client, byAgent } = place;
  const listed = (text: string) =>
    until(`the copy '${text}'`, async () => (await wsh.ok("buffer", "list")).includes(text));
  await wsh.exec("theirs", copies("a person's"));
  await listed("a person's");
  await call(client, "wsh_exec", { session: "driven", create: true, command: copies("typed by an agent") });
  await listed("typed by an agent");
  expect(await wsh.ok("buffer", "show")).toBe("a person's");
  await byAgent("new", "started", "--", `${copies("started by an agent")}; sleep 1000`);
  await listed("started by an agent");
  expect(await wsh.ok("buffer", "show")).toBe("a person's");
  expect(await byAgent("buffer", "show")).toBe("started by an agent");
  // What a person types there is the person's again.
  await wsh.exec("driven", copies("a person's again"));
  await listed("a person's again");
  expect(await wsh.ok("buffer", "show")).toBe("a person's again");
});

test("so is a copy after another's call that was refused, and one that an agent types through a raw stream", async () => {
  await using place = await start();
  const { wsh, client, byAgent } = place;
  const listed = (text: string) =>
    until(`the copy '${text}'`, async () => (await wsh.ok("buffer", "list")).includes(text));
  await wsh.ok("buffer", "set", "a person's");
  const go = join(wsh.dir, "go");
  const command = `until [ -e '${go}' ]; do sleep 0.05; done; ${copies("after a refusal")}`;
  await call(client, "wsh_exec", { session: "driven", create: true, command, background: true });
  const body = JSON.stringify({ text: "hello" });
  const headers = { "Content-Type": "application/json" };
  const refused = await wsh.fetch("/sessions/driven/prompt", { method: "POST", headers, body });
  expect(refused.status).toBe(409);
  fs.writeFileSync(go, "");
  await listed("after a refusal");
  expect(await wsh.ok("buffer", "show")).toBe("a person's");

  await byAgent("new", "streamed");
  await wsh.exec("streamed", "true");
  const line = join(wsh.dir, "line");
  fs.writeFileSync(line, `${copies("through a stream")}\n`);
  expect(await byAgent("tmux", "pipe-pane", "-I", "-t", "streamed", `cat '${line}'`)).toBe("");
  await listed("through a stream");
  expect(await wsh.ok("buffer", "show")).toBe("a person's");
});

test("so is a copy in an agent's pane of a person's session that crashed and was restored", async () => {
  await using place = await start('agents_may = "everything"\n');
  const { wsh, byAgent } = place;
  await wsh.ok("buffer", "set", "a person's");
  await byAgent("split", "theirs");
  await until("both panes to be saved", () => stored(wsh, 1) !== null && stored(wsh, 2) !== null);
  await kill(wsh);
  const restored = `printf '\\033]52;c;%s\\007' "$(printf 'restored in %s' "$WSH_PANE" | base64)"`;
  fs.writeFileSync(join(wsh.dir, "home/.bashrc"), `[ "$WSH_PANE" = @2 ] && ${restored}\n`);
  await wsh.ok("restore", "theirs");
  const listed = async () => (await wsh.ok("buffer", "list", "--session", "theirs")).includes("restored in @2");
  await until("the agent's copy", listed);
  expect(await byAgent("buffer", "show", "--session", "theirs")).toBe("restored in @2");
  expect((await wsh.run("buffer", "show", "--session", "theirs")).stdout).not.toContain("restored");
});
