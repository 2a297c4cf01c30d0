/** Sessions of another machine over ssh: a real sshd on the loopback interface, two instances of wsh as two machines. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { isMissing, testWith } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { TwoMachines } from "../support/two-machines.ts";
import { PATIENCE_MS, until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { isCompiled } from "../support/wsh-program.ts";

setDefaultTimeout(120_000);
const withSsh = testWith("sshd", "ssh", "ssh-keygen");

let usual: Promise<TwoMachines> | null = null;
/** Two machines that most tests share: the remote one is added; a server runs at the local one in the last tests. */
function shared(): Promise<TwoMachines> {
  usual ??= TwoMachines.start().then((machines) => machines.add());
  return usual;
}
afterAll(async () => (await usual)?.[Symbol.asyncDispose]());

let lasting: Promise<unknown> | null = null;
/** The same with the session `m1/lasting`, which tests leave at its prompt. */
async function withSession(): Promise<TwoMachines> {
  const machines = await shared();
  lasting ??= machines.local.ok("new", "m1/lasting");
  await lasting;
  return machines;
}

withSsh("a machine is added, and its sessions are used as machine/session like local ones", async () => {
  const { local, remote } = await shared();
  await local.session("dev");
  expect(await local.ok("new", "m1/dev", "--tag", "gpu")).toBe("m1/dev\n");

  const here = await local.run("exec", "dev", "--", "echo $XDG_RUNTIME_DIR");
  expect(here.stdout).toBe(`${local.env.XDG_RUNTIME_DIR}\n`);
  const there = await local.run("exec", "m1/dev", "--", "echo $XDG_RUNTIME_DIR; sh -c 'exit 3'");
  expect(there).toMatchObject({ code: 3, stdout: `${remote.env.XDG_RUNTIME_DIR}\n` });
  expect((await local.run("exec", "m1/dev", "--", "seq 200000 | md5sum")).stdout).toBe(
    (await local.run("exec", "dev", "--", "seq 200000 | md5sum")).stdout,
  );
  await local.ok("send", "m1/dev", "--enter", "echo 'typed there'");
  await local.shows("m1/dev", /^typed there$/m);
  expect(await local.ok("wait", "m1/dev", "prompt")).toBe("prompt\n");

  expect((await local.list()).map(({ name }) => name)).toEqual(["dev"]);
  const all = await local.list("--all-machines");
  expect(all.map(({ name, server }) => [name, server === "m1"])).toEqual([
    ["dev", false],
    ["m1/dev", true],
  ]);
  expect(all[1]).toMatchObject({ id: "m1/@s1", pane_id: "m1/@1", tags: ["gpu"] });
  expect((await local.list("--server", "m1")).map(({ name }) => name)).toEqual(["m1/dev"]);

  const split = (await local.ok("split", "m1/dev", "--", "sleep 1000")).trim();
  expect(split).toMatch(/^m1\/@\d+$/);
  expect(await local.ok("status", split)).toContain("sleep");
  await local.ok("kill", "m1/dev");
  expect(await remote.list()).toEqual([]);
  expect((await local.list()).map(({ name }) => name)).toEqual(["dev"]);

  expect(JSON.parse(await local.ok("servers", "--json"))).toEqual([
    expect.objectContaining({ hostname: "m1", address: "ssh://m1", health: "healthy", sessions: 0 }),
  ]);
  for (const args of [
    ["screen", "m1/none"],
    ["exec", "m1/none", "--", "true"],
    ["output", "m1/dev", "--command", "9"],
  ]) {
    expect((await local.run(...args)).stderr).toStartWith("wsh: m1: ");
  }
});

