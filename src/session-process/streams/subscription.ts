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

/** Drawn elements are used unconverted from the store: read-only, unlike the wire's type. */
type DrawnElements = {
  readonly event: "overlay";
  readonly seq: number;
  readonly overlays: readonly Overlay[];
  readonly panels: readonly Panel[];
};
type SentEvent =
  | Exclude<SessionEvent, { event: "overlay" }>
  | DrawnElements
  | { readonly type: "lagged" | "input_lagged"; readonly skipped: number };

export class SessionSubscription {
  private readonly wants: ReadonlySet<EventName>;
  private readonly screen: ScreenReports;
  private readonly ends: (() => void)[] = [];
  private readonly decoder = new TextDecoder();
  private timer: Timer | null = null;
  private flushing = false;
  private isOver = false;
  private lastReport = Number.NEGATIVE_INFINITY;
  private seq = 0;
  private dirty = false;
  private areElementsDue = false;
  private chars = "";
  private charsSkipped = 0;
  /** The pending report of idle or running: only the newest. */
  private activity: readonly StateEvent[] = [];
  private queued: SentEvent[] = [];
  private inputSkipped = 0;
  private skipped = 0;

  private constructor(
    private readonly local: LocalPane,
    private readonly peer: Peer,
    private readonly options: Subscription,
  ) {
    this.wants = new Set(options.events);
    this.screen = new ScreenReports(local.pane.terminal, { wants: this.wants, format: options.format });
  }

  /** Begins between two chunks: calls `begun`, then sends the current state, then changes. */
  static async open(
    local: LocalPane,
    peer: Peer,
    options: Subscription,
    begun: () => void,
  ): Promise<SessionSubscription> {
    const subscription = new SessionSubscription(local, peer, options);
    await local.pane.terminal.whenAtRest(() => {
      begun();
      subscription.begin();
    });
    return subscription;
  }

  /** Events that cannot be merged are sent: another subscription may follow. */
  close(): void {
    if (this.isOver) return;
    const events: SentEvent[] = [];
    this.reportQueued(events);
    this.send(events);
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
    for (const end of this.ends) end();
  }

  /** The connection has sent everything: reports the changes since. */
  drained(): void {
    if (this.dirty) this.schedule();
  }

  /** The program has ended: reports its last screen and its exit, even to a reader that is too slow. */
  finish(exit: { readonly code: number | null; readonly signal: string | null }): void {
    if (this.isOver) return;
    this.report();
    this.send([{ event: "exited", seq: ++this.seq, exit_code: exit.code, signal: exit.signal }]);
    this.close();
  }

  private begin(): void {
    const { local, wants } = this;
    const { session, pane } = local;
    this.send([this.screen.begin()]);
    if (this.options.idle_timeout_ms > 0 && pane.exit === null) {
      this.ends.push(
        reportActivity(pane, this.options, {
          format: this.options.format,
          state: (events) => {
            this.activity = events;
            if (this.peer.outbox.pending > 0) this.dirty = true;
            else this.reportActivity();
          },
        }),
      );
    }
    const screenEvents = (["lines", "cursor", "mode", "diffs"] as const).some((name) => wants.has(name));
    if (screenEvents) this.ends.push(pane.events.on("chunk", () => this.changed()));
    if (wants.has("chars")) this.ends.push(pane.events.on("chunk", ({ bytes }) => this.printed(bytes)));
    this.ends.push(
      pane.events.on("reset", (reason) => {
        this.screen.reset(reason);
        this.changed();
      }),
    );
    if (wants.has("commands")) {
      const listener = pane.commands.log.on({
        started: (command) => this.enqueue({ event: "command_started", seq: 0, command }),
        finished: (command) => this.enqueue({ event: "command_finished", seq: 0, command }),
      });
      this.ends.push(() => listener[Symbol.dispose]());
    }
    if (wants.has("agent")) {
      const tell = (agent: AgentInfo | null): void =>
        this.enqueue({ event: "agent_state", seq: 0, pane_id: pane.id, agent });
      this.ends.push(pane.events.on("agent", tell));
      const { agent } = pane.info();
      if (agent !== undefined) tell(agent);
    }
    if (wants.has("input")) {
      this.ends.push(
        session.events.on("typed", ({ mode, raw, parsed, target, pane: typedIn }) => {
          if (typedIn !== pane.id) return;
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
    if (wants.has("overlay")) {
      this.ends.push(
        ...[session, local.ownSession].map(({ events }) =>
          events.on("drawn", () => {
            this.areElementsDue = true;
            this.changed();
          }),
        ),
      );
    }
  }

  private changed(): void {
    this.dirty = true;
    this.schedule();
  }

  private printed(bytes: Uint8Array): void {
    const text = this.decoder.decode(bytes, { stream: true });
    if (this.chars.length + text.length > MAX_QUEUED_CHARS) this.charsSkipped += text.length;
    else this.chars += text;
    this.changed();
  }

  private enqueue(event: SentEvent): void {
    // Events that cannot be merged do not wait for the interval.
    if (this.queued.length === 0 && this.timer !== null) {
      clearTimeout(this.timer);
      this.timer = null;
    }
    if (this.queued.length < MAX_QUEUED_EVENTS) this.queued.push(event);
    else if ("event" in event && event.event === "input") this.inputSkipped++;
    else this.skipped++;
    this.changed();
  }

  private schedule(): void {
    if (this.isOver || this.timer !== null || this.flushing || this.peer.outbox.pending > 0) return;
    const due = this.lastReport + this.options.interval_ms - performance.now();
    if (due <= 0 && this.queued.length === 0) void this.flush();
    else this.timer = setTimeout(() => void this.flush(), this.queued.length > 0 ? 0 : Math.ceil(due));
  }

  private async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.flushing = true;
    await this.local.pane.terminal.whenAtRest(() => {
      this.flushing = false;
      if (this.isOver || this.peer.outbox.pending > 0) return;
      this.report();
    });
  }

  /** All changes since the last report, in the order of docs/protocol.md, Events. Runs at most once per interval. */
  private report(): void {
    this.dirty = false;
    this.lastReport = performance.now();
    const events: SentEvent[] = [];
    this.reportQueued(events);
    events.push(...this.screen.news(() => ++this.seq));
    if (this.areElementsDue) {
      const { elements } = this.local.drawnSession;
      events.push({ event: "overlay", seq: ++this.seq, overlays: elements.overlays(), panels: elements.panels() });
      this.areElementsDue = false;
    }
    this.send(events);
    this.reportActivity();
  }

  private reportActivity(): void {
    this.send(this.activity);
    this.activity = [];
  }

  private reportQueued(events: SentEvent[]): void {
    for (const event of this.queued.splice(0)) events.push("seq" in event ? { ...event, seq: ++this.seq } : event);
    if (this.inputSkipped > 0) events.push({ type: "input_lagged", skipped: this.inputSkipped });
    if (this.skipped > 0) events.push({ type: "lagged", skipped: this.skipped });
    this.inputSkipped = 0;
    this.skipped = 0;
    if (this.chars !== "") events.push({ event: "chars", seq: ++this.seq, text: this.chars });
    this.chars = "";
    if (this.charsSkipped > 0) {
      events.push({ type: "lagged", skipped: this.charsSkipped }, this.screen.sync());
      this.charsSkipped = 0;
    }
  }

  private send(events: readonly SentEvent[]): void {
    this.peer.sendAll(messageTypes.event, events);
  }
}
