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
const MAX_BURST = 40;
const EVENTS_PER_SECOND = 10;

/** Kinds that a program's output or a drag with the mouse can cause. */
const rateLimitedEvents: ReadonlySet<RecordedEventName> = new Set([
  "bell",
  "notification",
  "title_changed",
  "client_resized",
  "session_resized",
  "layout_changed",
]);

/** Events that may be worth a notice to a person who is elsewhere. */
const noteworthyEvents: ReadonlySet<RecordedEventName> = new Set([
  "command_finished",
  "state_changed",
  "agent_state",
  "notification",
  "question_asked",
  "session_ending",
]);

/** Fields that may reveal the contents of a private session. */
const contentFields = ["command", "cwd", "text", "title", "question", "choices", "agent", "program"] as const;

export class Recorder {
  /** Events before the session is created: none is written if that fails. */
  private earlyEvents: EventDetails[] | null = [];
  private readonly rates = new Map<string, { remaining: number; at: number; skipped: number }>();

  constructor(
    private readonly session: Pick<Session, "name" | "id" | "tags" | "isPrivate" | "viewers">,
    private readonly journal: Pick<EventJournal, "append" | "lastOf">,
    private readonly hooks: Pick<HookWaker, "hooksFor" | "wake">,
    /** An event that may be worth a notice at attached terminals. */
    private readonly notify: (event: RecordedEvent) => void,
  ) {}

  /** Begins to write: the session has been created. */
  begin(created: EventDetails): void {
    const earlyEvents = this.earlyEvents ?? [];
    this.earlyEvents = null;
    for (const details of [created, ...earlyEvents]) this.record(details);
  }

  /**
   * @param adoptedBy the session that has adopted the event's pane and does not answer; null: the pane is this
   * session's
   * @param isPrivatePane whether that session was private
   */
  record(details: EventDetails, adoptedBy: AdoptingSession | null = null, isPrivatePane = false): void {
    if (this.earlyEvents !== null) {
      if (this.earlyEvents.length < MAX_BURST) this.earlyEvents.push(details);
      return;
    }
    const skipped = rateLimitedEvents.has(details.event)
      ? this.countEvent(`${details.event} ${details.pane ?? ""}`)
      : 0;
    if (skipped === null) return;
    const { session } = this;
    const isPrivate = session.isPrivate || isPrivatePane;
    const { event, ...fields } = isPrivate ? withoutContent(details) : details;
    const recorded: RecordedEvent = {
      event,
      at: Date.now(),
      session: session.name,
      session_id: session.id,
      tags: [...session.tags],
      ...(adoptedBy === null ? {} : this.lastKnownSession(adoptedBy)),
      ...(isPrivate ? { private: true } : {}),
      ...fields,
      ...(skipped > 0 ? { skipped } : {}),
      ...(noteworthyEvents.has(event) && this.isWatched(details.pane) ? { watched: true } : {}),
    };
    if (noteworthyEvents.has(event)) this.notify(recorded);
    const on = this.hooks.hooksFor(recorded);
    if (on === null) this.journal.append(recorded);
    else this.hooks.wake(() => this.journal.append(on.length === 0 ? recorded : { ...recorded, on }));
  }

  /** Name and tags of a session whose process has died, from its own last event. */
  private lastKnownSession({ number, name }: AdoptingSession): Pick<RecordedEvent, "session" | "session_id" | "tags"> {
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
  private countEvent(key: string): number | null {
    const now = performance.now();
    const rate = this.rates.get(key) ?? { remaining: MAX_BURST, at: now, skipped: 0 };
    this.rates.set(key, rate);
    rate.remaining = Math.min(MAX_BURST, rate.remaining + ((now - rate.at) / 1000) * EVENTS_PER_SECOND);
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

function withoutContent(details: EventDetails): EventDetails {
  const rest: Record<string, unknown> = { ...details };
  for (const field of contentFields) delete rest[field];
  return rest as EventDetails;
}
