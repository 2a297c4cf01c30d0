/** A line for the next prompt that cannot be inserted: the attached person is notified, and nothing is typed. */
import { describe, expect, test } from "bun:test";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

/** Requests a line behind `cat`, which then ends with input typed ahead. */
async function offeredBehindText(wsh: Wsh, target: string): Promise<void> {
  await wsh.prompt(target);
  await wsh.type(target, "cat >/dev/null\r");
  await until("cat to run", async () => (await wsh.ok("status", target)).includes("cat"));
  const answer = await wsh.fetch(`/sessions/${encodeURIComponent(target)}/offer`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text: "echo offered-line", after_command: true }),
  });
  expect([answer.status, await answer.json()]).toMatchObject([200, { state: "pending" }]);
  await wsh.type(target, "\x04mine");
}

describe.if(hasTmux)("a line that cannot be inserted at the prompt", () => {
  test("attached terminals show it for a while, and input is kept", async () => {
    await using wsh = new Wsh();
    await wsh.server();
    await wsh.session("dev");
    await using person = await PersonTerminal.open(wsh);
    await person.type("wsh attach dev");
    await person.sees(/^\$$/m);
    await offeredBehindText(wsh, "dev");
    await person.sees("not put at the prompt: echo offered-line (the prompt is not empty)");
    await person.sees(/^\$ mine/m);
    await person.sees((screen) => !screen.includes("not put at the prompt"));
    await person.keys("C-u");
    await person.sees(/^\$$/m);
    expect(await wsh.ok("screen", "dev")).not.toContain("offered-line");
  });

  test("a session of several panes shows it, too", async () => {
    await using wsh = new Wsh();
    await wsh.server();
    await wsh.session("dev");
    const [pane] = (await wsh.list())[0]?.windows[0]?.panes ?? [];
    const split = await wsh.fetch("/sessions/dev/panes", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(split.ok).toBe(true);
    await using person = await PersonTerminal.open(wsh, { cols: 160 });
    await person.type("wsh attach dev");
    await person.sees(/^\$ /m);
    await offeredBehindText(wsh, pane?.id ?? "");
    await person.sees("not put at the prompt: echo offered-line");
    await person.sees((screen) => !screen.includes("not put at the prompt"));
  });
});
