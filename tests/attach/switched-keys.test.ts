/** A person's keys after their terminal has switched to a session whose process cannot open that terminal. */
import { expect } from "bun:test";
import { canMount } from "../reliability/faults/enclosed.ts";
import { testWith } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { finished, Wsh } from "../support/wsh.ts";

/** Runs a command with terminals of its own, as in a container. */
const inside = ["unshare", "--mount", "sh", "-c", 'mount -t devpts -o newinstance,ptmxmode=0666 none /dev/pts && "$@"'];
const canEnclose = canMount && Bun.spawnSync([...inside, "sh", "true"]).success;

testWith("unshare").skipIf(!canEnclose)("the client reads them again, and no longer once back", async () => {
  await using wsh = new Wsh();
  await wsh.session("one");
  await wsh.exec("one", "echo this is one");
  const options = { cwd: wsh.dir, env: wsh.env, stderr: "pipe" } as const;
  const made = await finished(Bun.spawn([...inside, "sh", ...wsh.command("new", "two")], options));
  expect(made).toMatchObject({ code: 0 });
  await wsh.exec("two", "echo this is two");
  await using terminal = await EmulatorTerminal.attach(wsh, "one", { seen: /^this is one$/m });
  for (const round of [1, 2]) {
    terminal.type("\x1c:view.go session=two\r");
    await terminal.sees(/^this is two$/m);
    terminal.type(`echo two''${round}\r`);
    await terminal.sees(RegExp(`^two${round}$`, "m"));
    terminal.type("\x1c:view.go session=one\r");
    await terminal.sees(/^this is one$/m);
    terminal.type(`echo one''${round}\r`);
    await terminal.sees(RegExp(`^one${round}$`, "m"));
  }
  terminal.type("\x1c:view.go session=two\r");
  await terminal.sees(/^this is two$/m);
  terminal.type("\x1c\x1c");
  await terminal.sees("[detached from session 'two']");
  expect(await terminal.exited).toBe(0);
});
