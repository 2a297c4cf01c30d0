/** git add -p: a dialog with a question for each hunk. Run with: wsh test examples/git-add-p.test.ts */
import { expect, test } from "wsh/test";

test("stages the hunks that are wanted, and no others", async (t) => {
  await t.exec(`cd "$(mktemp -d)" && git init -q . && seq 30 > list && git add list`);
  await t.exec("git -c user.name=a -c user.email=a@example.com commit -qm first");
  await t.exec("sed -i -e 's/^2$/two/' -e 's/^28$/twenty-eight/' list");
  await t.run("git -c color.ui=never add -p");
  let hunk = 0;
  while (await t.expect(/Stage this hunk/, { orEnd: true })) {
    hunk++;
    const { rows, cursor } = await t.screen();
    const shown = rows.slice(0, cursor.row).join("\n");
    await t.type(shown.includes("+twenty-eight") ? "y\n" : "n\n");
  }
  expect(hunk).toBe(2);
  const { output } = await t.exec("git diff --cached --numstat; git diff --cached | grep '^+[a-z]'");
  expect(output).toMatch(/^1\s+1\s+list\n\+twenty-eight$/);
});
