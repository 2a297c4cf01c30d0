/** A command whose shell ends under it has no exit code: the shell's own is not used. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);
const COMMAND = "sleep 30 && echo done";

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

for (const shell of ["bash", "zsh", "fish"].filter((name) => !isMissing(name))) {
  async function running(name: string) {
    const api = await SessionApi.shell(http, `${shell}-${name}`, { shell });
    const result = api.exec(COMMAND);
    // The record runs before the program does.
    await until("the program", async () => (await api.status()).foreground?.name === "sleep");
    return { api, result };
  }

  test(`${shell}: hung up from outside`, async () => {
    const { api, result } = await running("hung-up");
    const { pid } = (await wsh.list()).find(({ name }) => name === api.name) ?? {};
    process.kill(Number(pid), "SIGHUP");
    const { state, exit_code, signal, output } = await result;
    expect(exit_code).toBeNull();
    expect(output).not.toContain("done");
    expect([state, signal]).toEqual(shell === "bash" ? ["finished", "SIGHUP"] : ["lost", null]);
  });

  test(`${shell}: restarted`, async () => {
    const { api, result } = await running("restarted");
    await wsh.ok("restart", api.name);
    const { state, exit_code, signal } = await result;
    // The shell may have seen the command's end before it was hung up itself.
    if (signal === "SIGHUP") expect([null, 129]).toContain(exit_code ?? null);
    else expect({ state, exit_code }).toEqual({ state: "lost", exit_code: null });
    await api.until("prompt");
    expect(await api.exec("echo next")).toMatchObject({ output: "next", exit_code: 0 });
  });

  test(`${shell}: a command that ends its shell has the shell's code`, async () => {
    const api = await SessionApi.shell(http, `${shell}-exits`, { shell });
    expect(await api.exec("exit 3")).toMatchObject({ state: "finished", exit_code: 3 });
  });
}