withSsh("attach reconnects after a lost connection, and shows the present screen", async () => {
  const machines = await shared();
  const { local, remote, sshd } = machines;
  await local.ok("new", "m1/back");
  await using person = await EmulatorTerminal.attach(local, "m1/back");
  person.type("echo one; stty size\r");
  await person.sees(/^one\n24 80$/m);

  machines.killMaster();
  // Input before the terminal is attached again is discarded.
  await until("the terminal to be attached again", async () => {
    person.type("echo two\r");
    await Bun.sleep(200);
    return /^two$/m.test(await person.text());
  });

  await sshd.stop();
  machines.endMaster();
  await person.sees(/m1 unreachable, \d+ s/);
  person.type("echo dropped\r");
  await remote.enter("back", "echo meanwhile");
  expect((await local.run("exec", "m1/back", "--", "true")).stderr).toContain("m1: ssh: connect to host");
  expect(JSON.parse((await local.run("doctor", "m1", "--json")).stdout)).toEqual([
    expect.objectContaining({
      subject: "ssh",
      state: "wrong",
      advice: expect.stringContaining(`: ${local.env.WSH_SSH_COMMAND} m1`),
    }),
  ]);
  await sshd.again();
  const back = await person.sees((text) => /^meanwhile$/m.test(text) && !text.includes("unreachable"));
  expect(back).not.toContain("dropped");
  person.type("\x1c\x1c");
  expect(await person.exited).toBe(0);
  expect(await person.text()).toContain("[detached from session 'm1/back']");
});

withSsh(
  "one window over several machines: a pane shows a session of another one, and is back after a partition",
  async () => {
    const machines = await shared();
    const { local, remote, sshd } = machines;
    await local.session("views");
    await local.ok("new", "m1/viewed");
    expect((await local.run("split", "views", "--view", "m2/dev")).stderr).toContain("no machine 'm2'");
    const pane = (await local.ok("split", "views", "--view", "m1/viewed")).trim();
    await local.shows(pane, /^\$/m);
    await local.ok("send", pane, "--enter", "echo $XDG_RUNTIME_DIR");
    await remote.shows("viewed", remote.env.XDG_RUNTIME_DIR ?? "");
    await local.shows(pane, remote.env.XDG_RUNTIME_DIR ?? "");
    await sshd.stop();
    machines.endMaster();
    await local.shows(pane, "m1 unreachable");
    expect((await local.run("exec", "views:0.0", "--", "echo still here")).stdout).toContain("still here");
    await sshd.again();
    await until("the view to be back", async () => !(await local.screen(pane)).includes("unreachable"));
    await remote.enter("viewed", "echo back-again");
    await local.shows(pane, /^back-again$/m);
  },
);

withSsh("ssh://host/session needs no added machine", async () => {
  const machines = await shared();
  await using local = machines.beside();
  await machines.remote.session("direct");
  await using person = await EmulatorTerminal.attach(local, "ssh://m1/direct");
  person.type("echo here; exit 4\r");
  expect(await person.exited).toBe(4);
  expect(await local.ok("servers")).toContain("No other machines");
  expect(machines.masterPid(local)).not.toBeNull();
  await local.ok("stop");
  await until("ssh to have ended", () => machines.masterPid(local) === null);
  const dir = join(local.instance.runtimeDir, "ssh");
  expect(fs.readdirSync(dir).filter((name) => !name.endsWith(".lock"))).toEqual([]);
});

