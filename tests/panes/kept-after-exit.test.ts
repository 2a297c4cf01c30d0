/** A pane kept after its program's end stays readable, longer than ended sessions are kept. */
import { expect, test } from "bun:test";
import { splitServer } from "../support/panes.ts";
import { personAt } from "../support/person.ts";
import { until } from "../support/until.ts";

test("a kept pane is read and closed by its id, however long it stays", async () => {
  await using all = await splitServer({ config: "grace_seconds = 1\nkeep_after_exit = true\n" });
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  const { pane } = (await http.post("/sessions/dev/panes", { command: "echo kept; exit 4" })).body as { pane: string };
  await until("its end", async () => (await panes("dev")).some(({ exit_code }) => exit_code === 4));
  // An ended session of the same age is gone by then.
  const other = await wsh.session("other", "--", "true");
  await until(
    "an ended session to be gone",
    async () => (await http.get(`/sessions/${other.id}/output`)).status === 404,
  );
  expect(await wsh.ok("output", pane)).toContain("kept");
  expect(await wsh.ok("pane", "close", pane)).toBe(`Pane ${pane} closed.\n`);
  expect(await panes("dev")).toHaveLength(1);
  await until("its process to be gone", async () => (await http.get(`/sessions/${pane}/output`)).status === 404);
});

test("a kept pane shows its end reason where no line above it does: at the top, alone in its window, without titles", async () => {
  await using all = await personAt({ config: 'keep_after_exit = true\nborder_titles = "off"\n', status: "auto" });
  const { person, wsh } = all;
  await wsh.ok("split", "dev", "--", "printf top; exit 3");
  await person.sees(/[│┃]top\n.*[│┃] printf · exited: 3$/m);
  await wsh.ok("split", "dev", "-d", "down", "--", "seq 100; printf full; exit 4");
  await person.sees(/^full .*seq · exited: 4 [│┃]/m);
  await wsh.ok("window", "new", "dev", "--", "echo alone; exit 5");
  person.type("\x1c1");
  await person.sees(/^alone\n echo · exited: 5$/m);
});
