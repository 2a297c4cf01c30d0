/** Calls report what they have ended, and a setting turns confirmation off. */
import { expect, test } from "bun:test";
import { inBackground, splitServer } from "../support/panes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

const PREFIX = "\x1c";
const BACKGROUND = inBackground("sleep 1001");

test("closing, respawning and killing report what ran there, and a key asks nothing with confirm_close = false", async () => {
  await using all = await splitServer({ config: "confirm_close = false\n" });
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  const split = async (command: string): Promise<string> => {
    const { body } = await http.post("/sessions/@1/panes", {});
    const { pane } = body as { pane: string };
    await wsh.exec(pane, command);
    return pane;
  };
  // A process that continues without its terminal is not ended.
  const second = await split(`${BACKGROUND}; ${inBackground("nohup sleep 1002 >/dev/null 2>&1")}`);
  const background = { pane: second, program: "sleep", background: true };
  expect((await http.post(`/sessions/${second}/pane/respawn`, {})).body).toMatchObject({ ended: [background] });
  await wsh.exec(second, BACKGROUND);
  await wsh.enter(second, "cat");
  await until("cat", async () => (await panes("dev")).some(({ program }) => program === "cat"));
  expect(await wsh.ok("pane", "close", second)).toBe(
    `Pane ${second} closed; ended 'cat', 'sleep' in the background.\n`,
  );
  await using person = await EmulatorTerminal.attach(wsh, "dev");
  const third = await split(BACKGROUND);
  await http.post(`/sessions/${third}/pane/select`, {});
  person.type(`${PREFIX}x`);
  await until("one pane", async () => (await panes("dev")).length === 1);
  expect(await wsh.ok("kill", "dev")).toBe("Session 'dev' killed.\n");
  const { pane_id: pane } = await wsh.session("last");
  await wsh.exec("last", BACKGROUND);
  const { body } = await http.expect(200, http.delete("/sessions/last")).then((body) => ({ body }));
  expect(body).toEqual({ ended: [{ ...background, pane }] });
});
