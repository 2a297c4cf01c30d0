/** less: searching, and what its last row says. Run with: wsh test examples/less.test.ts */
import { expect, test } from "wsh/test";

test("finds a line, says when there is none, and leaves the screen as it was", async (t) => {
  await t.exec("echo before");
  await t.run("seq 1000 | LESS= less -j1");
  await t.waitFor("fullscreen");
  await t.type("/^500$\n");
  await t.waitFor({ screen: (screen) => screen.rows[0] === "500" });
  await t.type("/nowhere\n");
  await expect(t).toShow("Pattern not found");
  await t.press("q");
  await expect(t).toHaveExited(0);
  await expect(t).toShow("before");
});
