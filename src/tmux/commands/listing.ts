/** Commands that print lists and messages. */
import { TmuxError } from "../error.ts";
import { isTrue } from "../formats/syntax.ts";
import { type FormatContext, variableNames } from "../formats/variables.ts";
import { placeOf } from "../model.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { keepMessage } from "../state.ts";
import { clientFor } from "./client-list.ts";
import { type Command, command } from "./command.ts";

const MESSAGE = "[#{session_name}] #{window_index}:#{window_name}, current pane #{pane_index} - (%H:%M %d-%b-%y)";
const SESSION =
  "#{session_name}: #{session_windows} windows (created #{t:session_created})" +
  "#{?session_grouped, (group ,}#{session_group}#{?session_grouped,),}#{?session_attached, (attached),}";
const SIZES = "(#{window_panes} panes) [#{window_width}x#{window_height}] ";
const WINDOW =
  `#{window_index}: #{window_name}#{window_raw_flags} ${SIZES}[layout #{window_layout}] #{window_id}` +
  "#{?window_active, (active),}";
const WINDOW_OF_ALL = `#{session_name}:#{window_index}: #{window_name}#{window_raw_flags} ${SIZES}`;
const PANE =
  "[#{pane_width}x#{pane_height}] [history #{history_size}/#{history_limit}, #{history_bytes} bytes] #{pane_id}" +
  "#{?pane_active, (active),}#{?pane_dead, (dead),}";

export const listingCommands: readonly Command[] = [
  command("list-sessions ls", "F:f:", [0, 0], "[-F format] [-f filter]", async (run, args) => {
    const { model } = await run.load();
    await printList(
      run,
      args,
      SESSION,
      model.sessions.map((session) => placeOf(session)),
    );
  }),
  command(
    "list-windows lsw",
    "aF:f:t:",
    [0, 0],
    "[-a] [-F format] [-f filter] [-t target-session]",
    async (run, args) => {
      const { model } = await run.load();
      const sessions = args.has("a") ? model.sessions : [(await run.place(args, "session")).session];
      const all = sessions.flatMap((session) => session.windows.map((window) => placeOf(session, window)));
      await printList(run, args, args.has("a") ? WINDOW_OF_ALL : WINDOW, all);
    },
  ),
  command(
    "list-panes lsp",
    "asF:f:t:",
    [0, 0],
    "[-as] [-F format] [-f filter] [-t target-window]",
    async (run, args) => {
      const { model } = await run.load();
      if (args.has("a"))
        return printList(run, args, `#{session_name}:#{window_index}.#{pane_index}: ${PANE}`, model.places);
      const { session, window } = await run.place(args, args.has("s") ? "session" : "window");
      const windows = args.has("s") ? session.windows : [window];
      const all = windows.flatMap((each) => each.panes.map((pane) => placeOf(session, each, pane)));
      await printList(
        run,
        args,
        args.has("s") ? `#{window_index}.#{pane_index}: ${PANE}` : `#{pane_index}: ${PANE}`,
        all,
      );
    },
  ),
  {
    ...command("list-commands lscm", "F:", [0, 1], "[-F format] [command]", async (run, args) => {
      const name = args.word(0);
      const shown = name === undefined ? run.table : [run.commandNamed(name)];
      for (const each of shown) {
        const alias = each.alias ?? "";
        const extra = { command_list_name: each.name, command_list_alias: alias, command_list_usage: each.usage };
        const usual = `${each.name}${alias === "" ? "" : ` (${alias})`} ${each.usage}`;
        await run.print(args.has("F") ? await run.format(args.get("F") ?? "", {}, extra) : usual);
      }
    }),
    needsNoSession: true,
  },
  command(
    "display-message display",
    "ac:d:IlNpt:F:v",
    [0, 1],
    "[-aINpv] [-c target-client] [-d delay] [-F format] [-t target-pane] [message]",
    displayMessage,
  ),
];

async function printList(
  run: Run,
  args: Arguments,
  defaultTemplate: string,
  places: readonly FormatContext[],
): Promise<void> {
  const filter = args.get("f");
  const tests =
    filter === undefined
      ? null
      : await run.formats(
          filter,
          places.map((around) => ({ around })),
        );
  const shown = places.filter((_, i) => tests === null || isTrue(tests[i] ?? ""));
  const template = args.get("F") ?? defaultTemplate;
  for (const line of await run.formats(
    template,
    shown.map((around, i) => ({ around, extra: { line: String(i) } })),
  ))
    await run.print(line);
}

async function displayMessage(run: Run, args: Arguments): Promise<void> {
  for (const flag of ["I", "v"])
    if (args.has(flag)) throw new TmuxError(`command display-message: unknown flag -${flag}`);
  if (args.has("F") && args.words.length > 0) throw new TmuxError("only one of -F or argument must be given");
  const targets = await run.targets();
  // As in tmux, a message without a target is still expanded.
  const place = await Promise.resolve()
    .then(() => targets.find(args.get("t"), "pane"))
    .catch((thrown) => {
      if (args.has("t")) throw thrown;
      return null;
    });
  if (args.has("a")) {
    const all = variableNames.map((name) => `${name}=#{${name}}`).join("\n");
    return run.print(await run.format(all, place ?? {}));
  }
  const format = args.get("F") ?? args.word(0) ?? MESSAGE;
  // As in tmux, a message without a client is shown to nobody.
  const isPrinted = args.has("p");
  const client =
    isPrinted && !format.includes("client_")
      ? null
      : await clientFor(run, args.get("c")).catch((thrown) => {
          if (args.has("c")) throw thrown;
          return null;
        });
  // -l of later versions prints the text literally.
  const text = args.has("l") ? format : await run.format(format, place ?? {}, client?.variables ?? {}, true);
  if (isPrinted) return run.print(text);
  if (client === null || text === "") return;
  // Messages of a private session are not recorded.
  const isPrivate = (place ?? client).session.info.private === true;
  if (!isPrivate) await run.change((state) => keepMessage(state, text));
  const message = text.slice(0, 1_000);
  if (client.terminal !== null)
    await run.backend.call("terminal.show", { message, client: client.terminal }, client.session.target);
  else if (client.name === run.backend.control?.name) run.backend.control.notify(`%message ${text}`);
}
