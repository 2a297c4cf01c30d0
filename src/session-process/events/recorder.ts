/**
 * Writes the session's events to the instance's journal (docs/protocol.md, Recorded events), one write each. Of events
 * in a private session, only their kind is written. Events that a program or a person can repeat endlessly are limited:
 * the next recorded one has the number of omitted ones.
 */
import type { EventJournal } from "../../events/journal.ts";
import { sessionId } from "../../protocol/names.ts";
import type { EventDetails, RecordedEvent, RecordedEventName } from "../../protocol/recorded-events.ts";
import type { Session } from "../../session/session.ts";
import type { AdoptingSession } from "../panes/adoption.ts";
import type { HookWaker } from "./hook-waker.ts";

/** Maximum events of one pane and kind at once, and per second; further ones are omitted. */
const BURST = 40;
const A_SECOND = 10;

/** Kinds that a program's output or a drag with the mouse can cause. */
const limited: ReadonlySet<RecordedEventName> = new Set([
  "bell",
  "notification",
  "title_changed",
  "client_resized",
  "session_resized",
  "layout_changed",
]);

/** Events that may be worth a notice to a person who is elsewhere. */
const noteworthy: ReadonlySet<RecordedEventName> = new Set([
  "command_finished",
  "state_changed",
  "agent_state",
  "notification",
  "question_asked",
  "session_ending",
]);

/** Fields that may reveal the contents of a private session. */
const reportedFields = ["command", "cwd", "text", "title", "question", "choices", "agent", "program"] as const;

export class Recorder {
  /** Events before the session is made: none is written if that fails. */
  private early: EventDetails[] | null = [];
  private readonly rates = new Map<string, { remaining: number; at: number; skipped: number }>();

  constructor(
    private readonly session: Pick<Session, "name" | "id" | "tags" | "isPrivate" | "viewers">,
    private readonly journal: Pick<EventJournal, "append" | "lastOf">,
    private readonly hooks: Pick<HookWaker, "hooksFor" | "wake">,
    /** An event that may be worth a notice at attached terminals. */
    private readonly noticed: (event: RecordedEvent) => void,
  ) {}

  /** The session is made. */
  begin(created: EventDetails): void {
    const early = this.early ?? [];
    this.early = null;
    for (const details of [created, ...early]) this.record(details);
  }

  /**
   * @param home the session that has the pane of the event and does not answer; null: this one has it
   * @param isPrivatePane whether that session was private
   */
  record(details: EventDetails, home: AdoptingSession | null = null, isPrivatePane = false): void {
    if (this.early !== null) {
      if (this.early.length < BURST) this.early.push(details);
      return;
    }
    const skipped = limited.has(details.event) ? this.spend(`${details.event} ${details.pane ?? ""}`) : 0;
    if (skipped === null) return;
    const { session } = this;
    const isPrivate = session.isPrivate || isPrivatePane;
    const { event, ...fields } = isPrivate ? withoutWords(details) : details;
    const recorded: RecordedEvent = {
      event,
      at: Date.now(),
      session: session.name,
      session_id: session.id,
      tags: [...session.tags],
      ...(home === null ? {} : this.lastKnown(home)),
      ...(isPrivate ? { private: true } : {}),
      ...fields,
      ...(skipped > 0 ? { skipped } : {}),
      ...(noteworthy.has(event) && this.isWatched(details.pane) ? { watched: true } : {}),
    };
    if (noteworthy.has(event)) this.noticed(recorded);
    const on = this.hooks.hooksFor(recorded);
    if (on === null) this.journal.append(recorded);
    else this.hooks.wake(() => this.journal.append(on.length === 0 ? recorded : { ...recorded, on }));
  }

  /** A session whose process has died, as its own last event names it. */
  private lastKnown({ number, name }: AdoptingSession): Pick<RecordedEvent, "session" | "session_id" | "tags"> {
    const session_id = sessionId(number);
    const last = this.journal.lastOf(session_id);
    return { session: last?.session ?? name, session_id, tags: [...(last?.tags ?? [])] };
  }

  private isWatched(pane: string | undefined): boolean {
    return this.session.viewers.all.some(
      ({ focus, readOnly }) => pane !== undefined && !readOnly && focus.looksAt(pane),
    );
  }

  /** @returns how many were omitted before this one; null: this one is omitted too */
  private spend(key: string): number | null {
    const now = performance.now();
    const rate = this.rates.get(key) ?? { remaining: BURST, at: now, skipped: 0 };
    this.rates.set(key, rate);
    rate.remaining = Math.min(BURST, rate.remaining + ((now - rate.at) / 1000) * A_SECOND);
    rate.at = now;
    if (rate.remaining < 1) {
      rate.skipped++;
      return null;
    }
    rate.remaining--;
    const { skipped } = rate;
    rate.skipped = 0;
    return skipped;
  }
}

function withoutWords(details: EventDetails): EventDetails {
  const rest: Record<string, unknown> = { ...details };
  for (const field of reportedFields) delete rest[field];
  return rest as EventDetails;
}
