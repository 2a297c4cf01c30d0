/**
 * A HOME that is another user's, as with sudo without -H: settings cannot be read there, which is reported, and state is
 * kept in the runtime directory. And a state directory that is taken away.
 */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { isMissing } from "../../support/programs.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";

/** A user without rights, on every system. */
const NOBODY = 65_534;
const canSwitch = !isMissing("setpriv") && process.getuid?.() === 0;

/** That user's wsh, in the home of the test's user. */
class Stranger implements AsyncDisposable {
  readonly wsh = new Wsh({ config: "max_sessions = 1\n" });
  readonly warning = `wsh: ${this.wsh.instance.configFile} cannot be read (EACCES): the default settings are used\n`;

  constructor() {
    fs.chownSync(this.wsh.env.XDG_RUNTIME_DIR ?? "", NOBODY, NOBODY);
    fs.chmodSync(this.wsh.dir, 0o755);
    fs.chmodSync(this.wsh.env.HOME ?? "", 0o700);
  }

  /** A state directory of that user. */
  get state(): string {
    return join(this.wsh.dir, "state");
  }

  async command(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const user = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
    const state = fs.existsSync(this.state) ? { XDG_STATE_HOME: this.state } : {};
    const env = { ...this.wsh.env, ...state };
    const child = Bun.spawn([...user, ...this.wsh.command(...args)], {
      ...{ cwd: "/", env, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
    });
    const texts = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
    const [stdout = "", stderr = ""] = await Promise.all(texts);
    return { code: await child.exited, stdout, stderr };
  }

  async ok(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.command(...args);
    if (code !== 0) throw new Error(`wsh ${args.join(" ")} exited with ${code}: ${stderr}`);
    return stdout;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.wsh[Symbol.asyncDispose]();
  }
}

test.skipIf(!canSwitch)("the defaults are used, with a message; an unreadable named settings file stops", async () => {
  await using other = new Stranger();
  const { warning } = other;
  expect(await other.command("new", "a")).toEqual({ code: 0, stdout: "a\n", stderr: warning });
  expect(await other.command("new", "b")).toEqual({ code: 0, stdout: "b\n", stderr: warning });
  expect(await other.ok("exec", "a", "--", "id -u")).toBe(`${NOBODY}\n`);
  const { configFile } = other.wsh.instance;
  const named = await other.command("server", "--bind", "none", "--config", configFile);
  expect(named).toMatchObject({ code: 1, stderr: expect.stringContaining(`${configFile} cannot be read`) });
});

test.skipIf(!canSwitch)("a server starts, commands are found again, and a session can be private", async () => {
  await using other = new Stranger();
  await other.ok("server", "--ensure", "--bind", "none");
  await other.ok("new", "a");
  await other.ok("exec", "a", "--", "echo needle");
  await until("the command in the history", async () => (await other.ok("history", "needle")).includes("echo needle"));
  expect(await other.ok("private", "a", "on")).toBe("Session 'a' is private.\n");
  expect((await other.command("doctor")).stdout).toContain("state is in the runtime directory");
  expect(await other.ok("stop")).toBe("Server stopped.\n");
  await until("every process to end", () => other.wsh.processes().length === 0);
});

test.skipIf(!canSwitch)("sessions end on request, though their state directory was removed", async () => {
  await using other = new Stranger();
  fs.mkdirSync(other.state, { mode: 0o700 });
  fs.chownSync(other.state, NOBODY, NOBODY);
  for (const name of ["a", "b", "c"]) await other.ok("new", name);
  await other.ok("split", "c");
  const checkpoints = join(other.state, "wsh/t.checkpoints");
  const kept = (): string[] => fs.readdirSync(checkpoints).filter((name) => /^s\d+$/.test(name));
  await until("their checkpoints", () => fs.existsSync(checkpoints) && kept().length === 3);
  fs.chownSync(other.state, 0, 0);
  expect(await other.ok("kill", "b")).toBe("Session 'b' killed.\n");
  expect(await other.ok("stop")).toBe("No server running. 2 sessions ended.\n");
  await until("every process to end", () => other.wsh.processes().length === 0);
});

test.skipIf(!canSwitch)("a session is split, and ends", async () => {
  await using other = new Stranger();
  await other.ok("new", "a");
  await other.ok("split", "a");
  const panes = JSON.parse(await other.ok("pane", "list", "a", "--json")) as unknown[];
  expect(panes).toHaveLength(2);
  expect(await other.ok("exec", "a:0.1", "--", "id -u")).toBe(`${NOBODY}\n`);
  expect(await other.ok("kill", "a")).toBe("Session 'a' killed.\n");
  await until("every process to end", () => other.wsh.processes().length === 0);
});
