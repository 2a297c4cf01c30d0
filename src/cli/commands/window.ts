/** `wsh window`: lists, makes, changes and closes the windows of a session. */
import { Argument, type Command, Option } from "commander";
import { defined } from "../../protocol/defined.ts";
import { UsageError, wholeNumber } from "../arguments.ts";
import { addProgramOptions, type ProgramOptions, programOf } from "../panes/options.ts";
import { endedText, printChange, windowTable } from "../panes/output.ts";
import { type ParsedArguments, paneAction, wordsOf } from "../panes/target.ts";
import { print, printJson, printText } from "../print.ts";

interface WindowOptions extends ProgramOptions {
  readonly name?: string;
  readonly index?: number;
  readonly to?: string;
  readonly focus?: boolean;
  readonly json?: boolean;
}

const actions = ["list", "new", "close", "select", "rename", "move", "swap", "synchronize", "floats"] as const;
type Action = (typeof actions)[number];
const ways = ["next", "previous", "last"] as const;

export function register(program: Command): void {
  const window = program
    .command("window")
    .addArgument(new Argument("[action]", "action (default: list)").choices([...actions]))
    .addArgument(new Argument("[name...]", "session or window (default: this one), and the arguments below"))
    .usage("[options] [ACTION] [TARGET] [-- COMMAND…]")
    .description(
      "list; new: with a shell or COMMAND, prints its id; close: ends its programs; select: shows it; rename [TARGET] NAME; " +
        "move [TARGET] NUMBER|SESSION[:NUMBER]; swap [TARGET] NUMBER|next|previous|WINDOW; synchronize [TARGET] on|off: send input to all of its panes; floats [TARGET] on|off: show or " +
        "hide its floating panes.",
    );
  addProgramOptions(window)
    .option("--name <name>", "new: its name")
    .option("--index <n>", "new: its number", wholeNumber(0))
    .addOption(
      new Option("--to <which>", "select: relative to the target")
        .choices([...ways])
        // Checked by the action: `move` takes no such option, and reports which ones it takes.
        .argParser((text: string) => text),
    )
    .option("--focus", "new, move: switch attached terminals to it")
    .option("--json", "print the answer as JSON")
    .action(paneAction<Action, WindowOptions>("new", runAction));
}

async function runAction(
  action: Action,
  { words, after, options, withSession, change }: ParsedArguments<WindowOptions>,
): Promise<void> {
  const { json } = options;
  switch (action) {
    case "list": {
      const windows = await withSession(wordsOf(action, words).target, (session) => session.call("window.list", {}));
      return json === true ? printJson(windows) : print(windowTable(windows));
    }
    case "new": {
      const { name, index, focus } = options;
      const input = {
        ...programOf(options, after),
        ...defined({ name, index }),
        focus: focus === true,
      };
      const made = await withSession(wordsOf(action, words).target, (session) => session.call("window.create", input));
      return printChange(made, "window", json);
    }
    case "close": {
      const closed = await withSession(wordsOf(action, words).target, (session) => session.call("window.close", {}));
      return json === true
        ? printJson(closed)
        : printText(`Window ${closed.closed} closed${endedText(closed.ended)}.\n`);
    }
    case "select": {
      const { to } = options;
      const way = ways.find((each) => each === to);
      if (to !== undefined && way === undefined) throw new UsageError(`'${to}' is not one of ${ways.join(", ")}`);
      const input = defined({ to: way });
      return change(wordsOf(action, words).target, "window.select", input);
    }
    case "rename": {
      const { target, rest } = wordsOf(action, words, ["a name"]);
      return change(target, "window.update", { name: rest[0] ?? null });
    }
    case "move": {
      if (options.to !== undefined)
        throw new UsageError(
          "--to selects a window; 'move' takes its destination as the last word",
          "Such as: wsh window move dev:0 3, or wsh window move dev:0 other.",
        );
      const { target, rest } = wordsOf(action, words, ["a number, a session, or session:number"]);
      const input = { to: rest[0] ?? null, focus: options.focus === true };
      return change(target, "window.move", input);
    }
    case "swap": {
      const { target, rest } = wordsOf(action, words, ["the other window"]);
      return change(target, "window.swap", { with: rest[0] ?? "" });
    }
    case "floats": {
      const { target, rest } = wordsOf(action, words, ["on or off"]);
      return change(target, "window.floats", { shown: onOff(rest[0]) });
    }
    case "synchronize": {
      const { target, rest } = wordsOf(action, words, ["on or off"]);
      const input = { synchronized: onOff(rest[0]) };
      return change(target, "window.update", input);
    }
  }
}

/** @throws UsageError */
export function onOff(text: string | undefined): boolean {
  if (text === "on" || text === "off") return text === "on";
  throw new UsageError(`'${text}' is not on or off`);
}
