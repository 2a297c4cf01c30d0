/** What a host does for each session operation: one entry an operation, a missing one does not compile. */

import { decodeInput } from "../../keys/typed-input.ts";
import type { OperationOutput, ParsedInput, SessionOperationName } from "../../operations/table.ts";
import type { Access, Caller } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Line, Scrollback } from "../../protocol/screen.ts";
import type { Session } from "../../session/session.ts";
import { containing, type TerminalModel } from "../../terminal/model.ts";
import { commandHandlers } from "./commands.ts";
import { elementHandlers } from "./drawing.ts";
import { awaitIdle } from "./idle.ts";

/** ED 2 and home. The person's own scrollback is not the session's to erase. */
const ERASE_SCREEN = new TextEncoder().encode("\x1b[2J\x1b[H");

export interface HandlerContext {
  readonly signal: AbortSignal;
  readonly caller: Caller;
  readonly access: Access;
}

export type SessionHandlers = {
  readonly [N in SessionOperationName]: (
    session: Session,
    input: ParsedInput<N>,
    context: HandlerContext,
  ) => OperationOutput<N> | Promise<OperationOutput<N>>;
};

export const sessionHandlers: SessionHandlers = {
  "session.get": (session) => session.info(),
  "session.update": async (session, input) => {
    await session.update(input);
    return session.info();
  },
  "session.kill": async (session, { reason }) => {
    await session.lifetime.kill(reason);
    return {};
  },
  "session.detach": (session) => ({ detached: session.detachAll() }),
  "session.resize": async (session, { force, ...size }) => {
    session.requireRunning();
    await session.setSize(size, force);
    return { ...session.size };
  },
  "session.signal": (session, { signal }) => {
    const name = signalName(signal);
    session.pane.signal(name, "foreground");
    return { signal: name };
  },
  "session.restart": async (session) => {
    await session.lifetime.restart();
    return session.info();
  },
  "session.clear": async (session) => {
    const { terminal } = session.pane;
    await terminal.atRest(() => {
      void terminal.clear();
      // Whoever is relayed to sees it as the program's own output.
      session.events.emit("chunk", { offset: terminal.offset, bytes: ERASE_SCREEN });
    });
    return { output_cursor: session.program.outputCursor };
  },
  "input.send": async (session, input) => {
    session.requireRunning();
    const parts = decodeInput(input, session.pane.terminal.modes);
    let bytes = 0;
    for (const part of parts) {
      await session.send(part);
      bytes += part.length;
    }
    return { bytes, output_cursor: session.program.outputCursor };
  },
  "screen.get": (session, { format, tail }) =>
    session.pane.terminal.atRest(() => {
      const screen = session.pane.terminal.screen(format);
      return {
        ...screen,
        lines: tail === undefined ? screen.lines : lastLines(screen.lines, tail),
        last_activity_ms: session.activity.idleMs(),
        title: session.pane.terminal.title,
        state: session.program.state(),
        output_cursor: session.program.outputCursor,
        generation: session.activity.generation,
      };
    }),
  "scrollback.get": ({ pane: { terminal } }, { grep, ...page }) =>
    terminal.atRest(() => (grep === undefined ? terminal.scrollback(page) : matching(terminal, grep, page))),
  "idle.await": (...call) => awaitIdle(...call).finally(() => call[0].lifetime.endTold()),
  ...commandHandlers,
  ...elementHandlers,
};

/** The newest `count` rows down to the last one that is not blank. */
function lastLines<L extends string | readonly unknown[]>(lines: readonly L[], count: number): L[] {
  const end = lines.findLastIndex((line) => line.length > 0) + 1;
  return lines.slice(Math.max(0, end - count), end);
}

/**
 * The lines that contain a text as a sequence of their own, in which offset and limit count: soft-wrapped rows are one
 * line, so that a text is found across their border.
 */
function matching(
  terminal: TerminalModel,
  grep: string,
  { offset: asked, limit, format }: Parameters<TerminalModel["scrollback"]>[0],
): Scrollback {
  const contains = containing(grep);
  let lines: Line[];
  if (terminal.alternate) {
    const { rows } = terminal;
    const shown = terminal.scrollback({ offset: 0, limit: rows, format }).lines;
    const texts = terminal.scrollback({ offset: 0, limit: rows, format: "plain" }).lines;
    lines = shown.filter((_, at) => contains(String(texts[at])));
  } else {
    lines = terminal.grep(contains, { limit: Number.POSITIVE_INFINITY, format }).map(({ line }) => line);
  }
  const offset = asked < 0 ? Math.max(0, lines.length + asked) : asked;
  return {
    epoch: terminal.epoch,
    lines: lines.slice(offset, offset + limit),
    total_lines: lines.length,
    offset,
    first_line_id: terminal.firstLine,
  };
}

const signalNames: ReadonlyMap<number, NodeJS.Signals> = new Map([
  [1, "SIGHUP"],
  [2, "SIGINT"],
  [3, "SIGQUIT"],
  [9, "SIGKILL"],
  [14, "SIGALRM"],
  [15, "SIGTERM"],
]);
const knownSignals: readonly NodeJS.Signals[] = [
  ...signalNames.values(),
  "SIGUSR1",
  "SIGUSR2",
  "SIGCONT",
  "SIGSTOP",
  "SIGTSTP",
  "SIGTTIN",
  "SIGTTOU",
  "SIGWINCH",
  "SIGPIPE",
  "SIGABRT",
];

/** @throws WshError invalid_request listing the known ones */
function signalName(signal: string | number): NodeJS.Signals {
  const byNumber = signalNames.get(Number(signal));
  if (byNumber !== undefined) return byNumber;
  const upper = String(signal).toUpperCase();
  const full = upper.startsWith("SIG") ? upper : `SIG${upper}`;
  const found = knownSignals.find((name) => name === full);
  if (found !== undefined) return found;
  throw new WshError("invalid_request", `'signal': unknown signal '${signal}'`, {
    hint: `Known are ${knownSignals.map((name) => name.slice(3)).join(", ")}.`,
  });
}
