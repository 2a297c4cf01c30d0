/** Step 5: a person's terminal: attaching, typing, seeing, detaching. */
import { EmulatorTerminal } from "../../../tests/support/terminals/emulator-terminal.ts";
import { Wsh } from "../../../tests/support/wsh.ts";
import { type Checks, require } from "../report.ts";

export async function attach(checks: Checks): Promise<void> {
  await checks.check("a terminal attaches, types, sees and detaches", async () => {
    await using wsh = new Wsh();
    await wsh.session("one");
    await using terminal = await EmulatorTerminal.attach(wsh, "one");
    terminal.type("echo pro''be-$((6*7))\r");
    await terminal.sees("probe-42");
    terminal.type("\x1c\x1c");
    await terminal.sees("[detached");
    require((await terminal.exited) === 0, "detaching is no success");
    const [session] = await wsh.list();
    require(session?.name === "one", "the session has ended with its terminal");
    return {};
  });
}
