/** A hostile or broken remote machine, over a real sshd; and a connection that ends in the middle of a command. */
import { afterAll, describe, expect, setDefaultTimeout } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { PROTOCOL_VERSION } from "../../src/protocol/messages.ts";
import { contentOf } from "../support/content-of.ts";
import { testWith } from "../support/programs.ts";
import { TwoMachines } from "../support/two-machines.ts";
import { until } from "../support/until.ts";
import type { Wsh } from "../support/wsh.ts";

setDefaultTimeout(120_000);
const withSsh = testWith("sshd", "ssh", "ssh-keygen");

let honest: Promise<TwoMachines> | null = null;
/** Two machines of which nothing is wrong, for the tests of connections that end. */
function honestMachines(): Promise<TwoMachines> {
  // A server that was started on demand would end half a minute later, between two requests on a busy machine.
  honest ??= TwoMachines.start().then(async (machines) => {
    await machines.local.server();
    return machines;
  });
  return honest;
}
afterAll(async () => (await honest)?.[Symbol.asyncDispose]());

/** Sequences that a terminal would execute. */
const OBEYED = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/;
const TITLE = "\x1b]0;owned\x07\x1b[2J\u202e";

describe("startup files with any output", () => {
  withSsh("bytes that are not text, and a forged line before ours", async () => {
    // A terminal there is left alone: it would execute them.
    const garbage =
      'head -c 100000 /dev/urandom; printf "\\nwsh-link-1\\nwsh-link-2 found /bin/sh\\n{\\"socket\\":\\"/x\\"}"';
    const bashrc = `case $- in *i*) ;; *) ${garbage} ;; esac\n`;
    await using machines = await (await TwoMachines.start({ bashrc })).add();
    await machines.local.ok("new", "m1/dev");
    expect((await machines.local.run("exec", "m1/dev", "--", "echo ok")).stdout).toBe("ok\n");
  });

  withSsh("endless output: reported at once, and not kept", async () => {
    await using machines = await TwoMachines.start();
    fs.appendFileSync(join(machines.remote.env.HOME ?? "", ".bashrc"), "yes noise\n");
    const added = await machines.local.run("servers", "add", "ssh://m1");
    expect(added.code).toBe(1);
    expect(added.stderr).toContain("m1: its startup files, or its wsh, print endlessly");
  });
});

/** Actions of a remote machine's own `wsh`, as text of a shell script. */
interface Lie {
  /** For `wsh server --ensure`. */
  readonly server?: string;
  /** For `wsh proxy`, which carries everything when no socket answers. */
  readonly proxy?: string;
}

function hello(said: object): string {
  const body = JSON.stringify({ wsh: PROTOCOL_VERSION, version: "9", server_id: "x", hostname: "h", ...said });
  const head = `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`;
  // Its hello line, and one answer to every request.
  return `echo wsh-proxy-1; read -r asked; printf '%b' '${escaped(head + body)}'`;
}

/** For `printf %b`; in octal, so that no quote is left. */
function escaped(text: string): string {
  return Array.from(Buffer.from(text), (byte) => `\\0${byte.toString(8).padStart(3, "0")}`).join("");
}

