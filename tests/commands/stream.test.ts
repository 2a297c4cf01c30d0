/** `wsh exec` prints everything, at any speed of output and of reading, or reports how much is missing. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Gate } from "../support/held-command.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const numbers = (count: number): string => Array.from({ length: count }, (_, at) => `${at + 1}\n`).join("");

describe("A terminal with almost no history.", () => {
  let wsh: Wsh;
  beforeAll(async () => {
    wsh = new Wsh({ config: "scrollback_lines = 10\nkill_grace_ms = 500\n" });
    await wsh.session("work");
    await wsh.ok("wait", "work", "prompt");
  });
  afterAll(() => wsh[Symbol.asyncDispose]());

  test.each([
    ["many lines", "seq 1 20000", numbers(20_000)],
    ["empty lines", "head -c 20000 /dev/zero | tr '\\0' '\\n'", "\n".repeat(20_000)],
    [
      "one line that is longer than the history",
      "printf '%0300000d\\n' 7; echo end",
      `${"7".padStart(300_000, "0")}\nend\n`,
    ],
    ["a last line without its end", "seq 1 9; printf 'a  '; printf b", `${numbers(9)}a  b\n`],
    ["blanks at the ends of lines", "printf 'a  \\n\\n  b  \\n'", "a\n\n  b\n"],
    ["a screen that is cleared", "clear; seq 1 3; clear; echo x", "1\n2\n3\nx\n"],
    ["one that is cleared within a write", "printf '1\\n\\n2\\n\\033[H\\033[2J\\033[Jx\\n'", "1\n\n2\nx\n"],
    ["a program with a screen of its own", "echo a; printf '\\e[?1049hx\\e[?1049l'; echo b", "a\nb\n"],
    ["nothing", "true", ""],
  ])("in a session: %s", async (_what, command, expected) => {
    const { code, stdout, stderr } = await wsh.run("exec", "work", "--", command);
    expect({ code, stderr, length: stdout.length }).toEqual({ code: 0, stderr: "", length: expected.length });
    expect(stdout === expected).toBe(true);
  });

  /** `wsh exec ARGS` whose reader reads a line, and the rest on request. */
  function slowly(...args: string[]) {
    const gate = new Gate(wsh.dir);
    const out = join(wsh.dir, `out-${crypto.randomUUID()}`);
    const script = `set -o pipefail; out=$1; shift; "$@" | { read -r it; echo "$it" > "$out"; ${gate.wait}; cat >> "$out"; }`;
    const child = Bun.spawn(["bash", "-c", script, "bash", out, ...wsh.command("exec", ...args)], {
      cwd: wsh.dir,
      env: wsh.env,
      stderr: "pipe",
    });
    return {
      first: () => until("its first line", () => existsSync(out)),
      async read() {
        gate.open();
        const [stderr, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
        return { code, stderr, stdout: await Bun.file(out).text() };
      },
    };
  }

  /** The session of the newest command: an earlier one may still be listed. */
  const earlier = new Set<string>(["work"]);
  const ownSession = async () => {
    const name = await until(
      "the session",
      async () => (await wsh.list()).find(({ name }) => !earlier.has(name))?.name,
    );
    earlier.add(name);
    return name;
  };

  test("in a separate session the program waits for a slow reader, and nothing is lost", async () => {
    // 1.3 MB: more than all the pipes and queues between them hold.
    const count = 200_000;
    const reader = slowly("--", `seq 1 ${count}; exit 3`);
    const name = await ownSession();
    // The newest line may have no text yet.
    const newest = async () => (await wsh.call(name, "output.get", { lines: 3 })).text ?? "";
    const last = await until("it to stand still", async () => {
      const before = await newest();
      return /^\d+\n/.test(before) && before === (await newest()) && before;
    });
    expect(last).not.toContain(`${count}`);
    const { code, stderr, stdout } = await reader.read();
    expect({ code, stderr, length: stdout.length }).toEqual({ code: 3, stderr: "", length: numbers(count).length });
    expect(stdout === numbers(count)).toBe(true);
  }, 60_000);

  test("kill also ends a program that waits for its reader", async () => {
    const reader = slowly("--", "exec", "yes");
    const name = await ownSession();
    await wsh.ok("kill", name);
    expect((await reader.read()).code).toBe(125);
  }, 60_000);

  test("and so does restart, also when most of its output comes while it is being ended", async () => {
    const reader = slowly("--", "trap 'exec yes' HUP; echo ready; while :; do sleep 0.1; done");
    const name = await ownSession();
    await wsh.shows(name, "ready");
    expect(await wsh.ok("restart", name)).toContain("restarted");
    await wsh.shows(name, /^ready$/m);
    await wsh.ok("kill", name);
    await reader.read();
  }, 60_000);

  test("a separate session's program ends when its output has no reader, as in a pipe", async () => {
    const script = 'set -o pipefail; "$@" | head -n 1';
    const child = Bun.spawn(["bash", "-c", script, "bash", ...wsh.command("exec", "--", "yes")], { env: wsh.env });
    expect(await new Response(child.stdout).text()).toBe("y\n");
    expect(await child.exited).toBe(141);
    await until("it to end", async () => (await wsh.list()).every(({ name }) => name === "work"));
  }, 60_000);

  test("in a shared session nobody waits for a slow reader: its missing output is counted", async () => {
    // 9.8 MB: more than wsh keeps for a slow reader, in lines of a wide terminal, which cost least.
    const lines = 9_900;
    await wsh.ok("new", "wide", "--size", "1000x24");
    earlier.add("wide");
    // What it reads before it knows its command's number has no limit: the flood begins after its first line.
    const go = join(wsh.dir, "go");
    const flood = `yes ${"x".repeat(990)} | head -n ${lines}`;
    const reader = slowly("wide", "--", `echo first; until [ -e ${go} ]; do sleep 0.02; done; ${flood}`);
    await reader.first();
    await Bun.write(go, "");
    await until("the command to end", async () => (await wsh.commands("wide")).at(-1)?.exit_code === 0);
    const { code, stderr, stdout } = await reader.read();
    const missing = Number(/^wsh: (\d+) lines are missing/.exec(stderr)?.[1]);
    expect(missing).toBeGreaterThan(0);
    expect(stdout.split("\n").length - 1 + missing).toBe(lines + 1);
    expect(code).toBe(0);
  }, 60_000);
});
