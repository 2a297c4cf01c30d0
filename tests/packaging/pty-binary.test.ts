/** Both PTY adapters work in a compiled binary that is started in an empty directory, without node_modules near it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const scratch = mkdtempSync(join(tmpdir(), "wsh-pty-binary-"));
const binary = join(scratch, "program");
const empty = join(scratch, "empty");

const main = `
if (process.argv[2] !== undefined) {
  const { openPty } = await import("./pty/open.ts");
  const open = await openPty(process.argv[2] === "bun-pty" ? "bun-pty" : "bun");
  const { promise, resolve } = Promise.withResolvers();
  const parts = [];
  // Output may come before the opening is reported.
  let pty = null;
  let early = 0;
  const take = (bytes) => {
    parts.push(bytes);
    if (pty === null) early += bytes.length;
    else pty.ack(bytes.length);
  };
  pty = await open(
    { file: "/bin/sh", args: ["-c", "stty size; seq 1 2000; exit 5"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, rows: 20, cols: 70 },
    { data: take, exit: resolve },
  );
  pty.ack(early);
  const exit = await promise;
  pty.dispose();
  console.log(JSON.stringify({ exit, text: Buffer.concat(parts).toString() }));
}
`;

/** Split into chunks, as the released binary is built. */
beforeAll(() => {
  mkdirSync(join(scratch, "src"));
  mkdirSync(empty);
  for (const folder of ["pty", "platform", "instance", "wire", "operations", "base", "protocol"])
    cpSync(join(root, "src", folder), join(scratch, "src", folder), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(scratch, "node_modules"));
  writeFileSync(join(scratch, "src/main.ts"), main);
  const flags = ["--compile", "--minify", "--bytecode", "--format=esm", "--splitting", "--outfile", binary];
  const built = Bun.spawnSync([process.execPath, "build", ...flags, "src/main.ts"], {
    cwd: scratch,
    stdio: ["ignore", "pipe", "pipe"],
  });
  expect(built.stderr.toString()).not.toContain("error");
  rmSync(join(scratch, "src"), { recursive: true });
  rmSync(join(scratch, "node_modules"));
}, 180_000);

afterAll(() => rmSync(scratch, { recursive: true }));

test.each(["bun", "bun-pty"])("%s", async (adapter) => {
  const run = Bun.spawn([binary, adapter], {
    cwd: empty,
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()]);
  expect(err).toBe("");
  const { exit, text } = JSON.parse(out);
  expect(exit).toEqual({ code: 5, signal: null });
  expect(text).toBe(`20 70\r\n${Array.from({ length: 2000 }, (_, at) => `${at + 1}\r\n`).join("")}`);
});
