/** Selects the events that a reader wants, and waits for the first of them. */
import { type Concealment, recordSeen } from "../protocol/concealed.ts";
import { normalName } from "../protocol/names.ts";
import type { EventsPage, RecordedEvent, RecordedEventName } from "../protocol/recorded-events.ts";
import { EventReader, watchEvents } from "./reader.ts";

interface Selection {
  readonly type: readonly RecordedEventName[];
  /** Names or ids; empty: all. */
  readonly session: readonly string[];
  readonly tag: readonly string[];
}

export function isSelected({ type, session, tag }: Selection, event: RecordedEvent): boolean {
  return (
    (type.length === 0 || type.includes(event.event)) &&
    (session.length === 0 ||
      session.includes(event.session) ||
      session.includes(event.session_id) ||
      (event.old_name !== undefined && session.includes(event.old_name))) &&
    (tag.length === 0 || event.tags.some((each) => tag.includes(each)))
  );
}

interface ReadOptions extends Selection {
  readonly since: string;
  readonly wait_ms: number;
  readonly limit: number;
  /** Id of the only session of which the caller may learn. */
  readonly only?: string | undefined;
  /** Limits on events for the AI agent that reads; absent: the reader is not an agent. */
  readonly concealment?: Concealment | null;
}

/** @throws WshError invalid_request: invalid cursor */
export async function readEvents(directory: string, options: ReadOptions, signal: AbortSignal): Promise<EventsPage> {
  const session = options.session.map(normalName);
  const reader = new EventReader(directory, options.since);
  const { concealment = null } = options;
  const isWanted = (event: RecordedEvent): boolean => {
    if (options.only !== undefined && event.session_id !== options.only) return false;
    // A match would tell what is concealed.
    const seen = recordSeen(event, concealment);
    return seen !== null && isSelected({ ...options, session }, seen);
  };
  const page = (events: ReturnType<EventReader["read"]>["events"]) => pageOf(reader, events, concealment);
  const deadline = performance.now() + options.wait_ms;
  for (;;) {
    // Watching begins before reading, so that no event is missed between the two.
    const grown = Promise.withResolvers<void>();
    using _watch = watchEvents(directory, grown.resolve);
    for (let more = true; more; ) {
      const found = reader.read(options.limit, isWanted);
      if (found.events.length > 0) return page(found.events);
      more = found.more;
      // Lets requests of others run in between.
      if (more) await Bun.sleep(0);
    }
    const rest = deadline - performance.now();
    if (rest <= 0 || signal.aborted || reader.missed) return page([]);
    await orEnded(grown.promise, rest, signal);
  }
}

function pageOf(
  reader: EventReader,
  events: ReturnType<EventReader["read"]>["events"],
  concealment: Concealment | null,
): EventsPage {
  return {
    events: events.map(({ event: { on: _, ...event }, cursor }) => ({
      ...(recordSeen(event, concealment) ?? event),
      cursor,
    })),
    cursor: reader.cursor,
    ...(reader.missed ? { missed: true as const } : {}),
  };
}

function orEnded(grown: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    void grown.then(end);
  });
}
