/**
 * Operations on a terminal's contents and input: screen, history, input, clear. Answers are made between two chunks, so
 * that a screen and its cursor agree. Soft-wrapped rows are one line for `grep` and rows for everything else.
 */
import { isText, unreadReason } from "../../pane/state/reading.ts";
import { joinInput } from "../../pane/submits.ts";
import { requireOwnCursor } from "../../pane/text/own-cursor.ts";
import { cleanPaste } from "../../protocol/pasted-text.ts";
import type { Line, Scrollback } from "../../protocol/screen.ts";
import { quote } from "../../shell/quoting.ts";
import { containing, type TerminalModel } from "../../terminal/model.ts";
import type { PaneHandlers } from "./context.ts";
import { disorderOf, lacksPlainEcho, NO_ECHO, screenWithSelection } from "./screen.ts";
import { followScreens } from "./screen-revisions.ts";
import { decodeFor, typeInto } from "./typing.ts";

/** Lines of a page that takes milliseconds to read: several such pages in a row would delay everything else. */
const LONG_PAGE_LINES = 1_000;
/** Settles when the last requested long page has been read and other work has run. */
let lastLongPage: Promise<unknown> = Promise.resolve();

/** Reads long pages one at a time; keys, output and short answers run between two of them. */
function readInTurn<T>(limit: number, read: () => Promise<T>): Promise<T> {
  if (limit < LONG_PAGE_LINES) return read();
  const answer = lastLongPage.then(read);
  lastLongPage = answer.catch(() => {}).then(() => Bun.sleep(0));
  return answer;
}

export const terminalHandlers: Pick<
  PaneHandlers,
  "session.clear" | "session.reset" | "input.send" | "buffer.paste" | "image.paste" | "screen.get" | "scrollback.get"
> = {
  "session.clear": async (pane) => {
    await pane.clear();
    return { output_cursor: pane.giveCursor() };
  },
  "session.reset": async (pane) => {
    const { terminal } = pane;
    const echoes = pane.exit === null && (await pane.commands.lostEcho.restoreEcho());
    return terminal.whenAtRest(() => {
      const isEchoOn = echoes || (lacksPlainEcho(pane) && pane.secrets.switchEchoOn());
      const mended = [...terminal.disruptiveModes, ...(isEchoOn ? [NO_ECHO] : [])];
      const bytes = terminal.resetDisruptiveModes(pane.flags()?.canonical === false);
      if (bytes !== null) pane.events.emit("chunk", { offset: terminal.offset, bytes });
      return { mended, output_cursor: pane.giveCursor() };
    });
  },
  "input.send": async (pane, input, { caller }) => {
    pane.requireRunning();
    const typedInput = decodeFor(pane, input);
    const bytes = joinInput(typedInput);
    // All or nothing.
    pane.commands.cookedLine.requireFits(bytes);
    const since = await pane.terminal.whenAtRest(() => pane.giveCursor());
    await pane.commands.hideFromHistory(caller, bytes);
    const unread = isText(bytes) ? unreadReason(pane.commands.state()) : null;
    await typeInto(pane, typedInput);
    const warnings = unread === null ? {} : { warnings: [unread] };
    return { bytes: bytes.length, since, output_cursor: pane.giveCursor(), ...warnings };
  },
  "buffer.paste": async (pane, { buffer, delete: deletes }, { buffers, caller }) => {
    pane.requireRunning();
    const { text, ...pasted } = buffers.get(buffer, caller);
    if (deletes) buffers.requireChangeable(pasted.name, caller);
    const typedInput = decodeFor(pane, { data: cleanPaste(text), encoding: "utf8", submit: false, paste: true });
    pane.commands.cookedLine.requireFits(joinInput(typedInput));
    await typeInto(pane, typedInput);
    if (deletes) buffers.remove(pasted.name, caller);
    return pasted;
  },
  "image.paste": async (pane, { data, format }, { storeImage }) => {
    pane.requireRunning();
    const image = Buffer.from(data, "base64");
    const path = await storeImage(image, format);
    const typedInput = decodeFor(pane, { data: quote(path), encoding: "utf8", submit: false, paste: true });
    await typeInto(pane, typedInput);
    return { path, bytes: image.length };
  },
  "screen.get": async (pane, { format, tail, since, wait_ms, each }, { signal }) => {
    const revisions = each ? followScreens(pane, format) : null;
    using _following = revisions?.follow();
    if (since !== undefined) {
      requireOwnCursor(pane.text, since);
      if (wait_ms > 0) await pane.outputAfter(since, wait_ms, signal);
    }
    return await pane.terminal.whenAtRest(() => {
      const state = pane.state();
      const earlier = since === undefined ? [] : (revisions?.revisionsSince(since) ?? []);
      return {
        ...screenWithSelection(pane.terminal, format, tail),
        last_activity_ms: pane.activity.idleMs(),
        title: pane.terminal.title,
        state,
        ...disorderOf(pane),
        output_cursor: pane.giveCursor(),
        generation: pane.activity.generation,
        ...(earlier.length === 0 ? {} : { earlier }),
      };
    });
  },
  "scrollback.get": ({ terminal }, { grep, ...page }) =>
    readInTurn(grep === undefined ? page.limit : Number.POSITIVE_INFINITY, () =>
      terminal.whenAtRest(() => {
        const { alternate, firstLine, lastLine } = terminal;
        const lines = grep === undefined ? terminal.scrollback(page) : matchingLines(terminal, grep, page);
        if (alternate || firstLine === 0) return lines;
        const searched = `${firstLine + 1}–${lastLine + 1} of ${lastLine + 1}`;
        return { ...(grep === undefined ? {} : { incomplete: true, searched }), dropped_lines: firstLine, ...lines };
      }),
    ),
};

/**
 * Returns the lines that contain a text as a separate sequence, to which offset and limit refer. Soft-wrapped rows are
 * one line, so a text is found across the wrap.
 */
function matchingLines(
  terminal: TerminalModel,
  grep: string,
  { offset: requestedOffset, limit, format }: Parameters<TerminalModel["scrollback"]>[0],
): Scrollback {
  const contains = containing(grep);
  let lines: Line[];
  if (terminal.alternate) {
    const { rows } = terminal;
    const screenLines = terminal.scrollback({ offset: 0, limit: rows, format }).lines;
    const texts = terminal.scrollback({ offset: 0, limit: rows, format: "plain" }).lines;
    lines = screenLines.filter((_, index) => contains(String(texts[index])));
  } else {
    lines = terminal.grep(contains, { limit: Number.POSITIVE_INFINITY, format }).map(({ line }) => line);
  }
  const offset = requestedOffset < 0 ? Math.max(0, lines.length + requestedOffset) : requestedOffset;
  return {
    epoch: terminal.epoch,
    lines: lines.slice(offset, offset + limit),
    total_lines: lines.length,
    offset,
    first_line_id: terminal.firstLine,
  };
}
