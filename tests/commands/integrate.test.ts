/**
 * Nested shells that were given the integration and a separate secret: exec there is as exact
 * as at the session's prompt, and when they end, the outer shell is where it was.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { MAX_UNSTARTED_MS } from "../../src/pane/commands/step-watch.ts";
import { failure, Http } from "../support/http.ts";
import { McpInstance } from "../support/mcp-instance.ts";
import { hasEnded, stopProcess } from "../support/processes.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { Sshd } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { hostOf } from "../support/wsh.ts";

setDefaultTimeout(60_000);

const wsh = shared(new McpInstance({}, { config: 'agents_may = "everything"\nreceipt_trees = true' }));
const http = new Http({ unix: wsh.instance.httpSocket });

let sessions = 0;

class Inside implements AsyncDisposable {
  private constructor(readonly api: SessionApi) {}

  static async start(command: string, fields: object = {}): Promise<Inside> {
    const api = await SessionApi.shell(http, `inside-${++sessions}`, { cols: 80, ...fields });
    const inside = new Inside(api);
    await inside.open(command);
    return inside;
  }

  /** Types a command that is a shell, and waits for its prompt. */
  async open(command: string): Promise<void> {
    const before = (await this.api.status()).foreground?.pid;
    await this.api.type(`${command}\r`);
    await until(`the prompt of ${command}`, async () => {
      const { state, foreground } = await this.api.status();
      const isReplaced = (await this.api.commands()).at(-1)?.state === "replaced";
      return (state === "prompt" && (foreground?.pid !== before || isReplaced)) || null;
    });
  }

  async refused(fields: object, ...[code, message, more]: Parameters<typeof failure>): Promise<void> {
    const { body } = await http.post(`/sessions/${this.api.name}/exec`, { command: "echo no", ...fields });
    expect(body).toMatchObject(failure(code, message, more));
  }

  /** Waits until exec runs at the outer shell's prompt again. */
  async outside(command: string): Promise<Awaited<ReturnType<SessionApi["exec"]>>> {
    let last: unknown;
    const run = async () => {
      const { status, body } = await http.post(`/sessions/${this.api.name}/exec`, { command });
      last = body;
      return status === 200 ? (body as Awaited<ReturnType<SessionApi["exec"]>>) : null;
    };
    return await until("the shell outside", run).catch(async (error) => {
      const { lines } = await http.screen(this.api.name);
      throw new Error(
        `${error}: ${JSON.stringify(last)}\n${JSON.stringify(lines)}\n${JSON.stringify(await this.api.status())}`,
      );
    });
  }

  async command(text: string) {
    const found = (await this.api.commands()).findLast(({ command }) => command === text);
    if (found === undefined) throw new Error(`no record of '${text}'`);
    return found;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return http.kill(this.api.name);
  }
}

const shells = [
  ["bash --norc", "bash", "echo $$", "(exit 3)"],
  ["zsh -f", "zsh", "echo $$", "(exit 3)"],
  ["fish --no-config", "fish", "echo $fish_pid", "bash -c 'exit 3'"],
] as const;