describe("obstacles on the remote machine", () => {
  withSsh("an sshd that does not forward Unix sockets: wsh proxy carries everything", async () => {
    await using machines = await TwoMachines.start({
      sshd: ["AllowStreamLocalForwarding no"],
      bashrc: "echo noise\n",
    });
    const { local } = await machines.add();
    await local.ok("new", "m1/dev");
    expect((await local.run("exec", "m1/dev", "--", "seq 100000 | tail -1")).stdout).toBe("100000\n");
    await using person = await EmulatorTerminal.attach(local, "m1/dev");
    person.type("echo by-proxy\r");
    await person.sees(/^by-proxy$/m);
    const findings = JSON.parse((await local.run("doctor", "m1", "--json")).stdout);
    expect(findings).toContainEqual(
      expect.objectContaining({ subject: "socket", state: "note", text: expect.stringContaining("wsh proxy") }),
    );
  });

  testWith(
    "sshd",
    "ssh",
    "fish",
  )("a login shell other than POSIX shells", async () => {
    const fish = 'ForceCommand /usr/bin/env fish -c "$SSH_ORIGINAL_COMMAND"';
    await using machines = await (await TwoMachines.start({ sshd: [fish] })).add();
    await machines.local.ok("new", "m1/dev");
    expect((await machines.local.run("exec", "m1/dev", "--", "echo ok")).stdout).toBe("ok\n");
  });

  withSsh("a runtime directory here with a path too long for ssh's sockets", async () => {
    const long = join(fs.mkdtempSync("/tmp/wsh-t-"), "x".repeat(50));
    fs.mkdirSync(long, { mode: 0o700 });
    await using local = (await shared()).beside({ XDG_RUNTIME_DIR: long });
    await local.ok("servers", "add", "ssh://m1");
    await local.ok("new", "m1/far");
    expect((await local.run("exec", "m1/far", "--", "echo ok")).stdout).toBe("ok\n");
    expect(fs.existsSync(join(long, "wsh/ssh"))).toBe(false);
    fs.rmSync(join(long, ".."), { recursive: true });
  });

  let bare: Promise<TwoMachines> | null = null;
  /** A remote machine without wsh. */
  function withoutWsh(): Promise<TwoMachines> {
    bare ??= TwoMachines.start({ bare: true });
    return bare;
  }
  afterAll(async () => (await bare)?.[Symbol.asyncDispose]());

  withSsh("no wsh: reported, and nothing is copied without a person to ask", async () => {
    const { local, remote } = await withoutWsh();
    const added = await local.run("servers", "add", "ssh://m1");
    expect(added.code).toBe(1);
    expect(added.stderr).toContain("m1 has no wsh (");
    expect(fs.existsSync(join(remote.env.HOME ?? "", ".local/bin"))).toBe(false);
    const findings = JSON.parse((await local.run("doctor", "m1", "--json")).stdout);
    expect(findings.map(({ subject, state }: Record<string, string>) => [subject, state])).toEqual([
      ["ssh", "ok"],
      ["binary", "wrong"],
    ]);
  });

  test.skipIf(isMissing("sshd", "ssh", "ssh-keygen") || !isCompiled)(
    "no wsh: it is offered to be copied, checked, and used",
    async () => {
      const { local, remote } = await withoutWsh();
      await using person = EmulatorTerminal.run(local, ["servers", "add", "ssh://m1"], { cols: 140 });
      await person.sees(/Copy this one .* to ~\/\.local\/bin there\? \[y\/N\]/s);
      person.type("y\r");
      expect(await person.exited).toBe(0);
      expect(await person.text()).toContain("Machine 'm1' added");
      expect(fs.readdirSync(join(remote.env.HOME ?? "", ".local/bin"))).toEqual(["wsh"]);
      await local.ok("new", "m1/dev");
      expect((await local.run("exec", "m1/dev", "--", "echo copied")).stdout).toBe("copied\n");
    },
  );

  withSsh("a killed master leaves its socket, which disturbs nothing", async () => {
    const machines = await withSession();
    const { local } = machines;
    for (let round = 0; round < 2; round++) {
      machines.killMaster();
      expect((await local.run("exec", "m1/lasting", "--", "echo again")).stdout).toBe("again\n");
    }
  });

  withSsh("its server was killed: the next command starts one, and the session is the same", async () => {
    const { local, remote } = await withSession();
    await local.ok("exec", "m1/lasting", "--", "x=kept");
    await remote.killServer();
    expect((await local.run("exec", "m1/lasting", "--", "echo $x")).stdout).toBe("kept\n");
  });
});

