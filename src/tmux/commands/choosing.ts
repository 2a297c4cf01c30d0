/** Choosers: wsh's switcher at the terminal of the caller's client, or a menu if the caller gives a template. */
import { isTrue } from "../formats/syntax.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { offer } from "./asking.ts";
import { terminalFor } from "./client-list.ts";
import { type Command, command } from "./command.ts";

const FLAGS = "[-F format] [-f filter] [-K key-format] [-O sort-order] [-t target-pane] [template]";
const LINES = {
  sessions: "#{session_name}: #{session_windows} windows",
  windows: "#{session_name}:#{window_index}: #{window_name}",
  panes: "#{session_name}:#{window_index}.#{pane_index}: #{window_name}: #{pane_title}",
} as const;

export const choosingCommands: readonly Command[] = [
  command("choose-tree", "F:f:GK:NO:rst:wZ", [0, 1], `[-GNrswZ] ${FLAGS}`, async (run, args) => {
    const { session } = await run.place(args, "pane");
    if (!args.has("f") && !args.has("F") && args.word(0) === undefined) {
      const shown = session.info.attached > 0 ? session : await terminalFor(run, undefined).catch(() => session);
      await run.backend.call("terminal.show", { view: args.has("s") ? "sessions" : "windows" }, shown.target);
      return;
    }
    const depth = args.has("s") ? "sessions" : args.has("w") ? "windows" : "panes";
    await chooseIn(run, args, depth, args.get("f"), args.word(0) ?? "switch-client -Zt '%%'");
  }),
  ...[
    ["choose-buffer", "buffer_name", "#{buffer_name}: #{buffer_sample}", "paste-buffer -b '%%'"],
    ["choose-client", "client_name", "#{client_name}: session #{session_name}", "detach-client -t '%%'"],
  ].map(([name = "", value, usual, template = ""]) =>
    command(name, "F:f:K:NO:rt:Z", [0, 1], `[-NrZ] ${FLAGS}`, async (run, args) => {
      await run.place(args, "pane");
      const filter = args.has("f") ? ["-f", args.get("f") ?? ""] : [];
      const list = [`list-${name.slice(7)}s`, "-F", `#{${value}}\t${args.get("F") ?? usual}`, ...filter];
      const items = (await run.linesOf(list)).map((line): Item => line.split(/\t(.*)/s));
      await offerIn(run, args, items, args.word(0) ?? template);
    }),
  ),
  command("find-window findw", "CiNrTt:Z", [1, 1], "[-CiNrTZ] [-t target-pane] match-string", async (run, args) => {
    await run.place(args, "pane");
    const text = args.word(0) ?? "";
    const [suffix, star] = [
      args.has("r") ? (args.has("i") ? "/ri" : "/r") : args.has("i") ? "/i" : "",
      args.has("r") ? "" : "*",
    ];
    const isAll = !["C", "N", "T"].some((flag) => args.has(flag));
    const tests = [
      ...(isAll || args.has("C") ? [`#{C${suffix}:${text}}`] : []),
      ...(isAll || args.has("N") ? [`#{m${suffix}:${star}${text}${star},#{window_name}}`] : []),
      ...(isAll || args.has("T") ? [`#{m${suffix}:${star}${text}${star},#{pane_title}}`] : []),
    ];
    const filter = tests.reduceRight((others, test) => `#{||:${test},${others}}`);
    await chooseIn(run, args, "panes", filter, "switch-client -Zt '%%'");
  }),
];

/** The value of a choice, and its line in the menu. */
type Item = readonly string[];

async function chooseIn(
  run: Run,
  args: Arguments,
  depth: "sessions" | "windows" | "panes",
  filter: string | undefined,
  template: string,
): Promise<void> {
  const { model } = await run.load();
  const places = model.places.filter(({ session, window, pane }) => {
    const isFirst = pane === window.active;
    return depth === "panes" || (isFirst && (depth === "windows" || window === session.current));
  });
  const items = places.map((context) => {
    const { session, window, pane } = context;
    const at = { sessions: "", windows: `${window.index}.`, panes: `${window.index}.${pane.id}` };
    const formats = {
      session_format: "0",
      window_format: "0",
      pane_format: "0",
      [`${depth.slice(0, -1)}_format`]: "1",
    };
    return { around: context, extra: formats, value: `=${session.name}:${at[depth]}` };
  });
  const tests = filter === undefined ? null : await run.formats(filter, items);
  const choices = items.filter((_, i) => tests === null || isTrue(tests[i] ?? ""));
  const names = await run.formats(args.get("F") ?? LINES[depth], choices);
  await offerIn(
    run,
    args,
    choices.map(({ value }, i) => [value, names[i] ?? ""]),
    template,
  );
}

/** Shows a menu in the background. */
async function offerIn(run: Run, args: Arguments, items: readonly Item[], template: string): Promise<void> {
  const choices = items.map(([value = "", name = value]) => [name, value] as const);
  if (args.get("O") === "name") choices.sort(([a], [b]) => (a < b ? -1 : 1));
  await offer(run, undefined, "", args.has("r") ? choices.toReversed() : choices, template, true);
}
