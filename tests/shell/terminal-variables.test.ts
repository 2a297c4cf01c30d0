/** Variables of a terminal reach running shells at their next prompt, and replace none of the person's own. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { agentLink } from "../../src/instance/agent-link.ts";
import { testWith } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

let wsh: Wsh;
beforeAll(() => {
  wsh = new Wsh({ env: { DISPLAY: ":0", KRB5CCNAME: "old" } });
});
afterAll(async () => wsh[Symbol.asyncDispose]());

describe("a running shell", () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    testWith(shell)(`${shell} takes the next terminal's variables at its prompt`, async () => {
      await wsh.session(shell, "--shell", shell);
      const own = shell === "fish" ? "set -gx KRB5CCNAME mine" : "export KRB5CCNAME=mine";
      await wsh.exec(shell, own);
      const ask = 'echo "<$SSH_AUTH_SOCK|$DISPLAY|$KRB5CCNAME>"';
      const said = async (): Promise<string> => {
        // Its prompt comes first.
        await wsh.run("exec", shell, "--", "true");
        return (await wsh.exec(shell, ask)).trim();
      };
      expect(await said()).toBe("<|:0|mine>");
      const quoted = "/tmp/it's $(touch pwned) \\ here";
      {
        const env = { SSH_AUTH_SOCK: quoted, DISPLAY: ":7", KRB5CCNAME: "theirs" };
        await using _first = await EmulatorTerminal.attach(wsh, shell, { env, seen: /./ });
        await until("its variables", async () => (await said()) === `<${quoted}|:7|mine>`);
        expect(JSON.parse(await wsh.ok("env", shell, "--json"))).toMatchObject({
          SSH_AUTH_SOCK: quoted,
          DISPLAY: ":7",
        });
      }
      // Without a screen, as over ssh.
      const next = { SSH_AUTH_SOCK: "/tmp/second", DISPLAY: "", KRB5CCNAME: "" };
      await using _second = await EmulatorTerminal.attach(wsh, shell, { env: next, seen: /./ });
      await until("the next one's", async () => (await said()) === "</tmp/second||mine>");
      expect(fs.existsSync(join(wsh.dir, "pwned"))).toBe(false);
    });
  }
});

test("one path leads to a living agent, from whichever terminal", async () => {
  const sockets = ["a.sock", "b.sock"].map((name) => join(wsh.dir, name));
  const agents = sockets.map((unix) => Bun.listen({ unix, socket: { data() {} } }));
  const [first = "", second = ""] = sockets;
  const link = agentLink(wsh.instance);
  const target = () => (fs.lstatSync(link, { throwIfNoEntry: false }) === undefined ? null : fs.readlinkSync(link));
  expect(await wsh.ok("env", "--agent")).toBe(`${link}\n`);
  await wsh.session("agents");
  await wsh.session("others");
  await using _stays = await EmulatorTerminal.attach(wsh, "agents", { env: { SSH_AUTH_SOCK: first } });
  await until("the first", () => target() === first);
  {
    await using _leaves = await EmulatorTerminal.attach(wsh, "others", { env: { SSH_AUTH_SOCK: second } });
    await until("the second", () => target() === second);
    agents[1]?.stop();
    fs.rmSync(second, { force: true });
  }
  await until("the first again", () => target() === first);
  expect(await wsh.ok("env", "others", "--shell")).toContain(`export SSH_AUTH_SOCK='${second}'`);
  // An agent that ends while its terminal stays.
  agents.push(Bun.listen({ unix: second, socket: { data() {} } }));
  await using _third = await EmulatorTerminal.attach(wsh, "others", { env: { SSH_AUTH_SOCK: second } });
  await until("the second again", () => target() === second);
  fs.rmSync(second);
  await wsh.ok("env", "--agent");
  expect(fs.readlinkSync(link)).toBe(first);
  agents[2]?.stop();
  agents[0]?.stop();
});
