/** Every command of the README and of docs/ works as printed: shell blocks are run, settings blocks are loaded. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { finished, Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

const readme = fs.readFileSync(join(import.meta.dir, "../../README.md"), "utf8");
const docsDirectory = join(import.meta.dir, "../../docs");
const docs = fs.readdirSync(docsDirectory).filter((name) => name.endsWith(".md"));

function blocks(language: string, text: string = readme): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map((match) => match[1] ?? "");
}

/** Puts `wsh` on a PATH, whether it is the binary or the sources. */
function binDirectory(wsh: Wsh): string {
  const bin = join(wsh.dir, "bin");
  fs.mkdirSync(bin);
  const words = program.map((word) => `'${word}'`).join(" ");
  fs.writeFileSync(join(bin, "wsh"), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  return bin;
}

/** The two commands for a clone build and check everything: whoever runs this test runs them. */
const shellBlocks = blocks("sh").filter((block) => !block.startsWith("npx "));
const docsBlocks = docs.flatMap((name) => blocks("sh", fs.readFileSync(join(docsDirectory, name), "utf8")));

test("the README has blocks to run", () => {
  expect(shellBlocks.length).toBeGreaterThanOrEqual(3);
  expect(blocks("sh").filter((block) => block.startsWith("npx -y bun@1.4.4 run "))).toHaveLength(2);
});

test.each([...shellBlocks, ...docsBlocks])("this block works:\n%s", async (block) => {
  await using wsh = new Wsh();
  const env = { ...wsh.env, PATH: `${binDirectory(wsh)}:${wsh.env.PATH}` };
  const run = Bun.spawn(["bash", "-euo", "pipefail", "-c", block], {
    cwd: wsh.dir,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const { stdout: out, stderr: err, code } = await finished(run);
  expect({ code, err, errors: out.match(/"error":\{.*/g) }).toEqual({ code: 0, err: "", errors: null });
});

test("the README's settings are valid", async () => {
  for (const config of blocks("toml")) {
    await using wsh = new Wsh({ config });
    const printed = await wsh.ok("config");
    for (const line of config.trim().split("\n")) {
      const [key = "", value = ""] = line.split(" = ");
      expect(printed).toMatch(new RegExp(`^${key}\\s+${value.replace(/[^\w"]/g, "\\$&")}.*config\\.toml`, "m"));
    }
  }
});

test("the README's hosts for setup exist", async () => {
  await using wsh = new Wsh();
  for (const [, host = ""] of readme.matchAll(/^\$ wsh setup ([\w-]+)$/gm)) {
    const { code, stderr } = await wsh.run("setup", host, "--dry-run");
    expect({ host, code, stderr }).toEqual({ host, code: 0, stderr: "" });
  }
});
