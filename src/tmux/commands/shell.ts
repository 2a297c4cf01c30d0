/** Commands that run others: shells, command files, and waiting for channels. */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { TmuxError } from "../error.ts";
import { isTrue } from "../formats/syntax.ts";
import type { ResolvedTarget } from "../model.ts";
import { quotedValue } from "../options/options.ts";
import type { Arguments } from "../parse/arguments.ts";
import { type Parsed, parseCommands } from "../parse/commands.ts";
import { environmentOf, messageOf, type Run } from "../run.ts";
import { formatWithClient } from "./client-list.ts";
import { type Command, command } from "./command.ts";

/** Deepest nesting of files that source each other, as in tmux. */
const MOST_FILES = 50;

export const shellCommands: readonly Command[] = [
  command("run-shell run", "bc:d:Ct:", [0, 1], "[-bC] [-d delay] [-t target-pane] [shell-command]", runShell),
  command("if-shell if", "bFt:", [2, 3], "[-bF] [-t target-pane] shell-command command [command]", ifShell),
  { ...command("source-file source", "Fnqt:v", [1, null], "[-Fnqv] path ...", sourceFiles), needsNoSession: true },
  command("wait-for wait", "LSU", [1, 1], "[-L|-S|-U] channel", waitFor),
  command("pipe-pane pipep", "IOot:", [0, 1], "[-IOo] [-t target-pane] [shell-command]", pipePane),
];

async function placeOrNone(run: Run, args: Arguments): Promise<Partial<ResolvedTarget>> {
  return args.has("t") ? run.place(args, "pane") : ((await run.targets()).current ?? {});
}

async function runShell(run: Run, args: Arguments): Promise<void> {
  const place = await placeOrNone(run, args);
  const text = args.word(0);
  const delay = args.get("d");
  if (delay !== undefined) {
    if (!/^\d+(\.\d+)?$/.test(delay)) throw new TmuxError(`invalid delay time: ${delay}`);
    if (!args.has("b")) await run.backend.sleep(Number(delay) * 1000);
  }
  if (text === undefined) return;
  if (args.has("C")) return runText(run, text, place);
  const directory = args.get("c");
  const start = directory === undefined ? "" : `cd ${run.backend.shellText(["--", directory])} && `;
  const shell = start + (await formatWithClient(run, text, place));
  if (args.has("b")) return run.backend.spawn(delay === undefined ? shell : `sleep ${delay}; ${shell}`);
  const { code, output } = await run.backend.shell(shell);
  if (output !== "") await run.backend.print(output.endsWith("\n") ? output : `${output}\n`);
  if (code !== 0) run.status = code;
}

async function ifShell(run: Run, args: Arguments): Promise<void> {
  const place = await placeOrNone(run, args);
  const [test = "", yes = "", no] = args.words;
  const condition = await formatWithClient(run, test, place);
  if (args.has("b") && !args.has("F")) {
    const quoted = (text: string): string => run.backend.shellText(["if-shell", "-F", "1", text]);
    const otherwise = no === undefined ? "" : `; else ${run.backend.self} ${quoted(no)}`;
    return run.backend.spawn(`if (${condition}) >/dev/null; then ${run.backend.self} ${quoted(yes)}${otherwise}; fi`);
  }
  const isMet = args.has("F") ? isTrue(condition) : (await run.backend.shell(condition)).code === 0;
  const chosen = isMet ? yes : no;
  if (chosen !== undefined) await runText(run, chosen, place);
}

/** @throws TmuxError the errors of the text's commands, without running them @returns their words */
export async function checkText(run: Run, text: string): Promise<readonly (readonly string[])[]> {
  const all = (await commandsIn(run, text, {}, async () => {})).map(({ words }) => words);
  for (const words of all) run.check(words);
  return all;
}

