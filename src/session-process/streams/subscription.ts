/**
 * One client's subscription to a session: reports changes, at most once per interval, and never more than the client
 * reads. While its connection still holds bytes of the last report nothing is added: changes only mark stale parts, and
 * the next report carries the newest state of each row, so a slow reader gets fewer reports and never a stale one after
 * a fresh one. Events that cannot be merged (keys, commands, text) wait in a queue of fixed length; beyond that, the
 * client gets the number of missed ones. The first report and the start of the subscription are one step between two
 * chunks.
 */
import type { AgentInfo } from "../../protocol/agent.ts";
import { defined } from "../../protocol/defined.ts";
import type { Overlay, Panel } from "../../protocol/drawing.ts";
import { type EventName, MAX_QUEUED_EVENTS, type SessionEvent, type Subscription } from "../../protocol/events.ts";
import { messageTypes } from "../../protocol/messages.ts";
import type { Peer } from "../../wire/peer.ts";
import type { LocalPane } from "../panes/local-pane.ts";
import { reportActivity, type StateEvent } from "./activity-reports.ts";
import { ScreenReports } from "./screen-reports.ts";

/** Maximum characters of `chars` pending for a report; further ones are dropped and counted. */
const MAX_QUEUED_CHARS = 256 * 1024;

/** The elements come unconverted from the store: read-only, unlike the wire's type. */
type OverlayEvent = {
  readonly event: "overlay";
  readonly seq: number;
  readonly overlays: readonly Overlay[];
  readonly panels: readonly Panel[];
};
type SentEvent =
  | Exclude<SessionEvent, { event: "overlay" }>
  | OverlayEvent
  | { readonly type: "lagged" | "input_lagged"; readonly skipped: number };

export class SessionSubscription {
  private readonly wantedEvents: ReadonlySet<EventName>;
  private readonly screenReports: ScreenReports;
  private readonly unsubscribers: (() => void)[] = [];
  private readonly decoder = new TextDecoder();
  private timer: Timer | null = null;
  private isFlushing = false;
  private isOver = false;
  private lastReportAt = Number.NEGATIVE_INFINITY;
  private seq = 0;
  private isDirty = false;
  private areElementsDue = false;
  private queuedChars = "";
  private skippedChars = 0;
  /** The pending report of idle or running: only the newest. */
  private pendingActivity: readonly StateEvent[] = [];
  private queuedEvents: SentEvent[] = [];
  private skippedInputs = 0;
  private skippedEvents = 0;

  private constructor(
    private readonly local: LocalPane,
    private readonly peer: Peer,
    private readonly options: Subscription,
  ) {
    this.wantedEvents = new Set(options.events);
    this.screenReports = new ScreenReports(local.pane.terminal, {
      wantedEvents: this.wantedEvents,
      format: options.format,
    });
  }

  /** Begins between two chunks: calls `begun`, then sends the current state, then changes. */
  static async open(
    local: LocalPane,
    peer: Peer,
    options: Subscription,
    onBegun: () => void,
  ): Promise<SessionSubscription> {
    const subscription = new SessionSubscription(local, peer, options);
    await local.pane.terminal.whenAtRest(() => {
      onBegun();
      subscription.begin();
    });
    return subscription;
  }

  /** Events that cannot be merged are sent: another subscription may follow. */
  close(): void {
    if (this.isOver) return;
    const events: SentEvent[] = [];
    this.takeQueued(events);
    this.send(events);
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
    for (const unsubscribe of this.unsubscribers) unsubscribe();
  }

  /** The connection has sent everything: reports the changes since. */
  drained(): void {
    if (this.isDirty) this.schedule();
  }

  /** The program has ended: reports its last screen and its exit, even to a reader that is too slow. */
  finish(exit: { readonly code: number | null; readonly signal: string | null }): void {
    if (this.isOver) return;
    this.report();
    this.send([{ event: "exited", seq: ++this.seq, exit_code: exit.code, signal: exit.signal }]);
    this.close();
  }

