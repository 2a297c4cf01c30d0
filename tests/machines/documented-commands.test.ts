/**
 * The commands of docs/machines.md for a fleet, line by line as printed. Stand-ins for other machines: `ssh m1`
 * runs its command in the instance of that machine, and `hub.example.org` is this machine, on free ports.
 */
import { expect, setDefaultTimeout } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { freePorts } from "../support/free-ports.ts";
import { testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

setDefaultTimeout(120_000);

const page = fs.readFileSync(join(import.meta.dir, "../../docs/machines.md"), "utf8");

/** Input lines of the block that has this line. */
function typedIn(line: string): string[] {
  const blocks = [...page.matchAll(/^```console\n([\s\S]*?)^```/gm)].map(([, block = ""]) => block.split("\n"));
  const block = blocks.find((lines) => lines.includes(line));
  if (block === undefined) throw new Error(`docs/machines.md has no '${line}'`);
  return block.filter((each) => each.startsWith("$ ")).map((each) => each.slice(2));
}

/** A program in the instance's PATH. */
function command(wsh: Wsh, name: string, script: string): void {
  const bin = join(wsh.dir, "bin");
  fs.mkdirSync(bin, { recursive: true });
  fs.writeFileSync(join(bin, name), `#!/bin/bash\n${script}\n`, { mode: 0o755 });
}

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(" ");

/** The environment of that shell, in which `wsh` is on PATH. */
function environment(wsh: Wsh): Record<string, string> {
  return { ...wsh.env, PATH: `${wsh.dir}/bin:${wsh.env.PATH}:/usr/sbin` };
}

async function typed(wsh: Wsh, lines: readonly string[]): Promise<string> {
  const [said, errors] = ["said", "errors"].map((name) => join(wsh.dir, `${name}-${lines.length}`));
  if (said === undefined || errors === undefined) throw new Error("two files");
  // Files, since a background process keeps its descriptors open.
  const run = Bun.spawn(["bash", "-euo", "pipefail", "-c", lines.join("\n")], {
    cwd: wsh.dir,
    env: environment(wsh),
    stdin: "ignore",
    stdout: Bun.file(said),
    stderr: Bun.file(errors),
  });
  const code = await run.exited;
  expect({ code, errors: code === 0 ? "" : fs.readFileSync(errors, "utf8") }).toEqual({ code: 0, errors: "" });
  return fs.readFileSync(said, "utf8");
}

testWith("nats-server")("a fleet is made and used by the commands of docs/machines.md", async () => {
  await using hub = new Wsh();
  await using m1 = new Wsh();
  await using m2 = new Wsh();
  const [tls = 0, wss = 0] = freePorts(2);
  const own = `if [ "$1 $2" = "fleet init" ]; then set -- "\${@/hub.example.org/127.0.0.1}" --port ${tls} --wss-port ${wss}; fi`;
  command(hub, "wsh", `${own}\nexec ${quoted(program)} "$@"`);
  const machines = Object.entries({ m1, m2 });
  for (const [name, machine] of machines) {
    command(machine, "wsh", `exec ${quoted(program)} "$@"`);
    const set = Object.entries(environment(machine)).map(([variable, value]) => `${variable}=${value}`);
    command(hub, `as-${name}`, `exec env -i ${quoted(set)} "$@"`);
  }
  command(hub, "ssh", 'machine=$1; shift; exec "as-$machine" "$@"');

  const made = await typed(hub, typedIn("$ wsh fleet init --host hub.example.org"));
  expect(made).toMatch(/^me +admin +joined|^me +admin/m);
  expect(made).toMatch(/^m2 +machine +.*gpu/m);
  const healthy = async (): Promise<number> => ((await hub.ok("servers")).match(/^m\d +healthy/gm) ?? []).length;
  await until("both machines", async () => (await healthy()) === 2);
  const used = await typed(hub, typedIn("$ wsh new m1/dev --tag build"));
  expect(used).toContain("m1/dev");
  expect(used).toMatch(/^m2\/job /m);
  expect(await m1.list()).toEqual([]);
});
