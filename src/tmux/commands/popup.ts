/** display-popup: a popup of wsh with tmux's positions, sizes and exit statuses. */
import { constants } from "node:os";
import { WshError } from "../../protocol/errors.ts";
import type { Amount } from "../../protocol/size.ts";
import { TmuxError } from "../error.ts";
import { signalNumber } from "../formats/variables.ts";
import type { ResolvedTarget } from "../model.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { amount, type Command, cellsOf, command } from "./command.ts";
import { givenVariables } from "./start.ts";

/** Status of a popup that was closed with its program running: that of a shell after SIGHUP. */
const HUNG_UP = 128 + constants.signals.SIGHUP;

export const popupCommands: readonly Command[] = [
  command(
    "display-popup popup",
    "Bb:Cc:d:e:Eh:s:S:t:T:w:x:y:",
    [0, null],
    "[-BCE] [-b border-lines] [-c target-client] [-d start-directory] [-e environment] [-h height] [-s style] " +
      "[-S border-style] [-t target-pane][-T title] [-w width] [-x position] [-y position] [shell-command]",
    displayPopup,
  ),
];

async function displayPopup(run: Run, args: Arguments): Promise<void> {
  const place = await run.place(args, "pane");
  const open = place.window.info.panes.filter(({ popup }) => popup === true);
  if (args.has("C")) {
    for (const { id } of open) await run.backend.call("pane.close", {}, id);
    return;
  }
  if (open.length > 0) return;
  const { backend } = run;
  const directory = args.get("d");
  const cwd = directory === undefined ? "" : await run.format(directory, place);
  const title = args.get("T");
  const ends = args.count("E");
  const input = {
    ...boundsOf(args, place),
    command: args.words.length > 0 ? backend.shellText(args.words) : null,
    cwd: cwd !== "" && backend.isDirectory(cwd) ? cwd : backend.cwd,
    env: givenVariables(args),
    border: !args.has("B") && args.get("b") !== "none",
    keep_after_exit: ends === 0 ? true : ends === 1 ? false : ("failed" as const),
    ...(title === undefined ? {} : { title: (await run.format(title, place)).slice(0, 256) }),
    wait: true,
  };
  try {
    const { exit_code: code, signal } = await backend.call("popup.open", input, place.pane.target);
    // tmux returns the number of a signal unchanged.
    run.status = signalNumber(signal) ?? code ?? HUNG_UP;
  } catch (thrown) {
    throw WshError.from(thrown).code === "no_viewer" ? new TmuxError("no current client") : thrown;
  }
}

/** By default half of the window, centred. @throws TmuxError */
function boundsOf(args: Arguments, { window, pane }: ResolvedTarget) {
  const { rows, cols } = window.info;
  const [height, width] = [sizeOf("height", args.get("h"), rows), sizeOf("width", args.get("w"), cols)];
  const { row = 0, col = 0 } = pane.info;
  const x = { C: "center", R: cols - width, P: col, M: "center", W: 0, S: 0 }[args.get("x") ?? "C"];
  // A number gives the position of the lower edge.
  const bottom = { P: row + pane.info.rows, S: rows, W: rows, R: rows }[args.get("y") ?? "C"];
  const y = { C: "center", M: "center" }[args.get("y") ?? "C"];
  return {
    width,
    height,
    x: x ?? clamp(numberAt(args.get("x")), cols - width),
    y: y ?? clamp((bottom ?? numberAt(args.get("y"))) - height, rows - height),
  };
}

/** @throws TmuxError `width too large` */
function sizeOf(what: string, text: string | undefined, room: number): number {
  const given: Amount = text === undefined ? { percent: 50 } : amount(what, text, room, 0);
  return Math.max(1, cellsOf(given, room));
}

/** As in tmux, anything but a number means 0. */
function numberAt(text = ""): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

function clamp(at: number, most: number): number {
  return Math.max(0, Math.min(at, most));
}
