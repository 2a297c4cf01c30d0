/**
 * Runs inside a sandbox that has a grant, and tries everything that the grant does not contain: every operation and
 * request, as any caller, at every target; HTTP and MCP at the socket; the files of wsh. Prints what succeeded, as JSON.
 */
import fs from "node:fs";
import { dirname, join } from "node:path";
import { operations } from "../../src/operations/table.ts";
import { WshError } from "../../src/protocol/errors.ts";
import { Connection } from "../../src/wire/connection.ts";

const socket = process.env.WSH_GRANT ?? "";
const [mine = "@99"] = process.argv.slice(2);
const caller = { kind: "cli", id: "keys", name: "wsh", connected: true } as const;
const targets = [undefined, "@1", "@s1", "@w1", "theirs", "theirs:0.0", "theirs:", "here/theirs"];
const marker = "crossed-over";
const input = {
  ...{ data: marker, input: marker, command: `echo ${marker}`, text: marker, name: marker, question: marker },
  ...{ agent: "claude", event: "Stop", state: "done", pid: 2, signal: "KILL", view: "sessions", any_of: ["exited"] },
  ...{ max_wait_ms: 1, timeout_ms: 1, reason: "killed", op: "pane.split", input: {}, rows: 3, cols: 9, id: 1 },
  ...{ ask_id: "1", answer: "Once", kind: "secret", key: "x", title: marker, create: true, window: "@w1", to: "@1" },
};
const succeeded: string[] = [];
const { connection } = await Connection.open(socket, "server");
const peers = "attach raw window subscribe follow end leave watch go keys command reload resolve settings pane adopt";
for (const op of [...operations.map(({ name }) => name), ...peers.split(" ").map((name) => `peer.${name}`)]) {
  for (const target of targets) {
    const context = { caller, access: "admin", ...(target === undefined ? {} : { target }) } as const;
    const answered = await connection.request(op, input, context).then(
      () => "ok",
      (thrown) => WshError.from(thrown).code,
    );
    if (answered === "ok") succeeded.push(`${op} ${target ?? ""}`.trim());
  }
}
// Its own pane accepts no arguments that lead elsewhere.
for (const extra of [{ view: "theirs" }, { env: { X: "1" } }, { shell: "/bin/bash" }, { stdin: "id" }])
  await connection.request("pane.close", extra, { caller, access: "admin", target: mine }).catch(() => {});
connection.close();

for (const [path, init] of [
  ["/sessions", {}],
  ["/sessions/theirs/screen", {}],
  ["/mcp", { method: "POST", body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }],
] as const) {
  const answer = await fetch(`http://localhost${path}`, {
    unix: socket,
    ...init,
    signal: AbortSignal.timeout(2_000),
  }).then(
    ({ status }) => status,
    () => null,
  );
  if (answer !== null) succeeded.push(`HTTP ${path}: ${answer}`);
}

/** Sockets and secrets of wsh that can be opened through any link. */
function look(at: string, depth: number): void {
  let names: string[] = [];
  try {
    names = fs.readdirSync(at);
  } catch {
    return;
  }
  for (const name of names) {
    const path = join(at, name);
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory() === true && depth > 0) look(path, depth - 1);
    else if (stat !== undefined && path !== socket) succeeded.push(`file ${path}`);
  }
}
for (const at of [process.env.XDG_RUNTIME_DIR, join(process.env.HOME ?? "", ".local/state/wsh")]) look(at ?? "", 4);
for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
  try {
    if (fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes("grant")) succeeded.push(`process ${pid}`);
  } catch {
    // It is hidden, or has ended.
  }
}
// The socket's path cannot be replaced.
for (const attempt of [
  () => fs.unlinkSync(socket),
  () => fs.renameSync(socket, `${socket}.old`),
  () => fs.symlinkSync("/etc/passwd", `${socket}.old`) ?? fs.renameSync(`${socket}.old`, socket),
  () => fs.rmSync(dirname(socket), { recursive: true }),
]) {
  try {
    attempt();
    succeeded.push(`file: ${attempt}`);
  } catch {
    // Expected.
  }
}
console.log(JSON.stringify(succeeded));
