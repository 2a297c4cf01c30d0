/**
 * The interactive filter of `wsh history` on a terminal: reads keys, searches as the person types, and gives the chosen
 * line to the session that it runs in, which puts it at the next prompt. Outside any session it prints the line. It
 * restores the terminal on every exit.
 */

import type { History } from "../../history/queries.ts";
import { MAX_COMMAND } from "../../history/record.ts";
import type { InputEvent } from "../../keys/types.ts";
import type { HistoryCommand, HistorySearchInput } from "../../operations/history.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { UsageError } from "../arguments.ts";
import { errorScreen, fullScreen, outputScreen, type Screen } from "../full-screen.ts";
import { complain, print, printText, takesColor } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { paneAround } from "../session/surrounding-session.ts";
import { type FilterAction, type FilterState, pageOf, picture, press } from "./filter-view.ts";

/** Commands found at a time: several screens. */
const PAGE = 200;
const ENTER_SCREEN = "\x1b[?1049h\x1b[?2004h";
const LEAVE_SCREEN = "\x1b[?2004l\x1b[?1049l";

export async function filterHistory(history: History, filters: HistorySearchInput, query: string): Promise<void> {
  const command = await chosenLine(history, filters, query, outputScreen);
  if (command === null) return;
  if (command.length >= MAX_COMMAND) {
    complain("only the beginning of this command was kept, so it is not put at the prompt");
    return printText(`${command}\n`);
  }
  const around = paneAround(process.env);
  if (around === null) return printText(`${command}\n`);
  try {
    using session = await SessionClient.open(around.instance, around.pane);
    await session.call("prompt.offer", { text: command, after_command: true });
  } catch (error) {
    complain(`the line cannot be put at the prompt: ${WshError.from(error).message}`);
    await printText(`${command}\n`);
  }
}

/** Prints the chosen line unchanged, for a shell that puts it into its own editor; the filter is on standard error. */
export async function pickFromHistory(history: History, filters: HistorySearchInput, query: string): Promise<void> {
  const command = await chosenLine(history, filters, query, errorScreen());
  if (command === null) return;
  if (command.length >= MAX_COMMAND) throw new UsageError("only the beginning of this command was kept");
  await (process.stdout.isTTY ? printText(`${command}\n`) : print(`${command}\n`));
}

async function chosenLine(
  history: History,
  filters: HistorySearchInput,
  query: string,
  screen: Screen,
): Promise<string | null> {
  for (const warning of history.warnings) complain(warning);
  const chosen = await chooseCommand(history, filters, query, screen);
  if (chosen === null) process.exitCode = 130;
  return chosen?.command ?? null;
}

/** @returns null when the person left */
async function chooseCommand(
  history: History,
  filters: HistorySearchInput,
  query: string,
  screen: Screen,
): Promise<HistoryCommand | null> {
  const isPlain = !takesColor(screen === outputScreen ? process.stdout : process.stderr);
  let state = search(history, filters, {
    query,
    commands: [],
    hasMore: false,
    selectedIndex: 0,
    failedOnly: filters.failed === true,
  });
  const draw = (): Promise<void> => screen.print(picture(state, screen.size(), Date.now(), isPlain));
  const handleInput = (events: readonly InputEvent[], done: (chosen: HistoryCommand | null) => void): void => {
    for (const event of events) {
      const action = press(state, event, pageOf(screen.size().rows));
      if (action.kind === "accept" || action.kind === "leave") {
        done(action.kind === "accept" ? action.command : null);
        return;
      }
      state = nextState(history, filters, action);
    }
    void draw();
  };
  return fullScreen({ enter: ENTER_SCREEN, leave: LEAVE_SCREEN, screen, draw, handleInput });
}

function nextState(
  history: History,
  filters: HistorySearchInput,
  action: Extract<FilterAction, { state: FilterState }>,
): FilterState {
  if (action.kind === "search") return search(history, filters, action.state);
  if (action.kind === "draw") return action.state;
  const { commands } = action.state;
  const before = commands.at(-1)?.id;
  const page = history.search({ ...filtersOf(filters, action.state), ...defined({ before }) });
  const all = [...commands, ...page.commands];
  return {
    ...action.state,
    commands: all,
    hasMore: page.more,
    selectedIndex: Math.min(action.state.selectedIndex + 1, all.length - 1),
  };
}

function search(history: History, filters: HistorySearchInput, state: FilterState): FilterState {
  const { commands, more } = history.search(filtersOf(filters, state));
  return {
    ...state,
    commands,
    hasMore: more,
    selectedIndex: Math.max(0, Math.min(state.selectedIndex, commands.length - 1)),
  };
}

function filtersOf(filters: HistorySearchInput, { query, failedOnly }: FilterState): HistorySearchInput {
  return { ...filters, query, failed: failedOnly, limit: PAGE, output: false };
}
