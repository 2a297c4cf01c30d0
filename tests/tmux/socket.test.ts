/** The socket at $TMUX: the binary `tmux` commands wsh, attaches to it, and speaks control mode with it. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { testWith } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const recorded = await Bun.file(join(import.meta.dir, "conversation.txt")).text();

interface Step {
  readonly line: string;
  readonly answer: readonly string[];
}

/** A conversation with tmux 3.3a: requests and answers. */
const steps: readonly Step[] = recorded.split(/^> /m).flatMap((part) => {
  const [line = "", ...answer] = part.trimEnd().split("\n");
  return line === "" ? [] : [{ line, answer }];
});

/** Normalises ids, times and checksums: they are numbered in order of appearance. */
class Alike {
  private readonly known = new Map<string, string>();

  of(line: string): string {
    const [, guard, number, flag] = /^%(begin|end|error) \d+ (\d+) (\d)$/.exec(line) ?? [];
    if (guard !== undefined) return `%${guard} ${this.name("n", `${number}`)} ${flag}`;
    return line
      .replace(/\b[0-9a-f]{4},(\d+x\d+,)/g, "$1")
      .replace(/(\d+x\d+,\d+,\d+),(\d+)/g, (_, cell, pane) => `${cell},%${pane}`)
      .replace(/([$@%])(\d+)\b/g, (_, kind, id) => this.name(kind, id));
  }

  private name(kind: string, id: string): string {
    const count = [...this.known.keys()].filter((each) => each.startsWith(kind)).length;
    const name = this.known.get(kind + id) ?? `${kind}${"abcdefghijklmnopqrstuvwxyz"[count] ?? count}`;
    this.known.set(kind + id, name);
    return name;
  }
}

/** Answers in their order, notifications in any. */
function ordered(lines: readonly string[]): readonly string[] {
  const isNotice = (line: string): boolean => /^%(?!begin|end|error|exit)/.test(line);
  return [...lines.filter((line) => !isNotice(line)), ...lines.filter(isNotice).sort()];
}

async function converse(child: Bun.Subprocess<"pipe", "pipe", "pipe">): Promise<string> {
  let text = "";
  void (async () => {
    for await (const bytes of child.stdout) text += Buffer.from(bytes).toString("latin1");
  })();
  const [theirs, ours] = [new Alike(), new Alike()];
  let from = 0;
  for (const [i, { line, answer }] of steps.entries()) {
    if (i > 0) {
      child.stdin.write(`${line}\n`);
      await child.stdin.flush();
    }
    const expected = ordered(answer.map((each) => theirs.of(each)));
    // Windows without names follow their programs, at their own time.
    const said = (): string[] =>
      text
        .slice(from)
        .replace(/^\x1bP1000p/, "")
        .split("\n")
        .slice(0, -1)
        .filter((each) => !/^%(unlinked-)?window-renamed \S+ (bash|cat)$/.test(each));
    await until(`the answer to ${line}`, () => said().length >= expected.length).catch(() => {});
    const lines = said();
    from = text.length;
    expect({ line, answer: ordered(lines.map((each) => ours.of(each))) }).toEqual({ line, answer: expected });
  }
  await child.exited;
  await child.stdin.end();
  return text;
}

const env = { WSH_TMUX: "on" };

