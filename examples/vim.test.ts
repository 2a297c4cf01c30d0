/** vim: editing a file, and what the screen shows. Run with: wsh test examples/vim.test.ts */
import { expect, test } from "wsh/test";

test("replaces a word, shows where the cursor is, and writes the file", async (t) => {
  await t.exec(`cd "$(mktemp -d)" && printf 'one\\ntwo\\nthree\\n' > words`);
  await t.run("vim -u NONE -i NONE -n words");
  await expect(t).toShow(/"words" 3( lines|L)/);
  await t.type("jcw");
  await t.type("zwei");
  await t.press("Escape");
  await t.waitFor({ screen: ({ rows, cursor }) => rows[1] === "zwei" && cursor.row === 1 && cursor.col === 3 });
  await t.type(":wq\n");
  await expect(t).toHaveExited(0);
  expect((await t.exec("cat words")).output).toBe("one\nzwei\nthree");
});
