/** Help fits one screen of 80 columns, with each description in its own column. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { fullProgram, openProgram } from "../../src/cli/parser.ts";
import { prefixWords } from "../../src/cli/prefix-words.ts";
import { Wsh } from "../support/wsh.ts";

// Each test starts many processes.
setDefaultTimeout(60_000);

/** Cells and lines of the screen that help must fit. */
const COLUMNS = 80;
const LINES = 41;

let wsh: Wsh;
beforeAll(() => {
  wsh = new Wsh();
});
afterAll(async () => {
  await wsh[Symbol.asyncDispose]();
});

function widest(text: string): number {
  return Math.max(...text.split("\n").map((line) => Bun.stringWidth(line)));
}

test("--help fits a screen, and names every subcommand", async () => {
  const { code, stdout } = await wsh.run("--help");
  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n").length).toBeWithin(24, LINES);
  expect(widest(stdout)).toBeLessThanOrEqual(COLUMNS);
  for (const name of ["attach", "exec", "server", "completions"]) expect(stdout).toContain(`\n  ${name} `);
  expect(stdout).not.toContain("\x1b");
  for (const same of [["help"], ["-h"], ["help", "--help"], ["help", "-h"]]) expect(await wsh.ok(...same)).toBe(stdout);
});

test("help and settings name the prefix key in force, and how it detaches", async () => {
  await using preset = new Wsh({ config: 'prefix_preset = "tmux"\n' });
  await using presetOwn = new Wsh({ config: 'prefix_preset = "tmux"\nprefix_key = "C-a"\n' });
  await using own = new Wsh({ config: 'prefix_key = "C-a"\n' });
  await using none = new Wsh({ config: 'prefix_key = "none"\n' });
  const detaches = async ({ ok }: Pick<Wsh, "ok">) =>
    (await Promise.all([ok("--help"), ok("attach", "--help"), ok("-c", "true", "--help")])).map(
      (text) =>
        /[^.:\n]*(detaches|o prefix key)/.exec(text.replace(/\s+/g, " ").replace(/^.*Everywhere/, ""))?.[0].trim() ??
        text,
    );
  const of = (each: Wsh) => detaches({ ok: (...args) => each.ok(...args) });
  expect(await of(wsh)).toEqual([
    "Ctrl+\\ twice detaches",
    "The prefix key (Ctrl+\\) twice detaches",
    "The prefix key (Ctrl+\\) twice detaches",
  ]);
  const before = "The prefix key (Ctrl+B) then d detaches";
  expect(await of(preset)).toEqual(["Ctrl+B then d detaches", before, before]);
  // Pressed twice it is typed, as with the preset's own key.
  const beforeA = "The prefix key (Ctrl+A) then d detaches";
  expect(await of(presetOwn)).toEqual(["Ctrl+A then d detaches", beforeA, beforeA]);
  const custom = "The prefix key (Ctrl+A) twice detaches";
  expect(await of(own)).toEqual(["Ctrl+A twice detaches", custom, custom]);
  expect(await of(none)).toEqual(["No prefix key", "There is no prefix key", "There is no prefix key"]);
  const listed = JSON.parse(await preset.ok("config", "--json")) as { name: string; value: unknown; origin: string }[];
  expect(listed.find(({ name }) => name === "prefix_key")).toMatchObject({
    value: "C-b",
    origin: expect.stringContaining("config.toml:1"),
  });
});

test("help names the prefix key of the instance that is named, wherever its flag is", async () => {
  await using own = new Wsh();
  await own.session("dev");
  await own.ok("tmux", "set", "-g", "prefix", "C-a");
  expect(await own.ok("attach", "--help")).toContain("The prefix key (Ctrl+A) twice detaches");
  for (const line of [
    ["-L", "elsewhere", "attach", "--help"],
    ["attach", "-L", "elsewhere", "--help"],
    ["attach", "--help", "--server-name=elsewhere"],
    ["-L", "elsewhere", "--help"],
  ])
    expect((await own.ok(...line)).replace(/\s+/g, " ")).toContain("Ctrl+\\");
  expect(await own.ok("-L", "a/b", "attach", "--help")).toContain("Usage: wsh attach");
});

test("each subcommand's help fits a screen too, and no description runs into the left column", async () => {
  const overview = await wsh.ok("--help");
  const lines = [...overview.matchAll(/^ {2}([a-z-]+) .* {2}/gm)].map((match) => match[1] ?? "");
  const rare = [...overview.matchAll(/^ {2}also: (.*)$/gm)].flatMap((match) => match[1]?.split(", ") ?? []);
  const names = [...lines, ...rare];
  expect(names.length).toBeGreaterThan(25);
  // As the command line makes it, without a process for each.
  const words = await prefixWords(wsh.instance);
  // `wsh -c` has the help of `wsh` itself, the first line of the overview.
  const helpOf = async (name: string): Promise<string> => {
    const program = name === "wsh" ? await openProgram(words) : await fullProgram(name, words);
    const command = name === "wsh" ? program : program.commands.find((each) => each.name() === name);
    return command?.helpInformation() ?? "";
  };
  expect(await wsh.ok("-c", "true", "--help")).toBe(await helpOf("wsh"));
  expect(await wsh.ok("exec", "--help")).toBe(await helpOf("exec"));
  for (const name of names) {
    const stdout = await helpOf(name);
    expect(stdout).toStartWith(name === "wsh" ? "Usage: wsh" : `Usage: wsh ${name}`);
    expect(stdout.split("\n").length).toBeLessThan(LINES + 1);
    expect(widest(stdout), name).toBeLessThanOrEqual(COLUMNS);
    for (const part of stdout.split(/^(?:Arguments|Options|Global Options):\n/m).slice(1)) {
      const [list = ""] = part.split("\n\n");
      const columns = list.split("\n").flatMap((line) => {
        const at = /^ {2}\S.*? {2,}\S|^ {3,}\S/.exec(line)?.[0].length;
        return at === undefined ? [] : [at];
      });
      expect(new Set(columns).size).toBe(1);
      for (const line of list.split("\n").filter((text) => text !== ""))
        expect(line).toMatch(/^ {2}\S.*? {2,}\S|^ {3,}\S/);
    }
  }
});
