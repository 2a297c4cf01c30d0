/** On the smallest terminal the shell keeps running, commands are exact, and its size does not outlast it. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { failure, Http } from "../support/http.ts";
import { testWith } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { within } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);
const shells = ["bash", "zsh", "fish"] as const;

describe("a terminal of hardly a cell", () => {
  for (const shell of shells) {
    testWith(shell)(`kills no ${shell}, and commands are exact`, async () => {
      await using wsh = new Wsh();
      writeFileSync(join(wsh.dir, "home/.zshrc"), "PS1='$ '\n");
      await wsh.server();
      const http = new Http({ unix: wsh.instance.httpSocket });
      const api = await SessionApi.shell(http, "tiny", { shell, rows: 1, cols: 2 });
      for (const size of [
        { rows: 1, cols: 2 },
        { rows: 2, cols: 2 },
        { rows: 1, cols: 3 },
      ]) {
        await api.post("resize", size);
        const { output, exit_code } = await api.exec("stty size; echo it runs");
        const [rows = 0, cols = 0] = (output ?? "").split("\n", 1).join().split(" ").map(Number);
        expect([rows >= 2, cols >= 4, exit_code]).toEqual([true, true, 0]);
        expect(output).toEndWith("\nit runs");
      }
      await api.post("resize", { rows: 24, cols: 80 });
      expect(await api.exec("echo it lives")).toMatchObject({ output: "it lives", exit_code: 0 });
    });
  }

  testWith("zsh")("without room for zsh's prompt: exec reports it at once", async () => {
    await using wsh = new Wsh();
    writeFileSync(join(wsh.dir, "home/.zshrc"), "PS1='$ '\n");
    await wsh.server();
    const http = new Http({ unix: wsh.instance.httpSocket });
    const api = await SessionApi.shell(http, "roomless", { shell: "zsh" });
    await api.post("resize", { rows: 2, cols: 4 });
    await api.exec("PS1='abc '");
    const refused = await within(4_000, () => http.post("/sessions/roomless/exec", { command: "echo a" }));
    expect(refused).toMatchObject({ status: 409, body: failure("not_at_prompt", /too small/) });
    await api.post("resize", { rows: 24, cols: 80 });
    expect(await api.exec("echo roomy")).toMatchObject({ output: "roomy", exit_code: 0 });
  });

  test("that attaches and detaches restores the earlier size", async () => {
    await using wsh = new Wsh();
    await wsh.session("squeezed", "--size", "100x30");
    await wsh.prompt("squeezed");
    await using person = await PersonTerminal.open(wsh, { cols: 10, rows: 2 });
    await person.run("wsh attach squeezed");
    await until("the session to follow", async () => (await wsh.list())[0]?.rows === 2);
    await wsh.exec("squeezed", "echo in here");
    await person.keys("C-\\", "C-\\");
    await until("the size before", async () => (await wsh.list())[0]?.cols === 100);
    expect(await wsh.exec("squeezed", "stty size")).toBe("30 100\n");
  });

  test("that attaches and detaches keeps a usable size", async () => {
    await using wsh = new Wsh();
    await wsh.session("kept", "--size", "100x30");
    await wsh.prompt("kept");
    await using person = await PersonTerminal.open(wsh, { cols: 60, rows: 20 });
    await person.run("wsh attach kept");
    await until("the session to follow", async () => (await wsh.list())[0]?.cols === 60);
    await person.detach();
    expect(await wsh.exec("kept", "stty size")).toBe("20 60\n");
  });
});
