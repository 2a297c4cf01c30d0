/** Commands that type into panes, read them, and pipe their output. */
import type { CopyModeAct } from "../../protocol/copy-mode.ts";
import { copyAct, pipeOf } from "../bindings/copy-commands.ts";
import { TmuxError } from "../error.ts";
import { type KeyOrText, keyNamed } from "../keys.ts";
import type { Pane, ResolvedTarget, Session } from "../model.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { addBuffer, newestBuffer } from "./buffers.ts";
import { capture } from "./capture.ts";
import { formatWithClient } from "./client-list.ts";
import { type Command, command, wholeNumber } from "./command.ts";

export const inputCommands: readonly Command[] = [
  command("send-keys send", "FHlMN:Rt:X", [0, null], "[-FHlMRX] [-N repeat-count] [-t target-pane] key ...", sendKeys),
  command("send-prefix", "2t:", [0, 0], "[-2] [-t target-pane]", async (run, args) => {
    const place = await run.place(args, "pane");
    const { prefix } = run.backend.keySettings();
    // As in tmux, an unset prefix sends nothing.
    if (args.has("2") || prefix === "none") return;
    for (const { target } of typedInto(place)) await run.backend.call("input.send", { keys: [prefix] }, target);
  }),
  command(
    "capture-pane capturep",
    "ab:CeE:JNpPqS:Tt:",
    [0, 0],
    "[-aCeJNpPq] [-b buffer-name] [-E end-line] [-S start-line] [-t target-pane]",
    async (run, args) => {
      if (args.has("P")) throw new TmuxError("command capture-pane: unknown flag -P");
      const captured = await capture(run, args, await run.place(args, "pane"));
      if (captured === null) return;
      const text = args.has("C") ? captured.replaceAll("\\", "\\\\").replaceAll("\x1b", "\\033") : captured;
      if (args.has("p")) return run.print(text);
      await addBuffer(run, args.get("b"), `${text}\n`);
    },
  ),
  command("copy-mode", "qt:u", [0, 0], "[-qu] [-t target-pane]", copyMode),
  command("clear-history clearhist", "Ht:", [0, 0], "[-t target-pane]", async (run, args) => {
    const { pane } = await run.place(args, "pane");
    await run.backend.call("session.clear", {}, pane.target);
  }),
];

/** Enters copy mode at the terminal that shows the session, or at the next one that shows it. */
async function copyMode(run: Run, args: Arguments): Promise<void> {
  const { session, window, pane } = await run.place(args, "pane");
  if (window !== session.current || pane !== window.active)
    throw new TmuxError("wsh opens copy mode only in the focused pane of a session");
  if (!args.has("q")) await run.backend.call("terminal.show", { view: "copy_mode" }, session.target);
  else if (!(await run.backend.terminal(pane.target)).copy_mode) return;
  for (const [flag, action] of [
    ["u", "page_up"],
    ["q", "leave"],
  ] as const)
    if (args.has(flag)) await sendAction(run, session, { action, count: 1, text: "" });
}

/** Performs an action of copy mode at the terminal in use. */
async function sendAction(run: Run, session: Session, action: CopyModeAct): Promise<void> {
  await run.backend.call("terminal.show", { view: "copy_mode", act: action }, session.target);
}

/** The input of one `input.send` call: a text, then keys. */
interface Sending {
  data: string;
  readonly keys: string[];
}

async function sendKeys(run: Run, args: Arguments): Promise<void> {
  const place = await run.place(args, "pane");
  const count = args.has("N") ? wholeNumber("repeat count", args.get("N") ?? "", 1, 2_147_483_647) : 1;
  if (args.has("M")) throw new TmuxError("no mouse target");
  if (args.has("R")) await run.backend.call("session.clear", {}, place.pane.target);
  if (args.has("X")) {
    const { session, pane } = place;
    if (!(await run.backend.terminal(pane.target)).copy_mode) throw new TmuxError("not in a mode");
    const pipe = pipeOf(args.words);
    if (pipe === null) return sendAction(run, session, copyAct(args.words, count));
    const before = await newestBuffer(run);
    await sendAction(run, session, copyAct(["copy-pipe-and-cancel"], 1));
    const copied = await newestBuffer(run);
    if (copied !== null && (copied.name !== before?.name || copied.at !== before.at))
      await run.backend.spawn(await formatWithClient(run, pipe, place), copied.text);
    return;
  }
  const words = args.has("F") ? await Promise.all(args.words.map((word) => run.format(word, place))) : args.words;
  const typed = words.flatMap((word) => typedBy(word, args));
  for (let i = 0; i < count; i++)
    for (const { data, keys } of sendings(typed))
      for (const { target } of typedInto(place))
        await run.backend.call(
          "input.send",
          { ...(data === "" ? {} : { data }), ...(keys.length === 0 ? {} : { keys }) },
          target,
        );
}

/** The pane, and with `synchronize-panes` all other visible, running panes of its window. */
function typedInto({ window, pane }: ResolvedTarget): readonly Pane[] {
  if (window.info.synchronized !== true) return [pane];
  return window.panes.filter((each) => each === pane || (each.info.hidden !== true && each.info.state !== "exited"));
}

function typedBy(word: string, args: Arguments): readonly KeyOrText[] {
  if (args.has("H")) {
    return /^[0-9a-f]{1,2}$/i.test(word) ? [{ text: String.fromCharCode(Number.parseInt(word, 16)) }] : [];
  }
  if (args.has("l")) return [{ text: word }];
  return [keyNamed(word) ?? { text: word }];
}

function sendings(all: readonly KeyOrText[]): readonly Sending[] {
  const calls: Sending[] = [];
  for (const each of all) {
    const last = calls.at(-1);
    if ("key" in each) {
      if (last === undefined) calls.push({ data: "", keys: [each.key] });
      else last.keys.push(each.key);
    } else if (last === undefined || last.keys.length > 0) calls.push({ data: each.text, keys: [] });
    else last.data += each.text;
  }
  return calls;
}
