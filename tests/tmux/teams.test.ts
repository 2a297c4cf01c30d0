/** Typical tmux calls of agent teams and scripts, through `wsh tmux` in one session. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { stopProcess } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const wsh = new Wsh();
const log = join(wsh.dir, "hooks");
const robot = { env: { WSH_AGENT: "Robot" } };
const at = async (...words: readonly string[]): Promise<string> => (await wsh.ok("tmux", ...words)).trimEnd();

afterAll(() => wsh[Symbol.asyncDispose]());

// Each begins with the sessions that the one before leaves.
test("panes beside the caller's, in place, with their ids, titles and ends", async () => {
  await wsh.session("dev", "--", "cat");
  const [lead = ""] = (await at("list-panes", "-t", "dev", "-F", "#{pane_id}")).split("\n");
  expect(await at("display-message", "-t", lead, "-p", "#{window_id}")).toMatch(/^@\d+$/);
  expect(await at("show", "-Av", "mouse")).toBe("off");
  expect(await at("display-message", "-t", lead, "-p", "#{pane_tty}")).toMatch(/^\/dev\/\w/);

  const made = await at("split-window", "-d", "-t", lead, "-h", "-l", "70%", "-P", "-F", "#{pane_id}", "--", "cat");
  expect(made).toMatch(/^%\d+$/);
  await at("select-pane", "-t", made, "-T", "alpha");
  await at("set-option", "-p", "-t", made, "remain-on-exit", "failed");
  for (const style of ["window-style", "pane-border-style"])
    await at("set-option", "-p", "-t", made, style, "bg=default");
  await at("respawn-pane", "-k", "-t", made, "--", "echo team; exit 3");
  const look = [
    "list-panes",
    "-t",
    lead,
    "-F",
    "#{pane_id} #{pane_title} #{pane_dead} #{pane_dead_status} #{pane_active}",
  ];
  await until("the pane to stay with its failure", async () => (await at(...look)).includes(`${made} alpha 1 3 0`));
  expect(await at("capture-pane", "-p", "-S-", "-t", made)).toMatch(/^team\n+Pane is dead \(status 3, .*\d\)$/);

  // A window's own option applies to its panes, not to other windows.
  await at("set-option", "-w", "-t", "dev", "remain-on-exit", "on");
  const alone = await at("new-window", "-d", "-t", "dev", "-P", "-F", "#{pane_id}", "exit 0");
  await until("its end", async () => !(await at("list-panes", "-a", "-F", "#{pane_id}")).includes(alone));
  await at("set-option", "-wu", "-t", "dev", "remain-on-exit");

  // Again in the same pane, by the id that the team knows; a successful end removes the pane.
  await at("respawn-pane", "-k", "-t", made, "--", "cat");
  await at("send-keys", "-t", made, "-l", "Enter C-c");
  await at("send-keys", "-t", made, "", "Enter");
  await until("what was typed", async () =>
    (await at("capture-pane", "-p", "-t", made)).startsWith("Enter C-c\nEnter C-c"),
  );
  await at("send-keys", "-t", made, "C-d");
  await until("the pane to be gone", async () => !(await at(...look)).includes(made));
});

test("a chain, in which the pane that a command made is the default of the next; hooks on actions and events", async () => {
  const chain = [
    "new-session",
    "-d",
    "-s",
    "two",
    "cat",
    ";",
    "split-window",
    "cat",
    ";",
    "display",
    "-p",
    "#S #{window_panes}",
  ];
  expect(await at(...chain)).toBe("two 2");

  await at("set-hook", "-t", "two", "after-rename-session", "display-message -p 'now #S'");
  expect(await at("show-hooks", "-t", "two")).toStartWith("after-rename-session[0] display-message");
  expect(await at("rename-session", "-t", "two", "zwei", ";", "rename-session", "-t", "zwei", "two")).toContain(
    "now two",
  );
  // On events without a call.
  await at("set-hook", "-g", "pane-exited", `run-shell "echo #{hook} #{hook_session_name} >>${log}"`);
  const brief = await at("split-window", "-d", "-t", "two", "-P", "-F", "#{pane_id}", "exit 0");
  await until(
    "the hook of its end",
    async () =>
      (await Bun.file(log)
        .text()
        .catch(() => "")) === "pane-exited two\n",
  );
  expect(brief).toMatch(/^%/);
  await at("set-hook", "-gu", "pane-exited");
});

test("a hook that an agent sets runs as the agent, whoever triggers it; it sets none for others", async () => {
  await wsh.runWith(robot, "tmux", "new-session", "-d", "-s", "robots", "cat");
  const renamed = ["set-hook", "-t", "robots", "after-rename-window"];
  await at(...renamed, `run-shell "echo person=$WSH_AGENT >>${log}"`);
  const added = `run-shell "echo agent=$WSH_AGENT >>${log}"`;
  await wsh.runWith(robot, "tmux", "set-hook", "-a", ...renamed.slice(1), added);
  await at("rename-window", "-t", "robots", "again");
  expect(await Bun.file(log).text()).toEndWith("person=\nagent=Robot\n");
  await wsh.runWith(robot, "tmux", ...renamed, "kill-session -t dev");
  expect((await wsh.run("tmux", "rename-window", "-t", "robots", "once")).stderr).toContain(
    "Robot may not session.kill",
  );
  // What a command runs finds this instance by `tmux`, and what `set-environment` has set, by whoever may set it.
  await at("set-environment", "-g", "GIVEN", "all", ";", "set-environment", "-t", "two", "OWN", "two's");
  expect((await wsh.runWith(robot, "tmux", "set-environment", "-t", "robots", "OWN", "a robot's")).code).toBe(0);
  const asked = ["run-shell", 'tmux display-message -p "#{session_name} $GIVEN ${OWN-nothing} $TMUX_PANE"'];
  for (const [name, own] of [
    ["two", "two's"],
    ["robots", "nothing"],
  ]) {
    const inside = await at("list-panes", "-t", name ?? "", "-f", "#{pane_active}", "-F", "#{pane_id}");
    const env = { WSH_SOCKET: wsh.instance.httpSocket, WSH_PANE: inside.replace("%", "@"), TMUX: "" };
    expect((await wsh.runWith({ env }, "tmux", ...asked)).stdout).toBe(`${name} all ${own} ${inside}\n`);
  }
  const broken = ["set-environment", "-g", "PATH", "", ";", "set-environment", "-g", "TMUX", "/nowhere,1,1"];
  expect(await at(...broken, ";", "run-shell", "tmux display-message -p found")).toBe("found");
  await at("set-environment", "-gu", "PATH", ";", "set-environment", "-gu", "TMUX");
  await at("kill-session", "-t", "robots");
  // The hook of one session, by a call from elsewhere, and about a new window.
  await at("set-hook", "-t", "two", "after-split-window", "set-option -gF @split '#S #{pane_id} #{hook_flag_t}'");
  const hooked = await at("split-window", "-d", "-t", "two:", "-P", "-F", "#{pane_id}", "cat");
  expect(await at("show", "-gv", "@split")).toBe(`two ${hooked} two:`);
  await at("kill-pane", "-t", hooked, ";", "set-hook", "-u", "-t", "two", "after-split-window");
  for (const option of ["prefix", "command-alias", "default-command"])
    expect((await wsh.runWith(robot, "tmux", "set", "-g", option, "x")).stderr).toContain(
      "Robot may not use set-option",
    );
});

test("bytes go through a command, and into a pane", async () => {
  const piped = await at("split-window", "-d", "-t", "two", "-P", "-F", "#{pane_id}", "cat");
  await at("pipe-pane", "-IO", "-t", piped, `echo typed; exec cat >>${log}`);
  await until("what a command types, and the pane's bytes", async () =>
    (await Bun.file(log).text()).endsWith("typed\r\ntyped\r\n"),
  );
  // The answer comes once the pipe accepts output, and its end after the output; a new program continues in it.
  const ends = join(wsh.dir, "ends");
  await at("pipe-pane", "-t", piped, `sort -r >${ends}`, ";", "send-keys", "-t", piped, "1", "Enter");
  await until("the line", async () => (await at("capture-pane", "-p", "-t", piped)).includes("1\n1"));
  // Also when its process learns of the new program after the end was asked for.
  const carrier = wsh.processes().find(({ command }) => command.endsWith("tmux pipe-pane"))?.pid ?? 0;
  await stopProcess(carrier);
  await at("respawn-pane", "-k", "-t", piped, "echo 2; exec cat");
  await until("the next program", async () => (await at("capture-pane", "-p", "-t", piped)).startsWith("2"));
  expect(await at("display-message", "-p", "-t", piped, "#{pane_pipe}")).toBe("1");
  await at("pipe-pane", "-t", piped);
  process.kill(carrier, "SIGCONT");
  await until("what the command prints at its end", async () =>
    (await Bun.file(ends).text()).replace(/[^12]/g, "").startsWith("211"),
  );
  await at("kill-pane", "-t", piped);
  const shown = wsh.spawn(["tmux", "split-window", "-dI", "-t", "two", "-P", "-F", "#{pane_id}"]);
  shown.stdin.write("from standard input\n");
  await shown.stdin.end();
  const pane = (await new Response(shown.stdout).text()).trim();
  await until("its text", async () => (await at("capture-pane", "-p", "-t", pane)).startsWith("from standard input"));
  await at("kill-pane", "-t", pane);
});

test("a window moves to another session unchanged, and so does a session's last one; what is refused changes nothing", async () => {
  const layouts = ["list-windows", "-t", "dev", "-F", "#{window_index} #{window_layout}"];
  const bare = (text: string): string => text.replace(/ [0-9a-f]{4},/g, " ");
  const standing = bare(await at("list-windows", "-t", "two", "-F", "#{window_index} #{window_layout}"));
  const window = await at("display-message", "-p", "-t", "two:0", "#{window_id}");
  await at("move-window", "-d", "-s", "two:0", "-t", "dev:5");
  expect(await at("display-message", "-p", "-t", window, "#S:#I #{window_id}")).toBe(`dev:5 ${window}`);
  expect(
    bare(await at(...layouts))
      .split("\n")
      .at(-1),
  ).toBe(standing.replace(/^0 /, "5 "));
  for (const [words, said] of [
    [["has-session", "-t=two"], "can't find session: two"],
    [["has-session", "-t=nobody"], "can't find session: nobody"],
    [["set-hook", "-g", "alert-activity", "kill-pane"], "invalid option: alert-activity"],
    [["clock-mode"], "unknown command: clock-mode"],
    [["confirm-before", "kill-server"], "no current client"],
    [["choose-buffer"], "no current client"],
    [["lock-client"], "no current client"],
    [["link-window", "-s", "dev", "-t", "dev:7"], "wsh cannot link a window: it has one place in one session"],
    [["unlink-window", "-t", "dev"], "window only linked to one session"],
    [["server-access", "-a", "root"], "root owns the server, can't change access"],
    [["send-keys", "-X", "-t", "dev", "cursor-up"], "not in a mode"],
    [["kill-pane", "-t", "%999"], "can't find pane: %999"],
    // Values that would fill the memory, or that are names of every object's properties.
    [
      ["set-option", "-g", "update-environment[4000000000]", "x"],
      "invalid option: update-environment[4000000000]: at most [9999]",
    ],
    [["set-option", "-g", "__proto__", "x"], "invalid option: __proto__"],
    [["display-message", "-p", "-t", "dev:0.constructor", "x"], "can't find pane: constructor"],
    [["load-buffer", "/dev/zero"], "/dev/zero: File too large"],
    [["wait-for", "-U", "constructor"], "channel constructor not locked"],
  ] as const)
    expect(await wsh.run("tmux", ...words)).toEqual({ code: 1, stdout: "", stderr: `${said}\n` });
  expect(await at("display-message", "-p", "#(yes)#{constructor}#{@none}")).toBe("y");
});

test("files of commands, here and at the start of another server; the server's end", async () => {
  const file = join(wsh.dir, "tmux.conf");
  await Bun.write(file, `source-file ${file}\n`);
  expect((await wsh.run("tmux", "source-file", file)).stderr).toBe("too many nested files\n");
  await Bun.write(file, "set -g base-index 3\nset-hook -g session-renamed 'display \"a b\"'\n");
  const wrong = join(wsh.dir, "wrong.conf");
  await Bun.write(wrong, "set -g @done 1\nkill-pane -t nobody; set -g @skipped 1\nset -g @next 1\n");
  expect(await wsh.run("tmux", "source-file", wrong)).toEqual({
    ...{ code: 1, stdout: "", stderr: "can't find pane: nobody\n" },
  });
  expect(await at("display-message", "-p", "#{@done}#{@skipped}#{@next}")).toBe("11");
  await Bun.write(wrong, "set -g @never 1\nnonsense\n");
  expect(await wsh.run("tmux", "source-file", wrong, "-")).toEqual({
    ...{ code: 1, stdout: `${wrong}:2: unknown command: nonsense\n`, stderr: "" },
  });
  expect(await at("display-message", "-p", "#{@never}")).toBe("");
  expect(await at("source-file", "-nv", file)).toBe(
    `${file}:1: set-option -g base-index 3\n${file}:2: set-hook -g session-renamed "display \\"a b\\""`,
  );
  await wsh.ok("tmux", "-L", "another", "-f", file, "new-session", "-d", "cat");
  expect(await wsh.ok("tmux", "-L", "another", "list-windows", "-F", "#I")).toBe("3\n");
  expect(await wsh.ok("tmux", "-L", "another", "show-hooks", "-g", "session-renamed")).toBe(
    'session-renamed[0] display-message "a b"\n',
  );
  await wsh.ok("tmux", "-L", "another", "kill-server");
  await at("kill-server");
  expect((await wsh.run("tmux", "ls")).stderr).toStartWith("no server running on ");
});