export async function runText(run: Run, text: string, place: Partial<ResolvedTarget>): Promise<void> {
  for (const { words } of await commandsIn(run, text, place, async () => {}))
    if (!(await run.commands([words]))) return;
}

/** Parses a text into commands. @throws TmuxError `LINE: syntax error` */
export async function commandsIn(
  run: Run,
  text: string,
  place: Partial<ResolvedTarget>,
  assigned: (name: string, value: string, hidden: boolean) => Promise<void>,
): Promise<Parsed[]> {
  const { state } = await run.load();
  const session = place.session?.target;
  const conditions = new Map<string, boolean>();
  const assignments: [string, string, boolean][] = [];
  // Conditions are formats, which may need data: the second reading has it.
  for (const [condition] of [...text.matchAll(/^\s*%(?:if|elif)\s+.*$/gm)]) {
    const [word] = parseCommands(
      condition.replace(/^\s*%(?:if|elif)/, "x"),
      readingOf(() => undefined),
    ).flatMap(({ words }) => words.slice(1));
    if (word !== undefined) conditions.set(word, isTrue(await run.format(word, place)));
  }
  function readingOf(variable: (name: string) => string | undefined) {
    return {
      variable,
      isTrue: (format: string) => conditions.get(format) ?? false,
      home: run.backend.env.HOME ?? homedir(),
      assign: (name: string, value: string, hidden: boolean) => void assignments.push([name, value, hidden]),
    };
  }
  const assignedVariables = new Map<string, string>();
  const all = parseCommands(
    text,
    readingOf(
      (name) =>
        assignments.findLast(([each]) => each === name)?.[1] ??
        assignedVariables.get(name) ??
        environmentOf(state, session, name, run.backend.env),
    ),
  );
  for (const [name, value, hidden] of assignments) await assigned(name, value, hidden);
  return all;
}

async function sourceFiles(run: Run, args: Arguments): Promise<void> {
  if (run.files >= MOST_FILES) throw new TmuxError("too many nested files");
  // The default target of the file's lines.
  if (args.has("t")) run.setDefaultPane((await run.place(args, "pane")).pane.target);
  const files: { readonly path: string; readonly text: string }[] = [];
  for (const pathPattern of args.words) {
    const named = args.has("F") ? await run.format(pathPattern, (await run.targets()).current ?? {}) : pathPattern;
    try {
      for (const path of matching(run, named))
        files.push({ path: resolve(run.backend.cwd, path), text: await textIn(run, path) });
    } catch (thrown) {
      if (args.has("q")) continue;
      await run.backend.complain(messageOf(thrown));
      run.status = 1;
    }
  }
  const faults: string[] = [];
  for (const { path, text } of files) {
    run.files++;
    try {
      await sourceText(run, args, path, text);
    } catch (thrown) {
      if (!(thrown instanceof TmuxError)) throw thrown;
      faults.push(`${path}:${thrown.message}`);
    } finally {
      run.files--;
    }
  }
  for (const fault of faults) await run.print(fault);
  if (faults.length > 0) run.status = 1;
}

