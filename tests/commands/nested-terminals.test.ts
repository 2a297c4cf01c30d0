/** Terminals inside terminals, other users' programs: known facts are used, and the rest is reported as unknown. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { Sshd } from "../support/sshd.ts";
import { givenTime } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

setDefaultTimeout(30_000);
const isLinux = process.platform === "linux";
const isRoot = process.getuid?.() === 0;
/** A user without rights, on every system. */
const NOBODY = 65_534;

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

describe.skipIf(isMissing("sshd", "ssh") || !isLinux || !isRoot)("over ssh", () => {
  let server: Sshd;
  let ssh: string;
  beforeAll(async () => {
    server = await Sshd.start();
    ssh = server.login("-t ");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("a shell inside a relay is judged by silence; exec is refused with the reason", async () => {
    const api = await SessionApi.shell(http, "remote", { shell: "bash" });
    const login = `${ssh} 'PS1="far> " bash --norc --noprofile'\n`;
    // Until its login ssh may be silent for longer than the requested time.
    await givenTime("the far prompt", async (timeout_ms) => {
      const opened = await api.run(login, { timeout_ms });
      expect(opened).toMatchObject({ decided_by: "idle" });
      if (/^far>/m.test(opened.screen.lines.join("\n"))) return opened;
      await http.shows(api.name, /^far>/m);
      expect(await api.run("exit\n", { timeout_ms: 20_000 })).toMatchObject({ decided_by: "command_finished" });
      await api.exec("clear");
      return null;
    });
    expect(await api.status()).toMatchObject({ relay: true, state: "running", why: expect.stringContaining("ssh") });
    const refused = await http.post("/sessions/remote/exec", { command: "true" });
    expect(refused).toMatchObject({ status: 409, body: { error: { code: "not_at_prompt", process: "ssh" } } });
    const there = await api.run("echo far''away\n", { timeout_ms: 2000 });
    expect(there).toMatchObject({ decided_by: "idle", output: expect.stringContaining("faraway") });
    const ended = await api.run("exit 3\n", { timeout_ms: 20_000 });
    expect(ended).toMatchObject({ decided_by: "command_finished", exit_code: 3 });
  });

  test("a shell with the printed integration is at its prompt by its own marks", async () => {
    const api = await SessionApi.shell(http, "marked", { shell: "bash" });
    const script = join(wsh.dir, "integration.bash");
    fs.writeFileSync(script, await wsh.ok("shell-integration", "bash"));
    const inside = `'bash --rcfile ${script} -i'`;
    // Longer than a login is silent.
    const opened = await api.run(`${ssh} ${inside}\n`, { timeout_ms: 20_000 });
    expect(opened.decided_by).toBe("waiting_for_input");
    expect(await api.status()).toMatchObject({ relay: true, state: "waiting_for_input", decided_from: "marks" });
    const answered = await api.run("sleep 0.6; echo he''re\n", { timeout_ms: 20_000 });
    expect(answered).toMatchObject({ decided_by: "waiting_for_input", output: expect.stringContaining("here") });
    expect(answered.exit_code).toBeUndefined();
    expect(await api.run("exit\n")).toMatchObject({ decided_by: "command_finished" });
    expect((await api.commands()).length).toBe(1);
  });

  test("a remote password prompt is recognised", async () => {
    const api = await SessionApi.shell(http, "asks", { shell: "bash" });
    const asked = await api.run(`ssh-keygen -q -t ed25519 -f ${join(wsh.dir, "key")}\n`);
    expect(asked).toMatchObject({ decided_by: "password" });
    await api.press("Ctrl+C");
    await api.until("prompt");
  });
});

describe.if(isLinux)("inside the session", () => {
  test("a nested shell at its prompt is recognised, is named, and gets no input", async () => {
    const api = await SessionApi.shell(http, "nested", { shell: "bash" });
    const opened = await api.run("PS1='inner> ' bash --norc --noprofile\n");
    expect(opened.decided_by).toBe("prompt");
    expect(await api.status()).toMatchObject({ relay: true, state: "prompt", decided_from: "kernel" });
    expect(await http.post("/sessions/nested/exec", { command: "true" })).toMatchObject({ status: 409 });
    const typed = await api.run("sleep 0.5; echo in''ner\n");
    expect(typed).toMatchObject({ decided_by: "prompt", output: expect.stringContaining("inner") });
    expect(await api.run("exit 4\n")).toMatchObject({ decided_by: "command_finished", exit_code: 4 });
    expect(await api.exec("echo outer")).toMatchObject({ output: "outer" });
  });

  test.skipIf(isMissing("script"))("a program that reads in a terminal of its own is seen to wait", async () => {
    const api = await SessionApi.shell(http, "carried", { shell: "bash" });
    const begun = await api.run(`script -qc 'printf "ask> "; read x; echo got $x' /dev/null\n`);
    expect(begun).toMatchObject({ decided_by: "waiting_for_input", prompt: "ask> " });
    expect(await api.status()).toMatchObject({
      relay: true,
      state: "waiting_for_input",
      decided_from: "kernel",
      why: expect.stringMatching(/reads a line from the terminal that script carries/),
    });
    expect(await api.run("me\n")).toMatchObject({ decided_by: "command_finished", exit_code: 0 });
    const asked = await api.run(`script -qc 'printf "pass> "; read -s x; echo' /dev/null\n`);
    expect(asked).toMatchObject({ decided_by: "password" });
    expect(await api.run("me\n")).toMatchObject({ decided_by: "command_finished", exit_code: 0 });
  });

  const inner: Readonly<Record<string, { readonly command: string; readonly missing: boolean }>> = {
    script: { command: "script -q /dev/null", missing: isMissing("script") },
    "script in script": { command: "script -qc 'script -q /dev/null' /dev/null", missing: isMissing("script") },
    // Not `-i`, whose shell runs the tester's rc files.
    sudo: { command: 'sudo -n env HOME="$HOME" bash', missing: !isRoot || isMissing("sudo") },
  };
  for (const [name, { command, missing }] of Object.entries(inner)) {
    test.skipIf(missing)(`a quiet shell inside ${name} ends a wait and a run as soon as it reads`, async () => {
      const api = await SessionApi.shell(http, `inside-${name.replaceAll(" ", "-")}`, { shell: "bash" });
      // Longer than the test: silence cannot decide.
      const patient = { timeout_ms: 60_000, max_wait_ms: 60_000 };
      expect(await api.run(`${command}\n`, patient)).toMatchObject({ decided_by: "waiting_for_input" });
      expect(await api.status()).toMatchObject({ relay: true, state: "waiting_for_input", decided_from: "kernel" });
      const waited = await api.wait(["prompt", "waiting_for_input", "password", "exited"]);
      expect(waited.decided_by).toBe("waiting_for_input");
      const answered = await api.run("sleep 0.6; echo in''side\n", patient);
      expect(answered).toMatchObject({
        decided_by: "waiting_for_input",
        output: expect.stringMatching(/^inside$/m),
      });
      expect(await http.post(`/sessions/${api.name}/exec`, { command: "true" })).toMatchObject({ status: 409 });
      await api.type("sleep 30\n");
      await until("the inner command to be seen", async () => (await api.status()).why.startsWith("sleep is working"));
      await api.press("Ctrl+C");
      await api.until("waiting_for_input");
      await api.type("exit\n");
      await until("the outer shell", async () => {
        const { state } = await api.status();
        // Typed again only where it was lost: a second one would end the outer shell.
        const isTyped = (await http.screen(api.name)).lines.some((line) => /exit$/.test(line.trimEnd()));
        if (state === "waiting_for_input" && !isTyped) await api.type("exit\n");
        return state === "prompt";
      });
      expect(await api.exec("echo outer")).toMatchObject({ output: "outer" });
    });
  }

  test.skipIf(!isRoot || isMissing("sudo"))("sudo as another user", async () => {
    const api = await SessionApi.shell(http, "sudo", { shell: "bash" });
    const asked = await api.run("cd /; sudo -n -u nobody sh -c 'read -p \"name? \" x; echo $x; exit 5'\n", {
      timeout_ms: 500,
    });
    expect(["waiting_for_input", "idle", "timeout"]).toContain(asked.decided_by);
    await http.shows(api.name, /^name\?/m);
    const done = await api.run("me\n");
    expect(done).toMatchObject({ decided_by: "command_finished", exit_code: 5 });
  });
});

describe.skipIf(isMissing("setpriv") || !isLinux || !isRoot)("as a user without rights", () => {
  let own: Wsh;
  let server: Bun.Subprocess;
  let there: Http;
  beforeAll(async () => {
    own = new Wsh({ name: "low" });
    fs.chmodSync(own.dir, 0o755);
    Bun.spawnSync(["chown", "-R", `${NOBODY}:${NOBODY}`, own.dir]);
    const user = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
    server = Bun.spawn([...user, ...program, "server", "--bind", "none"], {
      cwd: own.dir,
      env: own.env,
      stdio: ["ignore", "ignore", "ignore"],
    });
    there = new Http({ unix: own.instance.httpSocket });
    await until("the server", async () => (await there.get("/health").catch(() => null))?.status === 200);
  });
  afterAll(async () => {
    server.kill("SIGKILL");
    await own[Symbol.asyncDispose]();
  });

  test.skipIf(isMissing("su"))(
    "a password that another user's program asks for is one, by the terminal's flags",
    async () => {
      const api = await SessionApi.shell(there, "su", { shell: "bash" });
      const asked = await api.run("su -c true root\n", { timeout_ms: 5000 });
      expect(asked).toMatchObject({ decided_by: "password", prompt: expect.stringContaining("assword") });
      expect(await api.status()).toMatchObject({ state: "password", decided_from: "flags" });
      const refused = await api.run("wrong\n", { timeout_ms: 10_000 });
      expect(refused).toMatchObject({ decided_by: "command_finished", exit_code: 1 });
      expect(await api.exec("id -u")).toMatchObject({ output: String(NOBODY) });
    },
  );
});
