/** `wsh layout`: shows, changes and saves the layout of a session's panes. */
import { resolve } from "node:path";
import { Argument, type Command } from "commander";
import { WshError } from "../../protocol/errors.ts";
import { layoutPresetNames } from "../../protocol/layout-presets.ts";
import { UsageError } from "../arguments.ts";
import { warn } from "../instance.ts";
import { printResult, sayLayout } from "../panes/output.ts";
import { atTarget, changeCall, wordsOf } from "../panes/target.ts";
import { print, printJson, printText } from "../print.ts";
import type { SessionClient } from "../session/client.ts";

interface LayoutOptions {
  readonly tmux?: boolean;
  readonly closeOthers?: boolean;
  readonly backwards?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

const actions = ["get", "set", "save", "preset", "equalise", "rotate"] as const;
type Action = (typeof actions)[number];

export function register(program: Command): void {
  program
    .command("layout")
    .addArgument(new Argument("[action]", "action (default: get)").choices([...actions]))
    .addArgument(new Argument("[name...]", "session, window or pane (default: this one), and the arguments below"))
    .usage("[options] [ACTION] [TARGET] [FILE|PRESET]")
    .description(
      "get: print the layout; set [TARGET] FILE (- reads it): arranges a window by a file, or a layout of tmux: its panes take the " +
        "first places, more are started; save [TARGET] FILE: all windows with commands and directories, for " +
        `wsh new --layout FILE (- prints it); preset [TARGET] NAME: ${layoutPresetNames.join(", ")} or next; equalise; rotate.`,
    )
    .option("--tmux", "get: in tmux's format")
    .option("--close-others", "set: close panes that have no place")
    .option("--backwards", "rotate: backward")
    .option("--force", "save: overwrite a file")
    .option("--json", "print the answer as JSON; save: write JSON")
    .action((action: Action | undefined, words: string[], options: LayoutOptions, command: Command) =>
      runAction(action ?? "get", words, options, command),
    );
}

async function runAction(
  action: Action,
  words: readonly string[],
  options: LayoutOptions,
  command: Command,
): Promise<void> {
  const { json } = options;
  const change = changeCall((target, call) => atTarget(command, target, call), json);
  switch (action) {
    case "get":
      return atTarget(command, wordsOf(action, words).target, (session) => get(session, options));
    case "set": {
      const { target, file } = fileWords(action, words);
      return printResult(await atTarget(command, target, (session) => applyLayout(session, file, options)), json);
    }
    case "save": {
      const { target, file } = fileWords(action, words);
      return atTarget(command, target, (session) => save(session, file, options));
    }
    case "preset": {
      const { target, rest } = wordsOf(action, words, ["a name"]);
      const preset = [...layoutPresetNames, "next" as const].find((each) => each === rest[0]);
      if (preset === undefined) {
        throw new UsageError(`unknown layout '${rest[0]}'`, `Use ${layoutPresetNames.join(", ")} or next.`);
      }
      return change(target, "layout.preset", { preset });
    }
    case "equalise":
      return change(wordsOf(action, words).target, "layout.equalise", {});
    case "rotate": {
      const backwards = options.backwards === true;
      return change(wordsOf(action, words).target, "layout.rotate", { backwards });
    }
  }
}

/** No session or machine has such a name: the word is a file, not a target. */
const PATH = /^(?:~|\.{0,2}\/)/;

/** @throws UsageError for a file in the target's position */
function fileWords(action: Action, words: readonly string[]) {
  const { target, rest } = wordsOf(action, words, ["a file"]);
  const file = rest[0] ?? "";
  if (target === undefined || !PATH.test(target)) return { target, file };
  throw new UsageError(
    `'${target}' is a file name, but a session is expected here`,
    PATH.test(file) ? "Give a session, and one file." : `The file comes last: wsh layout ${action} ${file} ${target}`,
  );
}

async function get(session: SessionClient, { tmux, json }: LayoutOptions): Promise<void> {
  const [layout, windows, { window: own }] = await read(session);
  if (tmux === true) {
    const targetWindow = layout.windows.find(({ id }) => id === own) ?? layout.windows[0];
    return json === true ? printJson({ tmux: targetWindow?.tmux }) : printText(`${targetWindow?.tmux}\n`);
  }
  return json === true ? printJson(layout) : sayLayout(layout, windows);
}

/** The layout, the windows, and the target window. */
async function read(session: SessionClient) {
  const layout = await session.call("layout.get", {});
  const windows = await session.call("window.list", {});
  const pane = session.info?.pane_id;
  const window = windows.find(({ panes }) => panes.some(({ id }) => id === pane))?.id;
  return [layout, windows, { window }] as const;
}

async function applyLayout(session: SessionClient, file: string, { closeOthers = false }: LayoutOptions) {
  const { plannedPanes, readLayout } = await import("../panes/layout-file.ts");
  const { floatsWith, treeWith, warnOfHidden } = await import("../panes/start-layout.ts");
  const { windows: planned, warnings } = readLayout(file, process.cwd());
  warnings.forEach(warn);
  const [window] = planned;
  if (window === undefined || planned.length > 1) {
    throw new WshError("invalid_layout", `'${file}' has ${planned.length} windows; set arranges one`, {
      hint: "wsh new --layout starts a session with all of them.",
    });
  }
  const [, windows, { window: ownWindow }] = await read(session);
  const currentPanes = windows.find(({ id }) => id === ownWindow)?.panes.filter(({ z }) => z === undefined) ?? [];
  const places = plannedPanes(window.tree);
  const existing = new Map(
    places.flatMap((place, index) => (currentPanes[index] === undefined ? [] : [[place, currentPanes[index].id]])),
  );
  const applied = await session.call("layout.set", {
    tree: treeWith(window.tree, existing),
    close_others: closeOthers,
    ...floatsWith(window.floats),
  });
  warnOfHidden(applied.windows.filter(({ id }) => id === ownWindow));
  return applied;
}

async function save(session: SessionClient, file: string, { force, json }: LayoutOptions): Promise<void> {
  const { layoutToml, savedWindows } = await import("../panes/layout-text.ts");
  const [layout, windows] = await read(session);
  const saved = savedWindows(layout, windows, process.env.SHELL);
  const asJson = json === true || file.endsWith(".json");
  const text = asJson ? `${JSON.stringify({ windows: saved }, null, 2)}\n` : layoutToml(saved);
  if (file === "-") return print(text);
  await write(resolve(file), text, force === true);
}

/** @throws WshError invalid_request for a file that exists */
async function write(path: string, text: string, replace: boolean): Promise<void> {
  const { writeFileSync } = await import("node:fs");
  try {
    writeFileSync(path, text, { flag: replace ? "w" : "wx" });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const exists = code === "EEXIST";
    throw new WshError("invalid_request", exists ? `'${path}' exists` : `'${path}' cannot be written: ${message}`, {
      hint: exists ? "--force replaces it." : "Give another file, or - to print it.",
    });
  }
}