/** The files of a path or a glob pattern. @throws TmuxError if there are none */
function matching({ backend }: Run, named: string): readonly string[] {
  if (!/[*?[]/.test(named)) return [named];
  const paths = [...new Bun.Glob(resolve(backend.cwd, named).slice(1)).scanSync({ cwd: "/", onlyFiles: true })].map(
    (each) => `/${each}`,
  );
  if (paths.length === 0) throw new TmuxError(`${named}: No such file or directory`);
  return paths.toSorted();
}

async function textIn({ backend }: Run, path: string): Promise<string> {
  return new TextDecoder().decode(await backend.readFile(path));
}

/** Runs the lines of a file after parsing all of it. @throws TmuxError `LINE: unknown command: x` */
async function sourceText(run: Run, args: Arguments, path: string, text: string): Promise<void> {
  const assigned: [string, string, boolean][] = [];
  const place = (await run.targets()).current ?? {};
  const all = await commandsIn(run, text, place, async (...each) => void assigned.push(each));
  const lines = Map.groupBy(all, ({ line }) => line);
  for (const [line, commands] of lines) {
    const shown: string[] = [];
    try {
      for (const { words } of commands) shown.push(run.canonical(words).map(quotedValue).join(" "));
    } catch (thrown) {
      throw new TmuxError(`${line}: ${messageOf(thrown)}`);
    }
    if (args.has("v")) await run.print(`${path}:${line}: ${shown.join(" ; ")}`);
  }
  if (args.has("n")) return;
  if (assigned.length > 0) {
    run.backend.requirePerson("set-environment -g");
    await run.change(({ environment }) => {
      for (const [name, value, hidden] of assigned) environment[name] = { value, hidden };
    });
  }
  // After a command that fails, the next line still runs.
  for (const commands of lines.values()) await run.commands(commands.map(({ words }) => words));
}

async function waitFor(run: Run, args: Arguments): Promise<void> {
  const channelName = args.word(0) ?? "";
  // The `:` avoids names that every object has.
  const name = `:${channelName}`;
  const { backend } = run;
  const channel = { woken: false, signals: 0, waiting: [] as number[], locked: false };
  if (args.has("U")) {
    const isLocked = await run.change((state) => {
      const channel = state.channels[name];
      const locked = channel?.locked === true;
      if (channel !== undefined) channel.locked = false;
      return locked;
    });
    if (!isLocked) throw new TmuxError(`channel ${channelName} not locked`);
    return;
  }
  if (args.has("L")) {
    const takeChannel = (): Promise<boolean> =>
      run.change((state) => {
        const known = state.channels[name] ?? structuredClone(channel);
        state.channels[name] = known;
        const isFree = !known.locked;
        known.locked = true;
        return isFree;
      });
    while (!(await takeChannel())) await backend.stateChange();
    return;
  }
  if (args.has("S")) {
    await run.change((state) => {
      const known = state.channels[name] ?? structuredClone(channel);
      state.channels[name] = known;
      known.waiting = known.waiting.filter((pid) => backend.isAlive(pid));
      known.signals++;
      known.woken = known.waiting.length === 0;
      known.waiting = [];
    });
    return;
  }
  const from = await run.change((state) => {
    const known = state.channels[name] ?? structuredClone(channel);
    state.channels[name] = known;
    if (known.woken) {
      known.woken = false;
      return null;
    }
    known.waiting.push(backend.caller);
    return known.signals;
  });
  if (from === null) return;
  while ((backend.readState().channels[name]?.signals ?? 0) === from) await backend.stateChange();
}

async function pipePane(run: Run, args: Arguments): Promise<void> {
  if (await run.backend.carryPipe()) {
    run.isOwn = true;
    return;
  }
  const place = await run.place(args, "pane");
  const { pane } = place;
  const text = args.word(0);
  // The person is asked about the command itself, not about a format that may give another one later.
  const shellCommand = text === undefined || text === "" ? null : await run.format(text, place, {}, true);
  const flags = ["I", "O", "o"].filter((flag) => args.has(flag)).map((flag) => `-${flag}`);
  await run.backend.requireOwn(pane.target, ["pipe-pane", ...flags, shellCommand ?? ""].join(" ").trimEnd());
  const { state } = await run.load();
  const before = state.pipes[pane.target];
  const wasOpen = before !== undefined && run.backend.isAlive(before);
  if (wasOpen) {
    run.backend.end(before);
    await run.change((changed) => {
      delete changed.pipes[pane.target];
    });
  }
  if (shellCommand === null || (args.has("o") && wasOpen)) return;
  const types = args.has("I");
  const pid = await run.backend.pipe(pane.target, shellCommand, {
    types,
    reads: args.has("O") || !types,
  });
  await run.change((changed) => {
    changed.pipes[pane.target] = pid;
  });
}
