/** A fault in a listener of a pane costs at most that piece of its output, is reported, and harms no other pane. */
import { describe, expect, test } from "bun:test";
import type { PaneEvents } from "../../../src/pane/types.ts";
import { LivePane } from "../../support/live-pane.ts";
import { until } from "../../support/until.ts";

/** Output or an action that the pane reports. */
const faults: Partial<Record<keyof PaneEvents, string>> = {
  chunk: "echo text",
  ahead: "x",
  title: "printf '\\033]2;t\\007'",
  bell: "printf '\\007'",
  clipboard: "printf '\\033]52;c;YQ==\\007'",
  effect: "printf '\\033]9;n\\007'",
  alternate: "printf '\\033[?1049h\\033[?1049l'",
  listed: "cd /",
};

describe.if(process.platform === "linux")("a fault where a pane reports", () => {
  test.each(Object.entries(faults))("%s", async (name, printed) => {
    await using faulty = await LivePane.start({ shell: "/bin/bash" });
    await using other = await LivePane.start({ shell: "/bin/bash" });
    const told: unknown[] = [];
    faulty.pane.events.on("crashed", (error) => told.push(error));
    let isOn = true;
    faulty.pane.events.on(name as keyof PaneEvents, () => {
      if (isOn) throw new Error("made up");
    });
    faulty.type(printed === "x" ? printed : `${printed}\r`);
    await until("the fault to be told", () => told.length > 0);
    isOn = false;
    if (printed === "x") faulty.type("\x15");
    expect(await other.exec("echo other")).toMatchObject({ output: "other" });
    faulty.type("\recho ag''ain\r");
    await until("the pane to go on", () =>
      [...faulty.pane.terminal.lineTexts(0, 100)].some(({ text }) => text === "again"),
    );
  });

  test("at its end", async () => {
    await using faulty = await LivePane.start({ shell: "/bin/bash" });
    const told: unknown[] = [];
    faulty.pane.events.on("crashed", (error) => told.push(error));
    faulty.pane.events.on("exited", () => {
      throw new Error("made up");
    });
    faulty.type("exit 3\r");
    await until("the fault to be told", () => told.length > 0);
    expect(faulty.pane.exit).toMatchObject({ code: 3 });
  });
});
