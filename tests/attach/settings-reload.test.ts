/** A change of config.toml takes effect at once, in terminals and pages; a mistake in it has no effect and is reported. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { Gateway } from "../support/server.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { TestView } from "../support/view.ts";

const PREFIX = "\x1c";
let gateway: Gateway;
let terminal: EmulatorTerminal;
beforeAll(async () => {
  gateway = await Gateway.start({ env: { WSH_STATUS: "on" } });
  await gateway.session("dev");
  terminal = await EmulatorTerminal.attach(gateway, "dev", { rows: 20, cols: 120 });
});
afterAll(async () => {
  await terminal[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
});

/** Like an editor: another file replaces the old one. */
function write(...lines: string[]): void {
  const file = join(gateway.dir, "home/.config/wsh/config.toml");
  fs.writeFileSync(`${file}.new`, `${lines.join("\n")}\n`);
  fs.renameSync(`${file}.new`, file);
}

async function colorOfStatus(row: number): Promise<string> {
  return JSON.stringify((await terminal.grid()).lines[row]?.[60]?.style.bg ?? null);
}

/** A client reads the file a moment after the session does: the key is pressed until it gives the window this name. */
async function named(name: string, press: () => void): Promise<void> {
  await until(`g to name the window '${name}'`, async () => {
    press();
    return (await terminal.text()).includes(` 0:${name}*`);
  });
}

test("drawing and keys change in place; a mistake changes nothing, and is reported in one line", async () => {
  await terminal.sees((text) => (text.split("\n")[19] ?? "").startsWith(" dev "));
  write('status_position = "top"', "[theme]", 'status = "white on blue"', "[keys]", '"g" = "window.update name=one"');
  await terminal.sees((text) => text.startsWith(" dev "));
  await until("the colour", async () => (await colorOfStatus(0)) === '{"indexed":4}');
  await named("one", () => terminal.type(`${PREFIX}g`));
  write('status_position = "top"', "[theme]", 'status = "white on red"', "[keys]", '"g" = "window.update name=two"');
  await until("the other colour", async () => (await colorOfStatus(0)) === '{"indexed":1}');
  await named("two", () => terminal.type(`${PREFIX}g`));
  // Mistakes.
  write('status_position = "left"');
  await terminal.sees(
    /the old settings remain in effect: config\.toml:1: status_position is "left", expected one of bottom, top/,
  );
  expect((await gateway.run("config", "--changed")).stdout).toContain(
    "In force in session 'dev': status_position \"top\"",
  );
  const reload = await gateway.run("config", "reload");
  expect(reload).toMatchObject({ code: 1, stdout: "" });
  expect(reload.stderr.split("status_position is").length - 1).toBe(1);
  write('status_position = "bottom"', "[keys]", '"g" = "nonsense.op"');
  await terminal.sees(/the old settings remain in effect: config\.toml:3: .*nonsense\.op/);
  // A valid setting takes effect although a key is wrong: each is as in the file, or unchanged.
  write('status_position = "bottom"');
  await terminal.sees((text) => (text.split("\n")[19] ?? "").startsWith(" dev "));
  expect(await gateway.ok("config", "reload")).toBe("The settings are in force in 1 session.\n");
});

test("new panes and windows use the file of that moment", async () => {
  write(
    ...['term = "tmux-256color"', "base_index = 5", "pane_base_index = 1", "renumber_windows = true"],
    ...["[env]", 'GREETING = "hello there"'],
  );
  expect(await gateway.ok("config", "reload")).toContain("in force");
  const at = async (): Promise<number[]> =>
    JSON.parse(await gateway.ok("window", "list", "dev", "--json")).map(({ index }: { index: number }) => index);
  const first = (await gateway.ok("window", "new", "dev")).trim();
  const second = (await gateway.ok("window", "new", "dev")).trim();
  expect(await at()).toEqual([0, 5, 6]);
  expect(await gateway.ok("exec", "dev:6.1", "--", "echo $TERM $GREETING")).toBe("tmux-256color hello there\n");
  await gateway.ok("window", "close", first);
  expect(await at()).toEqual([5, 6]);
  await gateway.ok("window", "close", second);
  await gateway.ok("window", "move", "dev", "0");
  write("");
  await gateway.ok("config", "reload");
});

test("keys change in a page, too", async () => {
  const view = await TestView.open(await gateway.ws("/sessions/dev/ws/view"));
  await view.shows("$");
  write("[keys]", '"g" = "window.update name=page"');
  await named("page", () => view.type(`${PREFIX}g`));
});
