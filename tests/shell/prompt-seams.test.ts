import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { testWith } from "../support/programs.ts";
import { findText, ShellTerminal } from "../support/terminals/shell-terminal.ts";

setDefaultTimeout(30_000);

/** Text of the screen while `lines` are typed, with and without integration. Every prompt must show "@@". */
async function screens(shell: "bash" | "zsh", rc: string, lines: readonly string[]) {
  const texts = await Promise.all(
    [false, true].map(async (integration) => {
      await using terminal = ShellTerminal.start(shell, { integration, files: { [`.${shell}rc`]: rc } });
      const prompts = () => findText(terminal.output).split("@@").length - 1;
      for (const [done, line] of lines.entries()) {
        await terminal.until("prompt", () => prompts() > done);
        terminal.write(`${line}\r`);
      }
      await terminal.until("last prompt", () => prompts() > lines.length);
      return findText(terminal.output).replaceAll(terminal.home, "HOME");
    }),
  );
  return { bare: texts[0] ?? "", ours: texts[1] ?? "" };
}

const endings = [
  "\\\\",
  "\\",
  "\\\\\\",
  "\\\\\\\\",
  "\\134",
  "\\\\134",
  "\\\\\\134",
  "$",
  "$$x$",
  "\\$",
  "\\e]133;C\\e\\\\",
];

describe("bash reads only our text after a prompt's last character:", () => {
  for (const ending of endings) {
    test(`PS0 and PS1 that end in ${ending}`, async () => {
      const set = `unset HISTFILE; bind 'set enable-bracketed-paste off'\nPS1='@@[${ending}'; PS0='(${ending}'`;
      for (const rc of [set, `${set}; shopt -u promptvars`]) {
        const { bare, ours } = await screens("bash", rc, ["echo hi", "(exit 3)"]);
        const isPid = /\d{2,}x/g;
        expect(ours.replace(isPid, "")).toBe(bare.replace(isPid, ""));
      }
      await using shell = ShellTerminal.start("bash", { files: { ".bashrc": set } });
      await shell.prompt();
      const { marks, text } = await shell.run("echo hi");
      const kinds = marks.filter(({ verified, kind }) => verified && kind !== "E").map(({ kind }) => kind);
      expect({ kinds: kinds.join(""), text }).toEqual({ kinds: "CDAB", text: "hi\n" });
    });
  }

  test("a prompt whose end changes gets another seam", async () => {
    await using shell = ShellTerminal.start("bash", { files: { ".bashrc": "PS1='one '\n" } });
    await shell.prompt();
    for (const ending of endings) {
      await shell.run(`PS1='two ${ending}' PS0='${ending}'`);
      expect((await shell.run("echo hi")).text).toBe("hi\n");
    }
    await shell.run("PS1='three ' PS0=");
    expect((await shell.run('printf %s "$PS0" | head -c 5')).text).toMatch(/^\$\{__w/);
  });
});

describe("zsh reads only our text after a prompt's last character:", () => {
  for (const ending of ["%", "%%", "%%%", "\\\\", "\\", "$"]) {
    for (const option of ["nopromptsubst", "promptsubst"]) {
      testWith("zsh")(`PROMPT that ends in ${ending}, ${option}`, async () => {
        const rc = `setopt ${option}; unsetopt zle promptsp; PROMPT='@@[${ending}'`;
        const { bare, ours } = await screens("zsh", rc, ["echo hi", "(exit 3)"]);
        expect(ours).toBe(bare);
      });
    }
  }
});

test("bash: no command begins at a prompt without our marks, which no later one could end", async () => {
  const rc = "PROMPT_COMMAND='PS1=\"$ \"'; readonly PROMPT_COMMAND";
  await using shell = ShellTerminal.start("bash", { files: { ".bashrc": rc } });
  await shell.see("$ ");
  shell.write("echo o''ne\r");
  await shell.see("one");
  shell.write("echo t''wo\r");
  await shell.see("two");
  expect(shell.sequence()).toBe("");
  await using later = ShellTerminal.start("bash", { files: { ".bashrc": "PS1='$ '" } });
  await later.prompt();
  later.write(`${rc}\r`);
  await later.until("new prompt", () => findText(later.output).endsWith("$ ") && later.sequence() !== "AB");
  const since = later.output.length;
  later.write("echo o''ne\r");
  await later.see("one", since);
  later.write("echo t''wo\r");
  await later.see("two", since);
  await later.until("last prompt", () => findText(later.output).endsWith("two\n$ "));
  expect(later.sequence(since)).toMatch(/^(?:CDAB)*$/);
});
