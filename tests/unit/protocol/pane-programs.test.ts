/** The program of a pane in lists, and a window's name without a given one: the program, never a word of a command's arguments. */
import { expect, test } from "bun:test";
import { automaticName, commandNow, isStarting } from "../../../src/protocol/session.ts";

test.each([
  ["/bin/bash", "vim", "vim", "vim"],
  ["bash --norc", "bash", "bash --norc", "bash"],
  ["-zsh -l", "make", "make", "make"],
  ["bash -c 'make all'", "make", "bash -c 'make all'", "make"],
  ["bash build.sh", "cc1", "bash build.sh", "cc1"],
  ["python3 -m http.server", "python3", "python3 -m http.server", "python3"],
  ["sh -c 'sleep 300 | cat'", undefined, "sh -c 'sleep 300 | cat'", "sh"],
  ["vim docs/index.md", undefined, "vim docs/index.md", "vim"],
  ["exec /opt/tools/run now", undefined, "exec /opt/tools/run now", "run"],
  ["", undefined, "", ""],
] as const)("%j with %j in the foreground", (command, program, listed, named) => {
  const pane = program === undefined ? { command } : { command, program };
  expect([commandNow(pane), automaticName(pane)]).toEqual([listed, named]);
});

test.each([
  ["bash", "bash", "running", undefined, true],
  ["bash", "bash", "running", 0, false],
  ["bash", "bash", "prompt", undefined, false],
  ["bash", "vim", "running", undefined, false],
  ["bash build.sh", "bash", "running", undefined, false],
  ["yes", "yes", "running", undefined, false],
] as const)(
  "%j with %j in the foreground, %s, last exit code %j: starting is %j",
  (command, program, state, code, is) => {
    const last = code === undefined ? {} : { last_exit_code: code };
    expect(isStarting({ command, program, state, ...last })).toBe(is);
  },
);
