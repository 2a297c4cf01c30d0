/** The watch of config.toml at the kernel's limit of watches, in a user namespace with a limit of its own. Linux only. */
import { test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { contentOf } from "../../support/content-of.ts";
import { pathOf } from "../../support/programs.ts";
import { until } from "../../support/until.ts";

const LIMIT = "/proc/sys/user/max_inotify_instances";
/** In a namespace of its own, a process is root and sets the limit of that namespace. */
const inNamespace = (command: string): string[] => ["unshare", "-Ur", "sh", "-c", `echo 0 > ${LIMIT}; exec ${command}`];

function canLimit(): boolean {
  if (process.platform !== "linux" || pathOf("unshare") === null) return false;
  const probe = Bun.spawnSync(inNamespace(`cat ${LIMIT}`), { stderr: "ignore" });
  return probe.exitCode === 0 && probe.stdout.toString().trim() === "0";
}

const isPossible = canLimit();
if (!isPossible) console.warn("no user namespace with a limit of watches: settings without a watch are not tested");

/** Prints every change that it sees, and watches again after each line of input. */
const source = `
  const { watchConfig } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/settings/watch.ts"))});
  const [path, log, limit] = process.argv.slice(2);
  const fs = require("node:fs");
  const watches = () => fs.readdirSync("/proc/self/fd").some((fd) => {
    try { return fs.readlinkSync("/proc/self/fd/" + fd).includes("inotify"); } catch { return false; }
  });
  watchConfig(path, () => fs.appendFileSync(log, "changed: " + fs.readFileSync(path, "utf8") + "\\n"));
  fs.appendFileSync(log, "watches: " + watches() + "\\n");
  for await (const chunk of process.stdin) {
    fs.writeFileSync(limit, "10");
    while (!watches()) await Bun.sleep(5);
    fs.appendFileSync(log, "watches: true\\n");
  }`;

test.if(isPossible)("at the limit of watches a changed file is found by looking, until a watch is free", async () => {
  const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-watch-"));
  const [path, log, script] = ["config.toml", "log", "child.ts"].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  fs.writeFileSync(path, "one");
  fs.writeFileSync(script, source);
  const child = Bun.spawn(inNamespace(`'${process.execPath}' '${script}' '${path}' '${log}' ${LIMIT}`), {
    env: { ...process.env, WSH_TEST_INTERVALS: JSON.stringify({ configPoll: 50 }) },
    stdin: "pipe",
    stderr: "inherit",
  });
  try {
    const logged = (text: string) => until(`the line '${text}'`, () => (contentOf(log) ?? "").includes(text));
    await logged("watches: false");
    fs.writeFileSync(path, "two");
    await logged("changed: two");
    child.stdin.write("free\n");
    child.stdin.flush();
    await logged("watches: true");
    fs.writeFileSync(path, "three");
    await logged("changed: three");
  } finally {
    child.kill("SIGKILL");
    await child.exited;
    fs.rmSync(dir, { recursive: true });
  }
});