withSsh("a remote wsh whose every answer is forged is refused, and none of its text reaches the terminal", async () => {
  await using machines = await TwoMachines.start({ bare: true });
  const { local, remote } = machines;
  const program = join(remote.dir, "bin/wsh");
  const lies: readonly [name: string, lie: Lie, said: RegExp][] = [
    ["endless", { server: "yes" }, /print endlessly/],
    ["nothing", { server: "exit 0" }, /did not start a server/],
    ["no-json", { server: `printf '${escaped(`{"socket": ${TITLE}`)}'` }, /did not start a server/],
    ["no-path", { server: `echo '{"socket": 5}'` }, /did not start a server/],
    ["noise", { proxy: "yes" }, /cannot be reached by a forwarded socket/],
    ["no-http", { proxy: "echo wsh-proxy-1; yes" }, /cannot be reached by a forwarded socket/],
    [
      "huge",
      { proxy: "echo wsh-proxy-1; printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 99999999999\\r\\n\\r\\n'; yes" },
      /./,
    ],
    ["no-hello", { proxy: hello({ wsh: "two" }) }, /not a wsh server that can be linked/],
    ["ansi", { proxy: hello({ version: TITLE }) }, /not a wsh server that can be linked/],
    ["protocol", { proxy: hello({ wsh: 99 }) }, /speaks protocol 99/],
  ];
  for (const [name, { server = `echo '{"socket":"/nowhere"}'`, proxy = "exit 1" }, said] of lies) {
    const script = `#!/bin/sh\ncase "$1" in server) ${server} ;; proxy) ${proxy} ;; esac\n`;
    fs.writeFileSync(program, script, { mode: 0o755 });
    const { code, stdout, stderr } = await local.run("servers", "add", "ssh://m1", "--name", name);
    if (!said.test(stdout + stderr)) throw new Error(`${name}: ${stdout}${stderr}`);
    expect({ name, code: code === 0, said: said.test(stdout + stderr), obeyed: OBEYED.test(stdout + stderr) }).toEqual({
      ...{ name, code: false, said: true, obeyed: false },
    });
  }
  const listed = await local.run("servers");
  expect(OBEYED.test(listed.stdout + listed.stderr)).toBe(false);
  expect((await local.run("screen", "protocol/dev")).stderr).toContain("speaks protocol 99");
});

withSsh("an argument that ssh would take for an option is not a machine, wherever it is named", async () => {
  const { local } = await honestMachines();
  const mark = join(local.dir, "owned");
  const evil = [`ssh://-oProxyCommand=touch ${mark}`, `ssh://-oProxyCommand=touch%20${mark}`, `ssh://-F${mark}@m1`];
  for (const address of [...evil, `ssh://m1:-oProxyCommand=touch`, `ssh://m1/dev\n-oProxyCommand=x`]) {
    expect((await local.run("attach", `${address}/dev`)).code).not.toBe(0);
    expect((await local.run("exec", `${address}/dev`, "--", "true")).code).not.toBe(0);
    expect((await local.run("doctor", address)).code).not.toBe(0);
    const body = JSON.stringify({ url: address, address, hostname: "evil" });
    const headers = { "Content-Type": "application/json" };
    expect((await local.fetch("/servers", { method: "POST", headers, body })).status).toBeGreaterThanOrEqual(400);
    const asked = await local.fetch(`/sessions/dev/screen?server=${encodeURIComponent(address)}`);
    expect(asked.status).toBeGreaterThanOrEqual(400);
  }
  expect((await local.run("servers", "add", "ssh://m1", "--name", "-oProxyCommand=x")).code).not.toBe(0);
  expect(fs.existsSync(mark)).toBe(false);
  expect((await local.ok("servers")).match(/owned|evil|oProxy/g)).toBeNull();
});

/** A command that reports its start, and ends on request. */
class HeldCommand {
  readonly log: string;

  constructor(
    readonly name: string,
    remote: Wsh,
  ) {
    this.log = join(remote.dir, `held-${name}`);
  }

  get text(): string {
    return `echo run >>${this.log}; until [ -e ${this.log}.end ]; do sleep 0.05; done; echo ${this.name} over`;
  }

  get runs(): number {
    return contentOf(this.log).split("run\n").length - 1;
  }

  runsNow(): Promise<unknown> {
    return until(`${this.name} to run`, () => this.runs > 0);
  }

  letEnd(): void {
    fs.writeFileSync(`${this.log}.end`, "");
  }
}

withSsh("the ssh master is killed in the middle of a command: its result is returned, and it ran once", async () => {
  const machines = await (await honestMachines()).add();
  const { local, remote } = machines;
  await local.ok("new", "m1/dev");
  const api = new HeldCommand("api", remote);
  const init = { method: "POST", headers: { "Content-Type": "application/json" } };
  const body = JSON.stringify({ command: api.text });
  const asked = local.fetch("/sessions/m1%2Fdev/exec", { ...init, body });
  await api.runsNow();
  machines.killMaster();
  api.letEnd();
  expect(await (await asked).json()).toMatchObject({ output: "api over", exit_code: 0, session: "m1/dev" });

  const person = new HeldCommand("person", remote);
  const typed = local.run("exec", "m1/dev", "--json", "--", person.text);
  await person.runsNow();
  machines.killMaster();
  person.letEnd();
  const { code, stdout } = await typed;
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, state: "finished", output: "person over" });
  expect([api.runs, person.runs]).toEqual([1, 1]);
});

withSsh(
  "sshd goes away in the middle of a command: unknown is said with its id, and by it the answer is had",
  async () => {
    const machines = await (await honestMachines()).add();
    const { local, remote, sshd } = machines;
    await local.ok("new", "m1/lost");
    const cut = new HeldCommand("cut", remote);
    const exec = async (id: string, deadlineMs: number) => {
      const headers = {
        ...{ "Content-Type": "application/json", "Wsh-Request": id },
        ...(deadlineMs === 0 ? {} : { "Wsh-Deadline": `${Date.now() + deadlineMs}` }),
      };
      const body = JSON.stringify({ command: cut.text });
      const response = await local.fetch("/sessions/m1%2Flost/exec", { method: "POST", headers, body });
      return { status: response.status, body: await response.json() };
    };
    // Long enough for a busy machine to start it, and to lose sshd.
    const asked = exec("cut-1", 6_000);
    await cut.runsNow();
    await sshd.stop();
    machines.endMaster();
    expect(await asked).toMatchObject({ status: 504, body: { error: { code: "outcome_unknown", request: "cut-1" } } });
    cut.letEnd();
    await sshd.again();
    expect(await exec("cut-1", 0)).toMatchObject({ status: 200, body: { output: "cut over", exit_code: 0 } });
    expect(cut.runs).toBe(1);
  },
);