for (const [command, kind, ownPid, fails] of shells) {
  describe.skipIf(isMissing(kind))(`${kind} in bash`, () => {
    test("is exact and verified, with separate records, and bash continues where it was", async () => {
      await using inside = await Inside.start(command, { shell: "/bin/bash" });
      const { api } = inside;
      await inside.refused({}, "not_at_prompt", /its own prompt/, {
        hint: expect.stringContaining(`integrate ${kind}`),
      });
      const first = await api.exec(ownPid, { integrate: kind });
      expect(first).toMatchObject({ state: "finished", exit_code: 0 });
      expect(first).not.toHaveProperty("verified");
      expect(first).not.toHaveProperty("typed");
      const pid = Number(first.output);
      expect((await api.status()).foreground?.pid).toBe(pid);
      // From now on it needs no request.
      expect(await api.exec(fails)).toMatchObject({ exit_code: 3, output: "" });
      expect(await api.exec("cd /tmp")).toMatchObject({ exit_code: 0, cwd: "/tmp" });
      expect(await api.status()).toMatchObject({ state: "prompt", cwd: "/tmp" });
      const outer = await inside.command(command);
      expect(outer.state).toBe("running");
      const [own] = (await api.commands()).slice(-1);
      expect(own).toMatchObject({ command: "cd /tmp", id: outer.id + 3, verified: true });

      await api.type("exit\r");
      const after = await inside.outside("echo out; (exit 4)");
      expect(after).toMatchObject({ state: "finished", output: "out", exit_code: 4 });
      expect(await inside.command(command)).toMatchObject({ state: "finished", exit_code: 0, verified: true });
      // Its output is everything that happened inside.
      const whole = await api.output(`command_id=${outer.id}`);
      expect(whole.text).toContain("cd /tmp");
      expect(whole.text).not.toContain("echo out");
      expect((await api.status()).state).toBe("prompt");
    });

    test("killed in the middle of a command, leaves that without an end, and bash at its prompt", async () => {
      await using inside = await Inside.start(command, { shell: "/bin/bash" });
      const { api } = inside;
      const pid = Number((await api.exec(ownPid, { integrate: kind })).output);
      const started = await api.exec("sleep 1000", { background: true });
      // Before its exec it could take the terminal from the outer shell.
      const sleeps = await until("sleep", async () => {
        const { foreground } = await api.status();
        return foreground?.name === "sleep" ? foreground.pid : null;
      });
      process.kill(pid, "SIGKILL");
      expect(await inside.outside("echo out")).toMatchObject({ output: "out", exit_code: 0 });
      expect(await api.get(`commands/${started.command_id}`)).toMatchObject({ state: "lost", exit_code: null });
      expect(await inside.command(command)).toMatchObject({ state: "finished", exit_code: 137 });
      process.kill(sleeps);
    });
  });
}

