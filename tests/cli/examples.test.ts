/** The examples of `wsh test`: passing tests of public terminal programs. */
import { expect } from "bun:test";
import { join } from "node:path";
import { testWith } from "../support/programs.ts";
import { Wsh } from "../support/wsh.ts";

testWith(
  "less",
  "git",
  "vim",
)("tests of less, git add -p and vim pass", async () => {
  await using wsh = new Wsh();
  const examples = join(import.meta.dir, "../../examples");
  const { code, stderr } = await wsh.run(
    "test",
    ...["less", "git-add-p", "vim"].map((name) => join(examples, `${name}.test.ts`)),
  );
  expect(stderr).toContain(" 3 pass\n 0 fail\n");
  expect(code).toBe(0);
});