  private begin(): void {
    const { local, wantedEvents } = this;
    const { session, pane } = local;
    this.send([this.screenReports.beginSync()]);
    if (this.options.idle_timeout_ms > 0 && pane.exit === null) {
      this.unsubscribers.push(
        reportActivity(pane, this.options, {
          format: this.options.format,
          stateChanged: (events) => {
            this.pendingActivity = events;
            if (this.peer.outbox.pending > 0) this.isDirty = true;
            else this.reportActivity();
          },
        }),
      );
    }
    const wantsScreenEvents = (["lines", "cursor", "mode", "diffs"] as const).some((name) => wantedEvents.has(name));
    if (wantsScreenEvents) this.unsubscribers.push(pane.events.on("chunk", () => this.markDirty()));
    if (wantedEvents.has("chars")) this.unsubscribers.push(pane.events.on("chunk", ({ bytes }) => this.printed(bytes)));
    this.unsubscribers.push(
      pane.events.on("reset", (reason) => {
        this.screenReports.reset(reason);
        this.markDirty();
      }),
    );
    if (wantedEvents.has("commands")) {
      const listener = pane.commands.log.on({
        started: (command) => this.enqueue({ event: "command_started", seq: 0, command }),
        finished: (command) => this.enqueue({ event: "command_finished", seq: 0, command }),
      });
      this.unsubscribers.push(() => listener[Symbol.dispose]());
    }
    if (wantedEvents.has("agent")) {
      const enqueueAgent = (agent: AgentInfo | null): void =>
        this.enqueue({ event: "agent_state", seq: 0, pane_id: pane.id, agent });
      this.unsubscribers.push(pane.events.on("agent", enqueueAgent));
      const { agent } = pane.info();
      if (agent !== undefined) enqueueAgent(agent);
    }
    if (wantedEvents.has("input")) {
      this.unsubscribers.push(
        session.events.on("typed", ({ mode, raw, parsed, target, pane: typedPane }) => {
          if (typedPane !== pane.id) return;
          this.enqueue({
            event: "input",
            mode,
            raw: [...raw],
            parsed: parsed === null ? null : { key: parsed.key, modifiers: [...parsed.modifiers] },
            ...defined({ target }),
          });
        }),
        session.events.on("inputMode", (mode) => this.enqueue({ event: "mode", mode })),
      );
    }
    if (wantedEvents.has("overlay")) {
      this.unsubscribers.push(
        ...[session, local.ownSession].map(({ events }) =>
          events.on("drawn", () => {
            this.areElementsDue = true;
            this.markDirty();
          }),
        ),
      );
    }
  }

  private markDirty(): void {
    this.isDirty = true;
    this.schedule();
  }

  private printed(bytes: Uint8Array): void {
    const text = this.decoder.decode(bytes, { stream: true });
    if (this.queuedChars.length + text.length > MAX_QUEUED_CHARS) this.skippedChars += text.length;
    else this.queuedChars += text;
    this.markDirty();
  }

  private enqueue(event: SentEvent): void {
    // Events that cannot be merged do not wait for the interval.
    if (this.queuedEvents.length === 0 && this.timer !== null) {
      clearTimeout(this.timer);
      this.timer = null;
    }
    if (this.queuedEvents.length < MAX_QUEUED_EVENTS) this.queuedEvents.push(event);
    else if ("event" in event && event.event === "input") this.skippedInputs++;
    else this.skippedEvents++;
    this.markDirty();
  }

  private schedule(): void {
    if (this.isOver || this.timer !== null || this.isFlushing || this.peer.outbox.pending > 0) return;
    const due = this.lastReportAt + this.options.interval_ms - performance.now();
    if (due <= 0 && this.queuedEvents.length === 0) void this.flush();
    else this.timer = setTimeout(() => void this.flush(), this.queuedEvents.length > 0 ? 0 : Math.ceil(due));
  }

  private async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.isFlushing = true;
    await this.local.pane.terminal.whenAtRest(() => {
      this.isFlushing = false;
      if (this.isOver || this.peer.outbox.pending > 0) return;
      this.report();
    });
  }

  /** All changes since the last report, in the order of docs/protocol.md, Events. Runs at most once per interval. */
  private report(): void {
    this.isDirty = false;
    this.lastReportAt = performance.now();
    const events: SentEvent[] = [];
    this.takeQueued(events);
    events.push(...this.screenReports.takeChanges(() => ++this.seq));
    if (this.areElementsDue) {
      const { elements } = this.local.drawnSession;
      events.push({ event: "overlay", seq: ++this.seq, overlays: elements.overlays(), panels: elements.panels() });
      this.areElementsDue = false;
    }
    this.send(events);
    this.reportActivity();
  }

  private reportActivity(): void {
    this.send(this.pendingActivity);
    this.pendingActivity = [];
  }

  private takeQueued(events: SentEvent[]): void {
    for (const event of this.queuedEvents.splice(0))
      events.push("seq" in event ? { ...event, seq: ++this.seq } : event);
    if (this.skippedInputs > 0) events.push({ type: "input_lagged", skipped: this.skippedInputs });
    if (this.skippedEvents > 0) events.push({ type: "lagged", skipped: this.skippedEvents });
    this.skippedInputs = 0;
    this.skippedEvents = 0;
    if (this.queuedChars !== "") events.push({ event: "chars", seq: ++this.seq, text: this.queuedChars });
    this.queuedChars = "";
    if (this.skippedChars > 0) {
      events.push({ type: "lagged", skipped: this.skippedChars }, this.screenReports.sync());
      this.skippedChars = 0;
    }
  }

  private send(events: readonly SentEvent[]): void {
    this.peer.sendAll(messageTypes.event, events);
  }
}