describe("bash", () => {
  test("after exec, and inside sh, accepts it as well", async () => {
    await using inside = await Inside.start("exec bash --norc", { shell: "/bin/bash" });
    const { api } = inside;
    await inside.refused({}, "no_shell_integration", /has become 'bash'/, {
      hint: expect.stringContaining("integrate bash"),
    });
    expect(await api.exec("echo in; false", { integrate: "bash" })).toMatchObject({ output: "in", exit_code: 1 });
    expect((await api.commands()).map(({ state }) => state)).toEqual(["replaced", "finished"]);
    expect(await api.exec("echo back")).toMatchObject({ output: "back", exit_code: 0 });

    await using second = await Inside.start("sh", { shell: "/bin/bash" });
    await second.open("bash --norc");
    await second.api.exec("true", { integrate: "bash" });
    await second.api.type("exit 5\r");
    // Back at the shell in between, which has no integration.
    await until("sh", async () => {
      const { body } = await http.post(`/sessions/${second.api.name}/exec`, { command: "true" });
      return JSON.stringify(body).includes("its own prompt") || null;
    });
    await second.api.type("exit 6\r");
    expect(await second.outside("echo out")).toMatchObject({ output: "out" });
    expect(await second.command("sh")).toMatchObject({ state: "finished", exit_code: 6 });
  });

  test("two levels deep end one by one", async () => {
    await using inside = await Inside.start("bash --norc", { shell: "/bin/bash" });
    const { api } = inside;
    await api.exec("level=1", { integrate: "bash" });
    await inside.open("bash --norc --noprofile");
    await inside.refused({}, "not_at_prompt", /its own prompt/);
    expect(await api.exec("echo level=$level", { integrate: "bash" })).toMatchObject({ output: "level=" });
    expect(await api.exec("exit 7")).toMatchObject({ state: "lost", exit_code: null });
    expect(await inside.outside("echo level=$level")).toMatchObject({ output: "level=1" });
    expect(await inside.command("bash --norc --noprofile")).toMatchObject({ state: "finished", exit_code: 7 });
    await api.type("exit 8\r");
    expect(await inside.outside("echo level=$level")).toMatchObject({ output: "level=" });
    expect(await inside.command("bash --norc")).toMatchObject({ state: "finished", exit_code: 8 });
  });

  test("that ends while the session process is paused ends its command: the outer shell's code is not used", async () => {
    await using inside = await Inside.start("bash --norc", { shell: "/bin/bash" });
    const { api } = inside;
    const shell = (await api.status()).foreground?.pid ?? 0;
    const runs = join(wsh.dir, "runs");
    // Between Enter and the mark of the command.
    await api.exec(`PS0='$(touch ${runs}; until [ -e ${runs}.on ]; do sleep 0.05; done)'`, { integrate: "bash" });
    const host = hostOf((await http.session(api.name)).pid);
    const exited = api.exec("exit 7");
    await until("Enter to be read", () => fs.existsSync(runs));
    await stopProcess(host);
    fs.writeFileSync(`${runs}.on`, "");
    await until("the shell to be gone", () => hasEnded(shell));
    // Longer than the process waits for a command to begin before it checks the shell.
    await Bun.sleep(MAX_UNSTARTED_MS + 100);
    process.kill(host, "SIGCONT");
    expect(await exited).toMatchObject({ state: "lost", exit_code: null });
    expect(await inside.outside("echo outside")).toMatchObject({ output: "outside" });
  });

  test("that is suspended lets the outer shell continue, and returns", async () => {
    await using inside = await Inside.start("bash --norc", { shell: "/bin/bash" });
    const { api } = inside;
    await api.exec("where=inside", { integrate: "bash" });
    await api.type("suspend\r");
    expect(await inside.outside("echo where=$where")).toMatchObject({ output: "where=" });
    await api.type("fg\r");
    await until("the shell inside", async () => {
      const { body } = await http.post(`/sessions/${api.name}/exec`, { command: "echo where=$where" });
      return (body as { output?: string }).output === "where=inside" || null;
    });
  });

  test("ignores marks of programs inside, also old ones", async () => {
    await using inside = await Inside.start("bash --norc", { shell: "/bin/bash" });
    const { api } = inside;
    await api.exec("true", { integrate: "bash" });
    const forged = String.raw`printf '\e]133;D;9\a\e]133;A\a\e]133;B\a\e]133;D;9;wsh=0123456789abcdef\a'; sleep 0.2; false`;
    expect(await api.exec(forged)).toMatchObject({ state: "finished", exit_code: 1 });
    expect(await inside.command("bash --norc")).toMatchObject({ state: "running" });
    // The secret is neither in the environment nor in a file.
    const secrets = await api.exec("env | grep -c WSH_SHELL_KEY; declare -p | grep -c 'declare -x.*__wsh'");
    expect(secrets.output).toBe("0\n0");
    const kept = fs.readdirSync(wsh.instance.runtimeDir).filter((name) => name.startsWith("key."));
    expect(kept).toEqual([]);
  });

  test("is not mistaken for another kind, and a program that is not a shell gets nothing", async () => {
    await using inside = await Inside.start("bash --norc", { shell: "/bin/bash" });
    await inside.refused({ integrate: "zsh" }, "invalid_request", /'bash', not 'zsh'/);
    await inside.refused({ integrate: "bash", typed: "sh" }, "invalid_request", /cannot be used with/);
    await inside.api.type("cat\r");
    await inside.api.until("waiting_for_input");
    // The first reason depends on how long cat has been quiet.
    await inside.refused({ integrate: "bash", max_wait_ms: 0 }, "not_at_prompt", /./);
    const { lines } = await http.screen(inside.api.name);
    expect(lines.join("\n")).not.toContain("WSH_SHELL_KEY");
  });

  test("stays integrated while terminals attach and detach", async () => {
    await using inside = await Inside.start("bash --norc", { shell: "/bin/bash" });
    const { api } = inside;
    await api.exec("x=1", { integrate: "bash" });
    for (const cols of [60, 100]) {
      await http.expect(200, http.post(`/sessions/${api.name}/resize`, { cols, rows: 30 }));
      expect(await api.exec("echo $x")).toMatchObject({ output: "1", exit_code: 0 });
    }
  });

  test.skipIf(isMissing("fish"))("puts its commands into the history, except those kept out of its own", async () => {
    await using inside = await Inside.start("bash --norc", { shell: "/bin/bash" });
    const { api } = inside;
    const mark = `h${Date.now()}`;
    await api.exec(`echo ${mark}-exec`, { integrate: "bash" });
    await api.type(`echo ${mark}-typed\r`);
    await api.until("prompt");
    await api.exec("HISTCONTROL=ignorespace");
    await api.type(` echo ${mark}-secret\r`);
    await api.until("prompt");
    await api.type("exit\r");
    await inside.outside(`echo ${mark}-last`);
    const entries = await until("history", async () => {
      const { body } = await http.get(`/history?query=${mark}`);
      const found = (body as { commands: { command: string }[] }).commands.map(({ command }) => command);
      return found.includes(`echo ${mark}-last`) ? found : null;
    });
    expect(entries.sort()).toEqual(["exec", "last", "typed"].map((name) => `echo ${mark}-${name}`));
  });
});

