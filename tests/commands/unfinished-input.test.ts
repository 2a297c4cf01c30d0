/** Incomplete keys and pastes, a terminal without echo, input in the middle of a command: exec detects and reports them. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { failure, Http } from "../support/http.ts";
import { isMissing, testWith } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);
const PASTE_BEGIN = "\x1b[200~";

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

const exec = (session: string, command: string, fields: object = {}) =>
  http.post(`/sessions/${session}/exec`, { command, ...fields });

for (const shell of ["bash", "zsh", "fish"].filter((name) => !isMissing(name))) {
  test(`${shell}: a paste without an end`, async () => {
    const api = await SessionApi.shell(http, `${shell}-paste`, { shell });
    await api.type(`${PASTE_BEGIN}echo pasted`);
    expect(await exec(api.name, "echo no")).toMatchObject({ status: 409, body: failure("prompt_not_empty", /paste/) });
    await api.press("Ctrl+C");
    // fish continues the paste; the other editors have dropped it with the line.
    if (shell !== "fish") await until("an empty line", async () => (await exec(api.name, "echo yes")).status === 200);
    await api.type(`${PASTE_BEGIN}echo pasted`);
    const cleared = await until("the paste to rest", async () => {
      const { status, body } = await exec(api.name, "echo cleared", { clear_line: true });
      return status === 200 && body;
    });
    expect(cleared).toMatchObject({ output: "cleared", exit_code: 0 });
    expect(await api.exec("echo after")).toMatchObject({ output: "after" });
    expect((await http.screen(api.name)).lines.join("\n")).not.toContain("[20;8~");
  });

  test(`${shell}: a paste that a program read`, async () => {
    const api = await SessionApi.shell(http, `${shell}-eaten`, { shell });
    await api.exec("cat >/dev/null", { background: true });
    await api.until("waiting_for_input");
    await api.type(`${PASTE_BEGIN}text\r`);
    await api.press("Ctrl+D");
    await api.until("prompt");
    await until("a whole command", async () => {
      await api.type("\r");
      return (await exec(api.name, "echo yes", { clear_line: true })).status === 200;
    });
    expect(await api.exec("echo after")).toMatchObject({ output: "after" });
  });

  test(`${shell}: input during a command may be in its output, and the result warns of it`, async () => {
    const api = await SessionApi.shell(http, `${shell}-ahead`, { shell });
    const result = api.exec("sleep 2; echo done");
    await until("the command", async () => (await api.commands())[0]?.state === "running");
    await api.type("ahead");
    const { output, warnings } = await result;
    expect(output).toContain("done");
    expect(warnings?.join()).toContain("typed during the command");
    const record = (await api.commands())[0];
    expect(record?.warnings?.join()).toContain("typed during the command");
    expect((await api.exec("echo next", { clear_line: true })).warnings ?? []).toEqual([]);
  });
}

for (const shell of ["bash", "zsh"].filter((name) => !isMissing(name))) {
  test(`${shell}: half a key is left for its writer to complete`, async () => {
    const api = await SessionApi.shell(http, `${shell}-half`, { shell });
    await api.type("\x1b[");
    expect(await exec(api.name, "echo no")).toMatchObject({
      status: 409,
      body: failure("prompt_not_empty", /is incomplete/),
    });
    // Its rest completes the key: Up.
    await api.type("A");
    expect(await api.exec("echo yes", { clear_line: true })).toMatchObject({ output: "yes" });
    await api.type("\x16");
    expect(await api.exec("echo cleared", { clear_line: true })).toMatchObject({ output: "cleared" });
  });
}

testWith("bash")("bash: a terminal without echo", async () => {
  const api = await SessionApi.shell(http, "unechoed", { shell: "bash" });
  await api.exec("stty -echo");
  expect(await api.exec("echo unseen")).toMatchObject({ output: "unseen", exit_code: 0 });
  await api.type("if true\r");
  await until("the reason", async () => {
    const { body } = await exec("unechoed", "echo no");
    return JSON.stringify(body).includes("does not echo");
  });
  expect(await api.exec("stty echo; echo seen", { clear_line: true })).toMatchObject({ output: "seen" });
  expect(await api.exec("echo after")).toMatchObject({ output: "after" });
});

testWith("bash")("bash: an IFS that splits numbers", async () => {
  const api = await SessionApi.shell(http, "split", { shell: "bash" });
  await api.exec("IFS=0");
  expect(await api.exec("echo whole")).toMatchObject({ output: "whole", exit_code: 0 });
});
