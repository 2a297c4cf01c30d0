/** The line above a pane, as a person sees it. */
import { expect, test } from "bun:test";
import { Http } from "../support/http.ts";
import { personAt } from "../support/person.ts";
import { until } from "../support/until.ts";

const PREFIX = "\x1c";

test("the line above a pane shows its title, its writer, and its end reason", async () => {
  await using all = await personAt({ status: "auto", cols: 80, config: "keep_after_exit = true\n" });
  const { person, wsh } = all;
  person.type(`${PREFIX}"`);
  await person.sees(/^ dev /m);
  person.type("printf '\\033]2;my work\\007'; cat\r");
  await person.sees(/[─━] my work( · waits for input)? [─━]/);
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  // It is displayed for a few seconds, from the call on: the answer may come later.
  const [{ status }] = await Promise.all([
    http.post("/sessions/dev:0.1/input", { data: "from a call\r" }),
    person.sees(/[─━] my work · an HTTP client types( · waits for input)? [─━]/),
  ]);
  expect(status).toBe(204);
  await until("nobody types", async () => !/client types . /.test(await person.text()));
  expect(await person.text()).toContain(" my work ");
  await wsh.ok("pane", "title", "dev:0.1", "its name");
  await person.sees(/[─━] its name( · waits for input)? [─━]/);
  // Twice: the first submits the line that the call has begun.
  person.type("\x04\x04exit 3\r");
  await person.sees(/[─━] its name · exited: 3 [─━]/);
  // The pane at the top has no line above it, and every row of the window: it reports its end itself.
  person.type(`${PREFIX}z`);
  await until("no line", async () => !/[─━] its name/.test(await person.text()));
  await person.sees(/^ its name · exited: 3$/m);
});

for (const [config, status, titled] of [
  ["", "off", false],
  ["border_titles = 'off'\n", "on", false],
  ["border_titles = 'on'\n", "off", true],
] as const) {
  test(`lines ${titled ? "have" : "have no"} titles with ${config.trim() || "no setting"} and status ${status}`, async () => {
    await using all = await personAt({ status, config, cols: 80 });
    const { person } = all;
    person.type(`${PREFIX}"`);
    await person.sees(/[─━]{20}/);
    person.type("printf '\\033]2;my work\\007'; cat\r");
    if (titled) await person.sees(/[─━] my work( · waits for input)? [─━]/);
    else {
      const panes = async (): Promise<string> => all.wsh.ok("pane", "list", "dev");
      await until("the pane's title is known", async () => (await panes()).includes("my work"));
      expect(await person.text()).toMatch(/^[─━╼╾]{80}$/m);
    }
  });
}
