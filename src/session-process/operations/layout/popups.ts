/**
 * Popups: floating panes that get all keys of their window and stay open while their program runs and a person is
 * attached. A call that waits for one returns its program's exit code and, on request, its standard output.
 */
import fs from "node:fs";
import type { Handlers } from "../../../endpoint/operations/context.ts";
import { writeStdinFile } from "../../../launch/stdin-file.ts";
import { defined } from "../../../protocol/defined.ts";
import { WshError } from "../../../protocol/errors.ts";
import { windowId } from "../../../protocol/names.ts";
import { isSameOwner, type Owner } from "../../../protocol/owner.ts";
import { floatOf, panesIn, type WindowEntry, windowWith } from "../../../session/windows/state.ts";
import type { Exit } from "../../panes/arrangement.ts";
import type { SessionParts } from "../../parts.ts";
import { boundsOf } from "./bounds.ts";
import { openPane } from "./panes.ts";
import type { LayoutCall } from "./subject.ts";

/**
 * Time for which a popup stays open while no terminal is attached, in ms: a lost connection returns within that time.
 */
const MAX_UNSEEN_MS = 5_000;
/** Maximum bytes of standard output returned. */
const MAX_PRINTED_BYTES = 1_048_576;
/** Interval between checks of the output file's size, in ms: excess output must not stay on disk. */
const TRIM_INTERVAL_MS = 200;
const UNKNOWN: Exit = { code: null, signal: null };

export const popupHandlers: Pick<Handlers<"layout", LayoutCall>, "popup.open"> = {
  "popup.open": async (call, { x, y, width, height, border, print, wait, ...program }, { signal }) => {
    const { parts, subject } = call;
    requireVisibleWindow(parts, windowWith(parts.arrangement.state, subject.pane));
    const printPath = print ? writeStdinFile(parts.instance, "") : undefined;
    // The program may remove the file, lock it, or put a pipe in its place.
    const output = printPath === undefined ? undefined : fs.openSync(printPath, "r+");
    const trimming = output === undefined ? undefined : setInterval(() => trim(output), TRIM_INTERVAL_MS);
    try {
      const float = { ...boundsOf({ x, y, width, height }), bare: !border, popup: true };
      const change = { pane: subject.pane, side: "right", whole: false, focus: false, float } as const;
      const popupProgram = { ...program, keep_after_exit: program.keep_after_exit ?? false };
      const { session, session_id, window, pane, closed } = await parts.arrangement.change(async () => {
        const made = await openPane(call, popupProgram, change, { isPopup: true, ...defined({ printPath }) });
        return { ...made, closed: whenClosed(parts, made.pane, call.owner) };
      });
      const opened = { session, session_id, window, pane };
      if (!wait && !print) return opened;
      const { code, signal: by } = await untilAborted(signal, closed, () => closePopup(parts, pane));
      return { ...opened, exit_code: code, signal: by, ...(output === undefined ? {} : readPrinted(output)) };
    } finally {
      clearInterval(trimming);
      if (output !== undefined) fs.closeSync(output);
      if (printPath !== undefined) fs.rmSync(printPath, { force: true });
    }
  },
};

/** @throws WshError no_viewer */
function requireVisibleWindow({ session, arrangement, content }: SessionParts, window: WindowEntry): void {
  const writableViewers = session.viewers.all.filter(({ readOnly }) => !readOnly);
  if (writableViewers.some(({ shownContent }) => panesIn(window).some((pane) => shownContent.shows(pane)))) return;
  const windowClause =
    arrangement.state.windows.length === 1 ? "" : ` shows window '${content.nameOf(window)}' (${windowId(window.id)})`;
  throw new WshError(
    "no_viewer",
    writableViewers.length > 0 && windowClause !== ""
      ? `no terminal that is attached to session '${session.name}'${windowClause}`
      : `no terminal is attached to session '${session.name}', so that nobody would see the popup`,
  );
}

function isPopup({ arrangement: { state } }: SessionParts, pane: string): boolean {
  return state.panes[pane] !== undefined && floatOf(windowWith(state, pane), pane)?.popup === true;
}

/** Ends a popup's program, unless the popup has become an ordinary pane. */
function closePopup(parts: SessionParts, pane: string): void {
  const { arrangement } = parts;
  void arrangement.change(() => isPopup(parts, pane) && arrangement.close([pane])).catch(() => {});
}

/**
 * How a pane's program ended, once the pane has left the session. A popup that nobody sees is closed, and so is that of
 * an AI agent in a session that becomes private: it gets a person's keys.
 */
function whenClosed(parts: SessionParts, pane: string, owner: Owner | null): Promise<Exit> {
  const { arrangement, session, permission } = parts;
  const closeIfPrivate = async (): Promise<void> => {
    if (owner?.kind !== "agent" || !session.isPrivate) return;
    const isOwn = session.owner != null && isSameOwner(session.owner, owner);
    if (!isOwn && !(await permission.isAllowed(owner.name).catch(() => false))) closePopup(parts, pane);
  };
  const { promise, resolve } = Promise.withResolvers<Exit>();
  let exit = UNKNOWN;
  let unseenTimer: Timer | null = null;
  const unsubscribers = [
    arrangement.events.on("paneEnded", (ended) => {
      if (ended.pane !== pane) return;
      if (exit === UNKNOWN) exit = ended.exit;
      if (!ended.isKept) close();
    }),
    arrangement.events.on("allEnded", (last) => {
      if (arrangement.state.panes[pane] !== undefined) exit = last;
      close();
    }),
    // The pane may have moved to another session.
    arrangement.events.on("changed", ({ after }) => after.panes[pane] === undefined && queueMicrotask(close)),
    session.events.on("viewer", () => {
      clearTimeout(unseenTimer ?? undefined);
      unseenTimer = session.viewers.count > 0 ? null : setTimeout(() => closePopup(parts, pane), MAX_UNSEEN_MS);
    }),
    session.events.on("private", () => void closeIfPrivate()),
    session.events.on("destroyed", () => close()),
  ];
  const close = (): void => {
    clearTimeout(unseenTimer ?? undefined);
    for (const unsubscribe of unsubscribers) unsubscribe();
    resolve(exit);
  };
  return promise;
}

async function untilAborted<T>(signal: AbortSignal, result: Promise<T>, aborted: () => void): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => {
    aborted();
    reject(signal.reason);
  };
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([result, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/**
 * Truncates an output file. The program continues to write behind the cut; the cut part takes no room, and the file's
 * size still shows that there was more.
 */
function trim(output: number): void {
  if (fs.fstatSync(output).size > 2 * MAX_PRINTED_BYTES) fs.ftruncateSync(output, MAX_PRINTED_BYTES + 1);
}

function readPrinted(file: number): { output: string; output_base64?: string; output_truncated?: boolean } {
  const bytes = Buffer.alloc(MAX_PRINTED_BYTES + 1);
  const length = fs.readSync(file, bytes, 0, bytes.length, 0);
  const printed = bytes.subarray(0, Math.min(length, MAX_PRINTED_BYTES));
  const output = printed.toString("utf8");
  return {
    output,
    ...(Buffer.from(output).equals(printed) ? {} : { output_base64: printed.toString("base64") }),
    ...(length > MAX_PRINTED_BYTES ? { output_truncated: true } : {}),
  };
}