describe("another user's shell", () => {
  test.skipIf(process.getuid?.() !== 0 || isMissing("su"))("cannot read the files, and says so", async () => {
    await using inside = await Inside.start("su -s /bin/bash nobody", { shell: "/bin/bash", cwd: "/" });
    await inside.refused({ integrate: "bash" }, "no_shell_integration", /are not readable there/);
    // Nothing of the attempt remains.
    await inside.refused({}, "not_at_prompt", /./);
    expect(await inside.api.exec("id -un", { typed: "sh" })).toMatchObject({ output: "nobody", typed: true });
  });
});

describe.skipIf(isMissing("sshd") || isMissing("ssh"))("ssh to this machine", () => {
  let remote: Sshd;
  beforeAll(async () => {
    remote = await Sshd.start();
  });
  afterAll(() => remote?.[Symbol.asyncDispose]());

  test("gives a shell the integration if it can read the files", async () => {
    const api = await SessionApi.shell(http, `inside-${++sessions}`, { shell: "/bin/bash", cols: 80 });
    await using _gone = { [Symbol.asyncDispose]: () => http.kill(api.name) };
    await api.type(`${remote.command("exec bash --norc")}\r`);
    await api.until({ type: "regex", pattern: "bash-[0-9.]+[#$] $" }, { since: 0 });
    const first = await api.exec("echo there; (exit 9)", { integrate: "bash" });
    expect(first).toMatchObject({ state: "finished", output: "there", exit_code: 9 });
    expect(first).not.toHaveProperty("verified");
    expect(await api.status()).toMatchObject({ state: "prompt" });
    // An interrupt ends the command there, not the connection.
    const slow = await api.exec("sleep 1000", { max_wait_ms: 500, on_timeout: "kill" });
    expect(slow).toMatchObject({ exit_code: 130 });
    const still = await api.exec("cd /; echo still");
    expect(still).toMatchObject({ output: "still", exit_code: 0 });
    // A remote directory is not a local one, whatever that path contains here.
    const path = `/sessions/${api.name}/commands/${still.command_id}/receipt`;
    const { payload } = await http.expect<{ payload: string }>(200, http.get(path));
    const { git } = JSON.parse(Buffer.from(payload, "base64").toString()).predicate;
    expect(git).toEqual({ before: null, after: null, missing: "the command ran on another machine" });
    await api.type("exit 3\r");
    const after = await until("the shell outside", async () => {
      const { status, body } = await http.post(`/sessions/${api.name}/exec`, { command: "echo back" });
      return status === 200 ? body : null;
    });
    expect(after).toMatchObject({ output: "back", exit_code: 0 });
    expect((await api.commands()).find(({ command }) => command?.startsWith("ssh"))).toMatchObject({ exit_code: 3 });
  });
});
