/** bash with a line editor in place of readline: a stand-in with the essential behaviour of ble.sh, rewritten. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

const standIn = join(import.meta.dir, "../fixtures/ble-stand-in.bash");

async function session(more = ""): Promise<Wsh> {
  const wsh = new Wsh();
  const rc = `PS1='$ '\nunset HISTFILE\n${more}\n. '${standIn}'\nble-attach\n`;
  fs.writeFileSync(join(wsh.dir, "home/.bashrc"), rc);
  await wsh.session("s");
  return wsh;
}

async function exec(wsh: Wsh, command: string) {
  const { stdout, stderr } = await wsh.run("exec", "s", "--json", "--", command);
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
}

describe("an editor in bash, attached at the end of .bashrc", () => {
  test("takes exec at its first prompt, and each result is exact", async () => {
    await using wsh = await session();
    for (const [command, output, exit] of [
      ["echo hi", "hi", 0],
      ["(exit 7)", "", 7],
      ["echo one\necho two", "one\ntwo", 0],
      ["cat <<END\na 'b'\nEND\nfalse", "a 'b'", 1],
      ["ls /nowhere 2>/dev/null || (echo no; exit 5)", "no", 5],
      ["mkdir -p sub && cd sub && pwd | sed 's,.*/,,'", "sub", 0],
    ] as const) {
      expect(await exec(wsh, command)).toMatchObject({ output, exit_code: exit });
    }
    expect(await wsh.ok("screen", "s")).toContain("[ble: exit 5]");
  });

  test("reports the content of its line, and discards it on request", async () => {
    await using wsh = await session();
    await exec(wsh, "true");
    await wsh.type("s", "half of");
    await wsh.shows("s", "half of");
    expect((await wsh.run("exec", "s", "--", "echo hi")).stderr).toContain("contains 'half of'");
    expect(await wsh.ok("exec", "s", "--clear-line", "--", "echo hi")).toBe("hi\n");
  });

  test("keeps the person's own hooks unchanged", async () => {
    await using wsh = await session("PROMPT_COMMAND=('((++first))' '((++second))')");
    for (let n = 0; n < 3; n++) await exec(wsh, "true");
    const before = (await exec(wsh, "echo $first $second")).output.split(" ").map(Number);
    const after = (await exec(wsh, "echo $first $second")).output.split(" ").map(Number);
    expect(after).toEqual(before.map((count: number) => count + 1));
  });
});
