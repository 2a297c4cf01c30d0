/**
 * Tracks which parts of the screen are new to one subscriber: rows, cursor, alternate screen, resets. Owns the
 * epoch up to which the subscriber knows the rows. Every row is reported once, in its newest state, after any
 * number of changes. Call between chunks. `takeChanges` runs at most once per interval.
 */
import type { EventName, SessionEvent } from "../../protocol/events.ts";
import type { Format } from "../../protocol/screen.ts";
import type { ResetReason, TerminalModel } from "../../terminal/model.ts";

type ScreenEvent = Extract<SessionEvent, { event: "mode" | "reset" | "line" | "cursor" | "diff" }>;

interface ReportOptions {
  readonly wantedEvents: ReadonlySet<EventName>;
  readonly format: Format;
}

export class ScreenReports {
  private epoch = 0;
  private cursor = "";
  private alternate = false;
  private readonly resets = new Set<ResetReason>();

  constructor(
    private readonly terminal: TerminalModel,
    private readonly options: ReportOptions,
  ) {}

  reset(reason: ResetReason): void {
    this.resets.add(reason);
  }

  /** The whole screen, as sent to the subscriber at the beginning and after it missed something. */
  sync(): Extract<SessionEvent, { event: "sync" }> {
    const screen = this.terminal.screen(this.options.format);
    return { event: "sync", seq: 0, screen, scrollback_lines: screen.total_lines };
  }

  /** The same, and notes that the subscriber has it: its rows are not sent again one by one. */
  beginSync(): Extract<SessionEvent, { event: "sync" }> {
    const { terminal } = this;
    const sync = this.sync();
    // Rows detect changes when they are read.
    terminal.changedRows(terminal.epoch);
    this.epoch = terminal.epoch;
    this.alternate = terminal.alternate;
    this.cursor = JSON.stringify(sync.screen.cursor);
    return sync;
  }

  /** Returns changes since the last call, or since the beginning. @param seq of the next event */
  takeChanges(seq: () => number): ScreenEvent[] {
    const { terminal } = this;
    const { wantedEvents, format } = this.options;
    const events: ScreenEvent[] = [];
    if (terminal.alternate !== this.alternate) {
      this.alternate = terminal.alternate;
      if (wantedEvents.has("mode")) events.push({ event: "mode", seq: seq(), alternate_active: this.alternate });
    }
    for (const reason of this.resets) events.push({ event: "reset", seq: seq(), reason });
    this.resets.clear();
    if (terminal.epoch === this.epoch) return events;
    const rows = wantedEvents.has("lines") || wantedEvents.has("diffs") ? terminal.changedRows(this.epoch) : [];
    this.epoch = terminal.epoch;
    if (rows.length === 0 && !wantedEvents.has("cursor")) return events;
    const screen = terminal.screen(format);
    if (wantedEvents.has("lines")) {
      for (const index of rows) {
        const line = screen.lines[index];
        if (line !== undefined)
          events.push({ event: "line", seq: seq(), index, total_lines: screen.total_lines, line });
      }
    }
    const cursor = JSON.stringify(screen.cursor);
    if (wantedEvents.has("cursor") && cursor !== this.cursor)
      events.push({ event: "cursor", seq: seq(), ...screen.cursor });
    this.cursor = cursor;
    if (wantedEvents.has("diffs") && rows.length > 0) {
      events.push({ event: "diff", seq: seq(), changed_lines: rows, screen });
    }
    return events;
  }
}
