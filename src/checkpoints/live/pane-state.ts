/** A pane's contents for a checkpoint at one moment: read between two chunks, without any change. */

import { thisMachine } from "../../instance/place-digest.ts";
import type { Pane } from "../../pane/pane.ts";
import { bootId } from "../../platform/boot.ts";
import { platform } from "../../platform/platform.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import { defined } from "../../protocol/defined.ts";
import type { Owner } from "../../protocol/owner.ts";
import { UNSAVED_OUTPUT } from "../../protocol/pane-numbers.ts";
import type { Session } from "../../session/session.ts";
import { quote } from "../../shell/quoting.ts";
import { storedAlternate, storedLines } from "../../terminal/stored-text.ts";
import type { Block } from "../files/blocks.ts";
import { MAX_BLOCK_BYTES } from "../files/blocks.ts";
import { cutLine, type HistorySource } from "../files/part-writer.ts";
import { CHECKPOINT_VERSION, type Foreground, type PaneRecord } from "../files/record.ts";

/** Lines above the screen that `recent` keeps. */
const RECENT_LINES = 1_000;
/** Maximum commands in a checkpoint (the newest), and characters of a command line. */
const MAX_COMMANDS = 1_000;
const MAX_COMMAND = 4_096;
/** A block of this many characters never exceeds its limit in bytes. */
const MAX_CHARS = MAX_BLOCK_BYTES / 4;

/** Bytes printed after which the saved output cursor is stale even without other changes: a tenth of UNSAVED_OUTPUT. */
const STALE_OUTPUT = UNSAVED_OUTPUT / 10;

type SavedPart = "layout" | "screen" | "recent" | "history";

/** Facts about the pane that are constant from its start. */
export interface PaneStart {
  readonly pane: number;
  readonly session: number;
  readonly window: number;
  readonly owner: Owner | undefined;
  readonly program: PaneRecord["program"];
  readonly env: Readonly<Record<string, string>>;
  readonly nofile: number | null;
}

export interface PaneState {
  /** Equal for two states that differ in nothing relevant. */
  readonly digest: string;
  readonly history: HistorySource | null;
  blocks(history: PaneRecord["history"]): Block[];
}

/** The beginning of a record: where it is written, and the session. @param endedBy the signal that ends this process */
export function beginRecord(
  session: Session,
  { id, window }: { readonly id: number; readonly window: number },
  endedBy: string | null,
): Pick<PaneRecord, "version" | "boot" | "machine" | "ended_by" | "session"> {
  return {
    version: CHECKPOINT_VERSION,
    boot: bootId(),
    machine: thisMachine(),
    ended_by: endedBy,
    session: {
      id,
      window,
      name: session.name,
      tags: [...session.tags],
      created_at: session.createdAt,
      owner: session.owner ?? undefined,
      worktree: session.worktree ?? undefined,
      idle_limit: session.idleLimit ?? undefined,
      on: session.hooks,
      ...session.size,
    },
  };
}

/** @param foreground the program that can be run again @param endedBy the signal that ends this process */
export function readPaneState(
  session: Session,
  pane: Pane,
  start: PaneStart,
  savedPart: SavedPart,
  foreground: Foreground | null,
  { isMember, endedBy }: { readonly isMember: boolean; readonly endedBy: string | null },
): PaneState {
  const { terminal } = pane;
  const { firstLine, storedSource } = terminal;
  const screenTop = terminal.screenTop.line;
  const includesScreen = savedPart !== "layout";
  const screen = includesScreen ? joinLines(storedLines(storedSource, screenTop, terminal.lastLine)) : "";
  const alternate = includesScreen ? storedAlternate(storedSource) : null;
  const commands = includesScreen ? serializeCommands(pane.commands.log.list()) : "[]";
  const about = {
    ...beginRecord(session, { id: start.session, window: start.window }, endedBy),
    pane: start.pane,
    owner: start.owner,
    is_member: isMember,
    rows: terminal.rows,
    cols: terminal.cols,
    title: terminal.title,
    cwd: pane.cwd,
    program: start.program,
    env: start.env,
    nofile: start.nofile,
    foreground,
    exit: pane.exit,
    screen_line: screenTop,
    ...(includesScreen ? { cursor: terminal.cursor } : {}),
    ...(!isMember && session.elements.hasPersistent ? { elements: session.elements.persistent } : {}),
  } satisfies Omit<PaneRecord, "saved_at" | "history" | "numbers" | "places">;
  const first = savedPart === "history" ? firstLine : Math.max(firstLine, screenTop - RECENT_LINES);
  const history: HistorySource | null =
    savedPart === "recent" || savedPart === "history"
      ? { first, end: screenTop, lines: (from, end) => storedLines(storedSource, from, end - 1) }
      : null;
  const places = pane.text.positionsForCheckpoint();
  const numbers = { output_cursor: pane.outputCursor, command_id: pane.commands.log.nextId - 1 };
  const texts = [
    JSON.stringify(about),
    screen,
    alternate?.join("\n") ?? "",
    commands,
    String(first),
    String(Math.floor(numbers.output_cursor / STALE_OUTPUT)),
  ];
  return {
    digest: String(Bun.hash(texts.join("\0"))),
    history,
    blocks: (storedHistory) => [
      {
        kind: "about",
        text: JSON.stringify({ ...about, numbers, places, saved_at: Date.now(), history: storedHistory }),
      },
      ...(includesScreen ? [{ kind: "screen", text: screen } as const] : []),
      ...(alternate === null ? [] : [{ kind: "alternate", text: joinLines(alternate) } as const]),
      { kind: "commands", text: commands },
    ],
  };
}

function joinLines(lines: readonly string[]): string {
  const texts = lines.map((line) => cutLine(line));
  while (texts.length > 0 && texts.at(-1) === "") texts.pop();
  let chars = 0;
  let from = texts.length;
  // Of too many lines, the last ones are kept, since they are visible.
  while (from > 0 && chars + (texts[from - 1]?.length ?? 0) < MAX_CHARS) chars += (texts[--from]?.length ?? 0) + 1;
  return texts.slice(from).join("\n");
}

function serializeCommands(records: readonly CommandRecord[]): string {
  const newest = records.slice(-MAX_COMMANDS).map((record) => ({
    ...record,
    command: record.command?.slice(0, MAX_COMMAND) ?? null,
  }));
  for (let from = 0; ; from = from * 2 + 1) {
    const text = JSON.stringify(newest.slice(from));
    if (text.length <= MAX_CHARS) return text;
  }
}

/** The command line that started the foreground program; null at a prompt. */
export function findForeground(pane: Pane): Foreground | null {
  const { name: agent = null, conversation } = pane.agent.info ?? {};
  const agentFacts = { agent, ...defined({ conversation }) };
  const group = pane.foreground;
  const program = group === null ? null : (platform().processes.stat(group)?.name ?? null);
  if (pane.runsOneCommand) return { line: pane.command, cwd: pane.startCwd, program, ...agentFacts };
  // The oldest running command: a command in a nested shell returns with that shell, or not at all.
  const running = pane.commands.log.list().find(({ state }) => state === "running");
  if (running?.command != null) return { line: running.command, cwd: running.cwd, program, ...agentFacts };
  const isKnown = pane.commands.log.isActive || group === null || group === pane.pid;
  if (isKnown || group === null) return null;
  const args = platform().processes.args(group);
  const cwd = platform().processes.cwd(group);
  return args.length === 0 ? null : { line: args.map(quote).join(" "), cwd, program, ...agentFacts };
}
