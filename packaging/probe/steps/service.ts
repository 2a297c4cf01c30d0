/** Step 6: the units that `wsh service` prints are such as the system reads and loads. */
import { join } from "node:path";
import { until } from "../../../tests/support/until.ts";
import { Wsh } from "../../../tests/support/wsh.ts";
import { program } from "../../../tests/support/wsh-program.ts";
import type { ProbeOptions } from "../probe.ts";
import { type Checks, require, Skipped } from "../report.ts";

export async function service(checks: Checks, { mayUseLaunchctl }: ProbeOptions): Promise<void> {
  await using wsh = new Wsh({ name: `probe-${process.pid}` });
  const plist = join(wsh.dir, "agent.plist");
  await Bun.write(plist, await wsh.ok("service", "launchd"));

  await checks.check("the agent is a property list", async () => {
    const [reader, ...command] =
      Bun.which("plutil") === null ? ["python3", "-m", "plistlib"] : ["plutil", "-lint", plist];
    const source = 'import plistlib, sys; plistlib.load(open(sys.argv[1], "rb"))';
    if (reader === undefined || Bun.which(reader) === null)
      throw new Skipped("neither plutil nor python3 is installed");
    const read = reader === "python3" ? ["-c", source, plist] : command;
    const { exitCode, stdout, stderr } = Bun.spawnSync([reader, ...read]);
    require(exitCode === 0, `${stdout}${stderr}`.trim(), { reader });
    return { reader };
  });

  await checks.check("launchd starts the server and ends it", async () => {
    if (Bun.which("launchctl") === null) throw new Skipped("there is no launchctl");
    if (!mayUseLaunchctl) throw new Skipped("not without --launchctl");
    return loadAgent(plist, wsh.instance.name);
  });

  await checks.check("systemd reads the unit", async () => {
    if (Bun.which("systemd-analyze") === null) throw new Skipped("there is no systemd-analyze");
    const unit = join(wsh.dir, "wsh-probe.service");
    await Bun.write(unit, await wsh.ok("service", "systemd"));
    const { stderr } = Bun.spawnSync(["systemd-analyze", "verify", "--man=no", unit]);
    const faults = stderr
      .toString()
      .split("\n")
      .filter((line) => line.includes("wsh-probe.service"));
    require(faults.length === 0, faults.join("; "));
    return {};
  });
}

/** In the real launchd, under the real home: the instance's name is this probe's alone. */
async function loadAgent(plist: string, name: string) {
  const domain = `gui/${process.getuid?.()}`;
  const run = (...command: string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(command);
    return { exitCode, text: `${stdout}${stderr}`.trim() };
  };
  const loaded = run("launchctl", "bootstrap", domain, plist);
  try {
    require(loaded.exitCode === 0, loaded.text);
    const wsh = (...args: string[]) => run(...program, "-L", name, ...args);
    await until("the server to answer", () => wsh("status").exitCode === 0);
    const printed = run("launchctl", "print", `${domain}/wsh.${name}`).text;
    const known = /state = (\w+)/.exec(printed)?.[1];
    require(known === "running", "launchd does not say that it runs", { printed: printed.slice(0, 2_000) });
    return { domain, spawnType: /spawn type = (.*)/.exec(printed)?.[1] };
  } finally {
    run("launchctl", "bootout", `${domain}/wsh.${name}`);
  }
}
