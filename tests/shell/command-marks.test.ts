/** The marks of a command at the prompt of each shell: its start and end, its exit code, its text. */
import { describe, expect, setDefaultTimeout } from "bun:test";
import type { ShellKind } from "../../src/shell/plan.ts";
import { testWith } from "../support/programs.ts";
import { findText, ShellTerminal } from "../support/terminals/shell-terminal.ts";

setDefaultTimeout(30_000);

interface Shell {
  readonly files: Readonly<Record<string, string>>;
  /** Commands besides the first, and their exit codes; undefined: any. */
  readonly ends: readonly (readonly [command: string, exit: string | undefined])[];
  /** Lines that start no command. */
  readonly nothing: readonly string[];
  /** Keys that end a program, and its status after them. */
  readonly keys: readonly (readonly [key: string, status: string])[];
  /** A text that the shell refuses to parse, and the exit code that it reports. */
  readonly refused?: readonly [text: string, exit: string | undefined];
  readonly leaves: RegExp;
  readonly lines: { readonly typed: string; readonly output: string; readonly text: string };
}

const endings = [
  ["(exit 3)", "3"],
  ["sh -c 'kill -9 $$'", "137"],
] as const;
const keys = [
  ["\x03", "130"],
  ["\x1a", "148"],
] as const;

const shells: Readonly<Record<Exclude<ShellKind, "other">, Shell>> = {
  bash: {
    files: { ".bashrc": "PS1='$ '\n", ".bash_profile": "PS1='$ '\n" },
    ends: endings,
    nothing: ["\r", "# nothing\r", "\x03"],
    keys,
    refused: ["echo )", "2"],
    leaves: /^C$/,
    lines: {
      typed: "for i in 1 2; do\recho $i\rdone",
      output: "1\n2\n",
      text: "for i in 1 2\\x3b do echo $i\\x3b done",
    },
  },
  zsh: {
    files: { ".zshrc": "PS1='%% '\n" },
    ends: endings,
    nothing: ["\r", "\x03"],
    keys,
    refused: ["echo )", undefined],
    leaves: /^C$/,
    lines: {
      typed: "for i in 1 2; do\recho $i\\\\\rdone",
      output: "1\\\n2\\\n",
      text: "for i in 1 2\\x3b do\\x0aecho $i\\\\\\\\\\x0adone",
    },
  },
  fish: {
    files: {
      ".config/fish/config.fish": "function fish_greeting; end\nfunction fish_prompt; echo -n '> '; end\n",
    },
    ends: [
      ["sh -c 'exit 3'", "3"],
      ["sh -c 'kill -9 $fish_pid' &>/dev/null; sh -c 'kill -9 \\$\\$'", undefined],
      ["sh -c 'kill -9 $$'", "137"],
    ],
    nothing: ["\r", "\x03"],
    keys: [["\x03", "130"]],
    leaves: /^CD?$/,
    lines: {
      typed: "for i in 1 2\recho $i\\\\\rend",
      output: "1\\\n2\\\n",
      text: "for i in 1 2\\x0aecho $i\\\\\\\\\\x0aend",
    },
  },
};

const entries = Object.entries(shells) as [ShellKind, Shell][];
for (const [program, { files, ends, nothing, keys, refused, leaves, lines }] of entries) {
  const test = testWith(program);
  const start = async (): Promise<ShellTerminal> => {
    const shell = ShellTerminal.start(program, { files });
    await shell.prompt();
    return shell;
  };

  describe(`a command at ${program}'s prompt`, () => {
    test("is marked from C to D with its exit code, output and text", async () => {
      await using shell = await start();
      const echoed = await shell.run("echo hi; printf 'no newline'");
      expect(echoed).toMatchObject({ sequence: "CDAB", exit: "0", text: "hi\nno newline" });
      expect(echoed.marks.find((mark) => mark.kind === "E")?.text).toBe("echo hi\\x3b printf 'no newline'");
      for (const [command, exit] of ends) {
        expect(await shell.run(command)).toMatchObject({ sequence: "CDAB", ...(exit === undefined ? {} : { exit }) });
      }
      expect(shell.marks.filter((mark) => mark.kind !== "7").every((mark) => mark.verified)).toBe(true);
      const ids = shell.marks.filter((mark) => mark.kind === "C" || mark.kind === "D").map((mark) => mark.id);
      expect(ids).toEqual(Array.from({ length: 2 * (1 + ends.length) }, (_, at) => `${1 + Math.floor(at / 2)}`));
    });

    test("is not started by an empty line, a comment or Ctrl-C", async () => {
      await using shell = await start();
      const since = shell.output.length;
      let end = since;
      for (const typed of nothing) {
        if (typed === "\x03") {
          shell.write("half");
          await shell.until("echo", () => findText(shell.output.slice(end)).includes("half"));
        }
        shell.write(typed);
        // Sometimes a line editor notices an interrupt right after a key only at the next one.
        const again = setInterval(() => shell.write("\x03"), 1000);
        end = await shell.prompt(end);
        clearInterval(again);
      }
      // fish redraws its prompt.
      expect(shell.sequence(since)).toMatch(program === "fish" ? /^(?:AB+)+$/ : /^(?:AB)+$/);
      expect((await shell.run("true")).exit).toBe("0");
    });

    test("that a key interrupts or stops ends with the signal's status", async () => {
      await using shell = await start();
      for (const [key, status] of keys) {
        const since = shell.output.length;
        shell.write("sh -c 'echo up; exec sleep 60'\r");
        await shell.until("start", () => /up\r?\n/.test(shell.output.slice(since)));
        shell.write(key);
        await shell.prompt(since);
        expect(shell.sequence(since)).toBe("CDAB");
        expect(shell.marks.find((mark) => mark.begin >= since && mark.kind === "D")?.exit).toBe(status);
      }
      if (keys.length > 1) await shell.run("kill -9 %1");
    });

    if (refused !== undefined) {
      test("with a syntax error ends without having started", async () => {
        await using shell = await start();
        const since = shell.output.length;
        shell.write(`${refused[0]}\r`);
        await shell.prompt(since);
        expect(shell.sequence(since)).toBe("DAB");
        const { exit } = shell.marks.find((mark) => mark.begin >= since && mark.kind === "D") ?? {};
        if (refused[1] !== undefined) expect(exit).toBe(refused[1]);
      });
    }

    test("that ends the shell has only its C", async () => {
      await using shell = await start();
      const since = shell.output.length;
      shell.write("exit 5\r");
      expect(await shell.exited()).toBe(5);
      expect(shell.sequence(since)).toMatch(leaves);
    });

    test("that changes directory is followed by OSC 7, percent-encoded", async () => {
      await using shell = await start();
      const { marks } = await shell.run("mkdir 'a ü%' && cd 'a ü%'");
      expect(marks.findLast((mark) => mark.kind === "7")?.text).toEndWith("/a%20%C3%BC%25");
    });

    test("of several lines is one command, and its text is escaped", async () => {
      await using shell = await start();
      const { sequence, text, marks } = await shell.run(lines.typed);
      expect({ sequence, text }).toEqual({ sequence: "CDAB", text: lines.output });
      // fish indents lines.
      const shown = marks.find((mark) => mark.kind === "E")?.text?.replaceAll(/(?<=\\x0a) +/g, "");
      expect(shown).toBe(lines.text);
    });
  });
}