/** TMUX as the programs of a session have it. */
async function tmuxOf(wsh: Wsh, session: string): Promise<Record<string, string>> {
  const said = await wsh.exec(session, "env");
  return Object.fromEntries(
    [...said.matchAll(/^(TMUX\w*|WSH_TMUX_BIN)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
}

test("a recorded conversation in control mode, by `wsh tmux -CC`", async () => {
  await using wsh = new Wsh();
  const child = wsh.spawn(["tmux", "-CC", "new-session", "-s", "one", "-x", "80", "-y", "24", "cat"]);
  const text = await converse(child);
  expect(text).toStartWith("\x1bP1000p%begin ");
  expect(text).toEndWith("%exit\n\x1b\\");
});

testWith("tmux")("the binary `tmux` at $TMUX: commands, standard input, failures, control mode", async () => {
  await using wsh = new Wsh({ env });
  await wsh.session("dev");
  const around = await tmuxOf(wsh, "dev");
  const tmux = (words: readonly string[], input = "") => {
    const child = Bun.spawn(["tmux", ...words], {
      env: { ...wsh.env, ...around },
      cwd: wsh.dir,
      ...{ stdin: "pipe", stdout: "pipe", stderr: "pipe" },
    } as const);
    return { child, input };
  };
  const ran = async (words: readonly string[], given = "") => {
    const { child, input } = tmux(words, given);
    child.stdin.write(input);
    await child.stdin.end();
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { code: await child.exited, stdout, stderr };
  };
  expect(await ran(["display-message", "-p", "#{session_name} #{pane_id}"])).toEqual({
    ...{ code: 0, stdout: `dev ${around.TMUX_PANE}\n`, stderr: "" },
  });
  const lines = Array.from({ length: 10_000 }, (_, i) => `line ${i}\n`).join("");
  expect((await ran(["load-buffer", "-b", "big", "-"], lines)).code).toBe(0);
  expect((await ran(["show-buffer", "-b", "big"])).stdout).toBe(lines);
  expect(await ran(["nonsense"])).toEqual({ code: 1, stdout: "", stderr: "unknown command: nonsense\n" });
  expect((await ran(["run-shell", "exit 3"])).code).toBe(3);
  expect(await ran(["attach-session"])).toEqual({
    ...{ code: 1, stdout: "", stderr: "open terminal failed: not a terminal\n" },
  });
  // Calls like those of agent teams, from their own pane; programs without TMUX find it by TMUX_TMPDIR.
  const pane = (
    await ran(["split-window", "-d", "-h", "-l", "70%", "-P", "-F", "#{pane_id}", "--", "cat"])
  ).stdout.trim();
  const calls = [
    ["select-pane", "-t", pane, "-T", "alpha"],
    ["set-option", "-p", "-t", pane, "remain-on-exit", "failed"],
    ["respawn-pane", "-k", "-t", pane, "--", "echo at work; exec cat"],
  ];
  for (const call of calls) expect(await ran(call)).toEqual({ code: 0, stdout: "", stderr: "" });
  await until("the teammate to work", async () =>
    (await ran(["capture-pane", "-p", "-t", pane])).stdout.includes("at work"),
  );
  const { TMUX: _, ...others } = around;
  const found = Bun.spawnSync(["tmux", "list-panes", "-t", "dev", "-F", "#D #{pane_title}"], {
    env: { ...wsh.env, ...others },
  });
  expect(found.stdout.toString()).toContain(`${pane} alpha\n`);
  expect((await ran(["kill-pane", "-t", pane])).code).toBe(0);
  await using terminal = EmulatorTerminal.run(wsh, ["attach", "-t", "dev"], { wsh: ["tmux"], env: around });
  await terminal.sees(/^\$/m);
  terminal.type("echo typed $((6 * 7))\r");
  await wsh.shows("dev", "typed 42");
  // A terminal is attached that nothing here can lock.
  for (const lock of [["lock-server"], ["lock-session", "-t", "dev"], ["lock-client"]]) {
    expect(await ran(lock)).toMatchObject({ code: 1, stderr: expect.stringContaining("wsh cannot lock terminals") });
  }
  // Questions and displays for a person, and the target of their terminal.
  const asked = ran(["confirm-before", "-p", "really?", "rename-window sure"]);
  await terminal.sees(/really[?][\s\S]*Esc dismisses/);
  terminal.type("y");
  expect(await asked).toEqual({ code: 0, stdout: "", stderr: "" });
  const chosen = ran(["display-menu", "-T", "which", "one", "", "", "two", "", "display-message '#W and two'"]);
  await terminal.sees(/which[\s\S]*Esc dismisses/);
  terminal.type("\x1b[B\r");
  expect((await chosen).code).toBe(0);
  await terminal.sees("sure and two");
  await wsh.session("aside", "--", "cat");
  await ran(["choose-tree"]);
  await terminal.sees("Sessions, windows and panes");
  terminal.type("\x1b");
  await ran(["switch-client", "-t", "aside"]);
  const shows = (name: string) =>
    until(`a terminal at ${name}`, async () =>
      (await wsh.list()).some((each) => each.name === name && each.attached === 1),
    );
  await shows("aside");
  expect((await ran(["switch-client", "-l"])).stderr).toBe("");
  await shows("dev");
  expect((await ran(["display-message", "-p", "#{client_session} #{client_last_session}"])).stdout).toBe("dev aside\n");
  // A session without a size is as large as the terminal that was used last.
  const size = ["display-message", "-p", "#{window_width}x#{window_height}"];
  const wide = (await ran(size)).stdout;
  expect((await ran(["new-session", "-d", "-s", "sized", "cat", ";", ...size, ";", "kill-session"])).stdout).toBe(wide);
  // What a command runs talks to this socket, also for a caller outside of sessions.
  const outside = await wsh.ok("tmux", "run-shell", 'echo "$TMUX #{client_name}"; tmux display-message -p "#S"');
  expect(outside).toStartWith(`${(around.TMUX ?? "").replace(/,.*/, "")},`);
  expect(outside).toMatch(/ \/dev\/\S+\ndev\n$/);
  await boundKeys(wsh, terminal, ran);
  const [name = ""] = (await ran(["list-clients", "-F", "#{client_name} #{client_session}"])).stdout.split(" dev\n");
  expect(name).toMatch(/^\/dev\//);
  await ran(["display-message", "-c", name, "for this terminal"]);
  await terminal.sees("for this terminal");
  expect((await ran(["switch-client", "-c", "nobody", "-t", "dev"])).stderr).toBe("can't find client: nobody\n");
  await ran(["set-option", "-g", "prefix", "C-a"]);
  // The attached terminal is notified a moment later.
  await until("the new prefix", async () => {
    if ((await terminal.text()).includes("Esc")) return true;
    terminal.type("\x01:");
    await Bun.sleep(200);
    return null;
  });
  terminal.type("\x1b");
  await ran(["set-option", "-gu", "prefix"]);
  await until("it to detach", () => {
    terminal.type("\x1cd");
    return Promise.race([terminal.exited.then(() => true), Bun.sleep(200).then(() => null)]);
  });
  expect(await terminal.exited).toBe(0);
  // The program for machines without a tmux, and the socket's path.
  for (const words of [
    [join(around.WSH_TMUX_BIN ?? "", "tmux")],
    wsh.command("tmux", "-S", (around.TMUX ?? "").replace(/,.*/, "")),
  ]) {
    const { stdout } = Bun.spawnSync([...words, "display-message", "-p", "-t", "dev", "#S"], {
      env: { ...wsh.env, ...around },
    });
    expect(stdout.toString()).toBe("dev\n");
  }
  await converse(tmux(["-C", "new-session", "-s", "one", "-x", "80", "-y", "24", "cat"]).child);
  await wrongly(around);
  const silent = await silently(around);
  expect((await ran(["display-message", "-p", "still here"])).stdout).toBe("still here\n");
  for (const socket of silent) socket.end();
  if (process.platform === "linux") await slowly(wsh, around);
});

/** More silent clients than the limit: the newest of them stay. */
async function silently({ TMUX = "" }: Record<string, string>): Promise<readonly Bun.Socket[]> {
  const unix = TMUX.replace(/,.*/, "");
  const open = () => Bun.connect({ unix, socket: { data() {} } }).catch(() => []);
  return (await Promise.all(Array.from({ length: 300 }, open))).flat();
}

/** More clients than the limit, each of which sends invalid messages. */
async function wrongly({ TMUX = "" }: Record<string, string>): Promise<void> {
  const over = Array.from({ length: 300 }, async () => {
    const end = Promise.withResolvers<void>();
    const done = () => end.resolve();
    const unix = TMUX.replace(/,.*/, "");
    const handlers = {
      open: (socket: Bun.Socket) => void socket.write(new Uint8Array(64)),
      data() {},
      close: done,
      error: done,
    };
    await Bun.connect({ unix, socket: handlers }).catch(done);
    await end.promise;
  });
  await Promise.all(over);
}

/** A reader behind the binary that does not read for a while gets a pause. */
async function slowly(wsh: Wsh, around: Record<string, string>): Promise<void> {
  const [begun, over] = [join(wsh.dir, "flood-begun"), join(wsh.dir, "pause-seen")];
  // A shell's pipe: Bun gives a child a socket.
  const pause = "grep --line-buffered -a -m1 -o '^%pause %[0-9]*'";
  const reads = `(until [ -e ${begun} ]; do sleep 0.05; done; sleep 1.5; ${pause}; touch ${over})`;
  const flood = `send-keys -t dev C-u "touch ${begun}; seq 300000" Enter`;
  const asks = `(echo 'refresh-client -f pause-after=1'; echo '${flood}'; until [ -e ${over} ]; do sleep 0.05; done)`;
  const line = `${asks} | tmux -C attach -t dev`;
  const child = Bun.spawn(["sh", "-c", `${line} | ${reads}`], { env: { ...wsh.env, ...around }, stdout: "pipe" });
  expect(await new Response(child.stdout).text()).toMatch(/^%pause %\d+\n$/);
}

/** Copy mode without a key: a program controls it. */
async function copying(
  wsh: Wsh,
  terminal: EmulatorTerminal,
  ran: (words: readonly string[]) => Promise<{ readonly stdout: string; readonly stderr: string }>,
): Promise<void> {
  const modes = [
    "display-message",
    "-p",
    "-t",
    "dev:.0",
    "#{pane_in_mode} #{mouse_any_flag}#{wrap_flag}#{keypad_flag}",
  ];
  terminal.type("clear; seq 900 999; printf '\\033[?1002h\\033[?7l\\033='; read\r");
  await until("the modes", async () => (await ran(modes)).stdout === "0 101\n");
  expect((await ran(["send-keys", "-X", "-t", "dev:.0", "cursor-up"])).stderr).toBe("not in a mode\n");
  await ran(["copy-mode", "-t", "dev:.0"]);
  expect((await ran(modes)).stdout).toBe("1 101\n");
  for (const words of [["search-backward-text", "942"], ["begin-selection"], ["-N", "2", "cursor-right"]])
    expect((await ran(["send-keys", "-X", "-t", "dev:.0", ...words])).stderr).toBe("");
  const copied = join(wsh.dir, "copied");
  await ran(["send-keys", "-X", "-t", "dev:.0", "copy-pipe-and-cancel", `cat >${copied}; echo '#S' >>${copied}`]);
  expect((await ran(["show-buffer"])).stdout).toBe("942");
  await until("the command that gets the copy", async () => {
    const text = Bun.file(copied).text();
    return (await text.catch(() => "")) === "942dev\n";
  });
  expect((await ran(modes)).stdout).toBe("0 101\n");
  terminal.type("\r");
}

/** Keys of typical lines of a tmux configuration, at a terminal that attached before. */
async function boundKeys(
  wsh: Wsh,
  terminal: EmulatorTerminal,
  ran: (
    words: readonly string[],
  ) => Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>,
): Promise<void> {
  const file = join(wsh.dir, "tmux.conf");
  await Bun.write(
    file,
    `unbind C-b
bind | split-window -h "exec cat"
bind -n M-Left select-pane -L
bind -r H resize-pane -L 5
bind g switch-client -T own
bind -T own k rename-window '$(touch hit); kept' \\; display-message done
bind -T copy-mode-vi v send -X begin-selection
`,
  );
  expect(await ran(["source-file", file])).toEqual({ code: 0, stdout: "", stderr: "" });
  expect((await ran(["list-keys"])).stdout).toBe(
    `bind-key    -T copy-mode-vi v      send-keys -X begin-selection
bind-key    -T own          k      rename-window "$(touch hit); kept" \\; display-message done
bind-key -r -T prefix       H      resize-pane -L 5
bind-key    -T prefix       g      switch-client -T own
bind-key    -T prefix       |      split-window -h "exec cat"
bind-key    -T root         M-Left select-pane -L
`,
  );
  const at = (place: string) =>
    until(`the focus at ${place}`, async () => {
      const { stdout } = await ran(["display-message", "-p", "-t", "dev:", "#{window_panes}.#{pane_at_left}"]);
      return stdout === `${place}\n`;
    });
  terminal.type("\x1c|");
  await at("2.0");
  terminal.type("\x1b[1;3D");
  await at("2.1");
  terminal.type("\x1cgk");
  await until("the message", async () => (await ran(["show-messages"])).stdout.includes("message: done"));
  expect((await ran(["display-message", "-p", "-t", "dev:", "#W"])).stdout).toBe("$(touch hit); kept\n");
  expect(await Bun.file(join(wsh.dir, "hit")).exists()).toBe(false);
  // Actions of a person's keys are not for an agent.
  const refused = await wsh.runWith({ env: { WSH_AGENT: "Robot" } }, "tmux", "bind-key", "x", "kill-server");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("may not use bind-key") });
  expect((await ran(["unbind-key", "|"])).code).toBe(0);
  await copying(wsh, terminal, ran);
  expect((await ran(["list-keys", "|"])).stderr).toBe("unknown key: |\n");
}
