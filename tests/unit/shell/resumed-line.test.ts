/** The lines that run again by themselves when a session is restored. */
import { expect, test } from "bun:test";
import { plainWords, resumedLine } from "../../../src/shell/resumed-line.ts";

test.each([
  ["less /var/log/syslog", "less"],
  ["less +F 'my file'", "less"],
  ["tail -f x.log", "tail"],
  ["tail -n 20 -F x.log", "tail"],
  ["top", "top"],
  ["htop -d 5", "htop"],
  ["man 5 crontab", "man"],
  ["vim src/main.ts docs/a.md", "vim"],
  ["vim -R +12 x", "vim.basic"],
  ["nvim x", "nvim"],
  ["ssh host", "ssh"],
  ["ssh -p 2222 -i key me@host", "ssh"],
])("%s runs again", (line, program) => {
  expect(resumedLine(line, program)).toEqual({ line, runs: true });
});

test.each([
  ["rm -rf build", "rm"],
  ["make deploy", "make"],
  ["less x; rm x", "less"],
  ["less $(rm x)", "less"],
  ["less `rm x`", "less"],
  ["less x | sh", "less"],
  ["less x > y", "less"],
  ['less "$(rm x)"', "less"],
  ["less +!rm x", "less"],
  ["tail x", "tail"],
  ["vim -c ':!rm x' y", "vim"],
  ["vim +:q x", "vim"],
  ["vim -S script", "vim"],
  ["man -P 'rm x' ls", "man"],
  ["ssh host rm x", "ssh"],
  ["ssh -o ProxyCommand=rm host", "ssh"],
  ["ssh -oLocalCommand=rm host", "ssh"],
  ["ssh -f host", "ssh"],
  ["sudo less x", "sudo"],
  ["X=1 less x", "less"],
  ["ssh host", "python3"],
  ["python3", "python3"],
  ["claude 'delete everything'", "claude"],
  ["less 'x", "less"],
])("%s stands at the prompt", (line, program) => {
  expect(resumedLine(line, program)).toEqual({ line, runs: false });
});

test("agents continue their own conversation", () => {
  expect(resumedLine("claude", "claude")).toEqual({ line: "claude --continue", runs: true });
  expect(resumedLine("claude --continue", "node")).toEqual({ line: "claude --continue", runs: true });
  expect(resumedLine("codex", "codex")).toEqual({ line: "codex resume --last", runs: true });
});

test("an agent in a sandbox or elsewhere is not restored outside it", () => {
  const talk = { agent: "claude", id: "5f0a1b2c-0000-4000-8000-000000000001" };
  for (const line of [
    'wsh grant --may ask -- bwrap --bind "$PWD" "$PWD" claude',
    "bwrap --ro-bind / / claude",
    "docker run --rm -it box claude",
    "ssh -t far claude",
  ])
    expect(resumedLine(line, "claude", [], talk)).toEqual({ line, runs: false });
  expect(resumedLine("cd x && claude", "claude", [], talk).line).toBe(`claude --resume ${talk.id}`);
});

test("a person's own entries", () => {
  expect(resumedLine("btop -p 1", "btop", ["btop"])).toEqual({ line: "btop -p 1", runs: true });
  expect(resumedLine("tool work", "tool", ["tool=tool --resume"])).toEqual({ line: "tool --resume", runs: true });
  expect(resumedLine("btop; rm x", "btop", ["btop"])).toEqual({ line: "btop; rm x", runs: false });
});

test("words of a line", () => {
  expect(plainWords(`a 'b c' "d e"f ~/x`)).toEqual(["a", "b c", "d ef", "~/x"]);
  expect(plainWords("a~ b")).toBeNull();
  expect(plainWords("a &")).toBeNull();
  expect(plainWords("")).toBeNull();
});
