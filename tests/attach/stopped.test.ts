/** An attached terminal whose client is stopped belongs to the shell again, completely, until `fg`. */

import { describe, expect, test } from "bun:test";
import { readsTerminal } from "../support/processes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

if (!hasTmux) console.warn("tmux is not installed: nothing is tested of stopped clients");
const PROMPT = /^\$$/m;

describe.skipIf(!hasTmux || process.platform !== "linux")("a stopped client", () => {
  test("kill -TSTP restores the terminal; fg shows the session's current state", async () => {
    await using wsh = new Wsh({ config: "reset_modes = false\n" });
    await using person = await PersonTerminal.open(wsh);
    await wsh.session("s");
    await person.type("stty -a > before.txt");
    await person.type("wsh attach s");
    await person.sees(PROMPT);
    await person.type("printf '\\033[?1000h\\033[?25l'; echo mouse on");
    await person.sees(/^mouse on$/m);
    await until("the mouse to be on", async () => (await person.fact("mouse_any_flag")) === "1");

    process.kill(await person.clientPid(), "SIGTSTP");
    await person.sees(/Stopped/);
    expect(await person.fact("mouse_any_flag")).toBe("0");
    expect(await person.fact("cursor_flag")).toBe("1");
    await wsh.exec("s", "echo meanwhile");
    await person.type("stty -a > after.txt; cmp before.txt after.txt && echo out''side");
    expect(await person.sees(/^outside$/m)).not.toMatch(/^meanwhile$/m);
    expect(await wsh.screen("s")).not.toContain("side");

    await person.type("fg");
    await person.sees(/^meanwhile$/m);
    await until("the mouse to be on again", async () => (await person.fact("mouse_any_flag")) === "1");
    await person.type("echo in''side");
    expect(await person.sees(/^inside$/m)).not.toContain("outside");
    expect(await person.all()).toMatch(/^outside$/m);
    await person.keys("C-\\", "C-\\");
    await person.sees("[detached from session 's']");
  });

  test("SIGSTOP: no input to the shell gets into the session, and fg works", async () => {
    await using wsh = new Wsh();
    await using person = await PersonTerminal.open(wsh);
    await wsh.session("s");
    await person.type("wsh attach s");
    await person.sees(PROMPT);
    await person.type("echo direct");
    await person.sees(/^direct$/m);
    const [host = 0] = wsh.hosts();
    await until("the host to read the keys itself", () => readsTerminal(host));
    process.kill(await person.clientPid(), "SIGSTOP");
    await person.sees(/Stopped/);
    // Typed once: no key is lost.
    await person.type("echo out''side");
    await person.sees(/^outside$/m);
    await until("the host to read no more", () => !readsTerminal(host));
    for (const word of ["one", "two", "three"]) {
      await person.type(`echo ${word}`);
      await person.sees(new RegExp(`^${word}$`, "m"));
    }
    expect(await wsh.screen("s")).not.toMatch(/side|one|two|three/);

    await person.type("fg");
    await person.sees((screen) => PROMPT.test(screen) && !screen.includes("three"));
    await person.type("echo in''side");
    await person.sees(/^inside$/m);
  });

  test("in the background it stays stopped, and the session's output is not displayed", async () => {
    await using wsh = new Wsh();
    await using person = await PersonTerminal.open(wsh);
    await wsh.session("s");
    await person.type("wsh attach s");
    await person.sees(PROMPT);
    const client = await person.clientPid();
    process.kill(client, "SIGSTOP");
    await person.sees(/Stopped/);
    await person.type("clear");
    await person.type("bg");
    await person.type("clear");
    await until("it to be stopped again", async () => {
      await person.type("jobs");
      return /^\[1\]\+?\s+Stopped/m.test(await person.screen());
    });
    await wsh.exec("s", "echo not he''re");
    await person.type("echo typed");
    expect(await person.sees(/^typed$/m)).not.toContain("not here");
    await person.type("fg");
    await person.sees(/^not here$/m);
    await person.type("echo in''side");
    await person.sees(/^inside$/m);
  });
});

test("a client that no shell could continue (its terminal's first process) is not stopped, and loses nothing", async () => {
  await using wsh = new Wsh();
  await wsh.session("s");
  await using terminal = await EmulatorTerminal.attach(wsh, "s");
  terminal.type("echo before\r");
  await terminal.sees(/^before$/m);
  process.kill(terminal.pid, "SIGTSTP");
  // Typed while it releases and takes the terminal again.
  for (let n = 1; n <= 20; n++) {
    terminal.type(`echo n${n}\r`);
    await terminal.sees(new RegExp(`^n${n}$`, "m"));
  }
});
