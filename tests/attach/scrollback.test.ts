/** Attaching again adds new lines to a terminal's own scrollback, and none twice. */
import { describe, test } from "bun:test";
import { Canvas } from "../support/drawing-api.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

if (!hasTmux) console.warn("tmux is not installed: nothing is tested of attaching again");
const PROMPT = /^\$(?: *[│┃╽╿])?$/m;

/** Waits until the terminal, with its scrollback, has each of these lines so many times; an overlay may be beside one. */
async function has(person: PersonTerminal, lines: readonly string[], count: number): Promise<void> {
  const wrong = (all: readonly string[]) =>
    lines.filter((line) => all.filter((shown) => shown.split(" ")[0] === line).length !== count);
  let left = [...lines];
  await until(`each line to be there ${count} times`, async () => {
    left = wrong((await person.all()).split("\n"));
    return left.length === 0;
  }).catch((error) => {
    throw new Error(`${error.message}; it is not for ${left}`);
  });
}

const times = (prefix: string, from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `${prefix}${from + at}`);

async function attached(person: PersonTerminal, ...flags: readonly string[]): Promise<void> {
  await person.type(["wsh", "attach", "s", ...flags].join(" "));
  await person.sees((screen) => PROMPT.test(screen) && !screen.includes("outer>"));
}

describe.skipIf(!hasTmux || process.platform !== "linux")("the scrollback of a terminal that attaches again", () => {
  for (const rendered of [false, true]) {
    test(`gets lines printed since it detached, once (${rendered ? "rendered" : "passed through"})`, async () => {
      await using wsh = new Wsh();
      await using person = await PersonTerminal.open(wsh);
      await wsh.session("s");
      await wsh.exec("s", "seq -f old%.0f 1 100");
      if (rendered) {
        await wsh.server();
        await new Canvas(wsh, "s").overlay({ x: 40, y: 1, width: 5, height: 1, spans: [{ text: "DRAWN" }] });
      }
      await attached(person);
      // Up to the lines that stayed on the screen.
      await has(person, times("old", 1, 75), 1);
      await person.type("seq -f here%.0f 1 100");
      await person.sees(/^here100$/m);
      await person.detach();
      await wsh.exec("s", "seq -f away%.0f 1 100");
      await attached(person);
      await person.sees(/^away100$/m);
      await has(person, times("old", 1, 75), 1);
      await has(person, times("here", 1, 100), 1);
      await has(person, times("away", 1, 100), 1);
      // Nothing is new.
      await person.detach();
      await attached(person);
      await has(person, times("away", 1, 75), 1);
      await person.detach();
      await attached(person, "--scrollback all");
      await has(person, times("old", 1, 75), 2);
    });
  }

  test("gets lines that left a pane before, during and after splits, and new lines on attaching again", async () => {
    await using wsh = new Wsh();
    await using person = await PersonTerminal.open(wsh);
    await wsh.session("s");
    const print = (text: string): Promise<string> => wsh.exec("@1", `seq -f ${text}%.0f 1 100`);
    await print("old");
    await attached(person);
    // Lines of a pane as wide as the terminal go to its scrollback. In a narrower pane they wait.
    await wsh.ok("split", "s", "-d", "down");
    await print("stacked");
    await has(person, times("stacked", 1, 88), 1);
    await wsh.ok("pane", "close", "@2");
    await wsh.ok("split", "s", "-d", "right");
    await print("beside");
    await person.detach();
    await print("away");
    await attached(person);
    await wsh.ok("pane", "close", "@3");
    await print("after");
    await has(person, times("old", 1, 75), 1);
    await has(person, [...times("stacked", 1, 75), ...times("beside", 1, 77), ...times("away", 1, 77)], 1);
    await has(person, times("after", 1, 75), 1);
    await person.detach();
    await wsh.ok("split", "s", "-d", "right");
    await attached(person, "--scrollback all");
    await wsh.ok("pane", "close", "@4");
    await has(person, times("old", 1, 75), 2);
  });

  test("gets lines that have changed since, and those after them", async () => {
    await using wsh = new Wsh();
    await using person = await PersonTerminal.open(wsh);
    await wsh.session("s");
    await attached(person);
    await person.type("echo same; echo before; echo after");
    await person.sees(/^after$/m);
    await person.detach();
    await wsh.exec("s", "printf '\\033[3A\\033[Kchanged\\033[3B\\r'; seq -f away%.0f 1 100");
    await attached(person);
    await has(person, ["same", "before", "changed", "away1", "away100"], 1);
    await has(person, ["after"], 2);
  });

  test("of another terminal gets all lines", async () => {
    await using wsh = new Wsh();
    await using first = await PersonTerminal.open(wsh);
    await using second = await PersonTerminal.open(wsh);
    await wsh.session("s");
    await wsh.exec("s", "seq -f old%.0f 1 100");
    await attached(first);
    await first.detach();
    await attached(second);
    await has(second, times("old", 1, 75), 1);
    await second.detach();
  });
});