withSsh("a machine that does not answer keeps its sessions in the list, unchanged", async () => {
  const machines = await withSession();
  const { local, sshd } = machines;
  await local.ok("wait", "m1/lasting", "prompt");
  await local.server();
  await local.ok("list", "--all-machines");
  const listed = async () => {
    const all = (await (await local.fetch("/sessions")).json()) as Record<string, unknown>[];
    return all.find(({ name }) => name === "m1/lasting");
  };
  await until("the session at its prompt", async () => (await listed())?.state === "prompt");
  expect(await listed()).toMatchObject({ server: "m1" });
  await sshd.stop();
  machines.endMaster();
  const lost = await until("the machine to be lost", async () => {
    const session = await listed();
    return session?.as_of === undefined ? null : session;
  });
  expect(lost).toMatchObject({ name: "m1/lasting", state: "unresponsive" });
  const { code, stdout, stderr } = await local.run("list", "--all-machines");
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining("unreachable: seen") });
  expect(stderr).toContain("machine 'm1' does not answer");
  await until("it to be listed as unreachable", async () => {
    const servers = (await (await local.fetch("/servers")).json()) as Record<string, unknown>[];
    return servers[1]?.hostname === "m1" && servers[1].health === "unreachable";
  });
  const refused = await local.fetch("/sessions/m1%2Flasting/input", { method: "POST", body: "echo late\n" });
  expect({ status: refused.status, body: await refused.json() }).toMatchObject({
    status: 503,
    body: { error: { code: "machine_unreachable" } },
  });
  await sshd.again();
  // It is tried again at intervals that have grown meanwhile.
  await until("the machine to be back", async () => (await listed())?.state === "prompt", 3 * PATIENCE_MS);
  expect(await local.ok("screen", "m1/lasting")).not.toContain("late");
});

withSsh(
  "what was sent to a server that is killed meanwhile is done once, and the next server gives its answer",
  async () => {
    const { local, remote } = await withSession();
    await local.ok("server", "--ensure", "--bind", "none");
    const log = join(remote.dir, "runs");
    const command = `echo run >>${log}; until [ -e ${log}.end ]; do sleep 0.1; done`;
    const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ command }) };
    for (let round = 1; round <= 3; round++) {
      fs.rmSync(`${log}.end`, { force: true });
      // Uses the connection of the next request once before.
      expect((await local.fetch("/sessions/m1%2Flasting")).status).toBe(200);
      const asked = local.fetch("/sessions/m1%2Flasting/exec", init);
      await until("the command to run", () => fs.existsSync(log) && lines(log) === round);
      await remote.killServer();
      fs.writeFileSync(`${log}.end`, "");
      const answer = await asked;
      expect({ status: answer.status, body: await answer.json() }).toMatchObject({
        status: 200,
        body: { session: "m1/lasting", state: "finished", exit_code: 0 },
      });
      expect(lines(log)).toBe(round);
    }
  },
);

withSsh("the login that stays open ends when the machine is removed, and with wsh stop", async () => {
  const machines = await withSession();
  const { local } = machines;
  expect(machines.masterPid()).not.toBeNull();
  await local.ok("stop");
  await until("the login to end", () => machines.masterPid() === null);
  await local.server();
  expect((await local.fetch("/sessions/m1%2Flasting")).status).toBe(200);
  expect(machines.masterPid()).not.toBeNull();
  await local.ok("servers", "remove", "m1");
  expect((await local.run("exec", "m1/lasting", "--", "true")).stderr).toContain("no machine 'm1'");
  await until("the login to end", () => machines.masterPid() === null);
});

function lines(path: string): number {
  return fs.readFileSync(path, "utf8").trim().split("\n").length;
}

test("an address that is none is refused, and nothing is added", async () => {
  await using local = new Wsh();
  for (const address of [
    "ssh://-oProxyCommand=touch%20x",
    "ssh://-oProxyCommand=touch@host",
    "ssh://a b@host",
    "ssh://host/-x?y",
    "ssh://user:secret@host",
    "http://example.org",
    "https://user:secret@example.org",
    "ftp://host",
    "host",
  ]) {
    const { code, stderr } = await local.run("servers", "add", address);
    expect({ address, code, stderr }).toEqual({ address, code: 1, stderr: expect.stringContaining("wsh: ") });
  }
  expect(await local.ok("servers", "list")).toContain("No other machines");
});
