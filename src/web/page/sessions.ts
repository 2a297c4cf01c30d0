/**
 * What the page knows of sessions: the list, each one's newest command, pending questions. Fed by the control socket;
 * the list is requested again after changes, at most as often as a person can see.
 */
import { computed, signal } from "@preact/signals";
import { activePane } from "../../protocol/active-pane.ts";
import type { PendingQuestion } from "../../protocol/asking.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import type { ControlEvent, ControlSocket } from "../connection/control-socket.ts";
import { Refusal } from "../connection/server.ts";

/** Interval between two lists while things change, in ms. */
const LIST_MS = 250;
/** Interval between lists without events, in ms: states of programs change without an event. */
const REFRESH_MS = 2_000;
/** Sessions whose state is requested at once: the server queues 256 requests per connection and refuses others. */
const FOLLOW_BATCH = 32;
/** Retries for a session that does not report its questions or commands: one of another version never will. */
const MAX_FAILURES = 5;

export const sessions = signal<readonly SessionInfo[]>([]);
export const isListed = signal(false);
/** Newest command by pane. */
export const lastCommands = signal<ReadonlyMap<string, CommandRecord>>(new Map());
/** Pending questions, by session id. */
export const questions = signal<ReadonlyMap<string, readonly PendingQuestion[]>>(new Map());

export const byName = computed(() =>
  sessions.value.toSorted((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true })),
);

/** Number of sessions that wait for a person: with a question, or with an agent that needs input. */
export const waitingForPerson = computed(
  () => sessions.value.filter(({ id, agent }) => questions.value.has(id) || agent?.state === "needs_input").length,
);

export type SessionUpdate =
  | { readonly kind: "command" | "followed" | "agent"; readonly session: SessionInfo }
  | { readonly kind: "question"; readonly session: SessionInfo; readonly question: PendingQuestion }
  | { readonly kind: "gone"; readonly session: SessionInfo; readonly reason: string };

export class SessionList {
  private timer: ReturnType<typeof setTimeout> | null = null;
  private refresh: ReturnType<typeof setInterval> | null = null;
  /** The pane by session whose commands are followed: its active one, which the list shows. */
  private readonly followedPanes = new Map<string, string>();
  private isListing = false;
  /** Whether something changed while the list was requested: its answer may be older. */
  private isStale = false;
  /** Failed requests for a session's questions or commands, by its id. */
  private readonly failures = new Map<string, number>();
  private lastText = "";

  constructor(
    private readonly control: ControlSocket,
    private readonly notify: (what: SessionUpdate) => void,
  ) {
    document.addEventListener("visibilitychange", () => this.pace());
  }

  connected(): void {
    this.resubscribe();
    this.pace();
  }

  /** Drops all subscriptions: the next list requests everything. */
  private resubscribe(): void {
    this.followedPanes.clear();
    this.failures.clear();
    this.scheduleList(0);
  }

  disconnected(): void {
    if (this.refresh !== null) clearInterval(this.refresh);
    this.refresh = null;
  }

  event(event: ControlEvent): void {
    if (event.type === "lagged") {
      // The server omitted events because this page was too slow.
      this.resubscribe();
      return;
    }
    const session = sessionIn(event);
    if (session === null) {
      this.commandEvent(event);
      return;
    }
    switch (event.event) {
      case "session_created":
        // The session restarted: earlier subscriptions have ended.
        this.followedPanes.delete(session.id);
        break;
      case "session_destroyed":
        this.followedPanes.delete(session.id);
        this.notify({ kind: "gone", session, reason: String(Object(event.params).reason) });
        break;
      case "agent_state":
        this.notify({ kind: "agent", session });
        break;
      case "questions_changed":
        void this.askQuestions(session).catch((thrown) => this.retryLater(session, thrown));
        break;
      default:
    }
    this.scheduleList(LIST_MS);
  }

  scheduleList(ms = LIST_MS): void {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      void this.requestList();
    }, ms);
  }

  private pace(): void {
    if (this.refresh !== null) clearInterval(this.refresh);
    this.refresh = document.hidden ? null : setInterval(() => this.scheduleList(0), REFRESH_MS);
    if (!document.hidden) this.scheduleList(0);
  }

  private async requestList(): Promise<void> {
    if (!this.control.isOpen) return;
    if (this.isListing) {
      this.isStale = true;
      return;
    }
    this.isListing = true;
    this.isStale = false;
    try {
      const listed = await this.control.call<readonly SessionInfo[]>("list_sessions");
      const text = JSON.stringify(listed.map(({ idle_ms, last_activity_ms, ...rest }) => rest));
      if (text !== this.lastText) sessions.value = listed;
      this.lastText = text;
      isListed.value = true;
      this.forgetQuestions(listed);
      for (let index = 0; index < listed.length; index += FOLLOW_BATCH) {
        await Promise.all(listed.slice(index, index + FOLLOW_BATCH).map((session) => this.followCommandsOf(session)));
      }
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      // Further requests follow only after reported changes. A lost connection requests the list when it is restored.
      if (this.control.isOpen) this.scheduleList(REFRESH_MS);
    } finally {
      this.isListing = false;
      if (this.isStale) this.scheduleList();
    }
  }

  /** Subscribes to a session's events, and requests its current state. */
  private async followCommandsOf(session: SessionInfo): Promise<void> {
    const { id } = session;
    const pane = activePane(session)?.id ?? session.pane_id;
    if (this.followedPanes.get(id) === pane) return;
    this.followedPanes.set(id, pane);
    try {
      await Promise.all([this.followCommands(pane), this.askQuestions(session)]);
      this.failures.delete(id);
    } catch (thrown) {
      this.retryLater(session, thrown);
    }
    // Before the connection existed, requests of the session's tiles failed; before the list came, events
    // reached no tile.
    this.notify({ kind: "followed", session });
  }

  private async followCommands(pane: string): Promise<void> {
    const known = lastCommands.peek().get(pane);
    await this.control.call("subscribe", { events: ["commands"] }, pane);
    const [setLastCommand] = await this.control.call<readonly CommandRecord[]>("list_commands", { limit: 1 }, pane);
    // An event may overtake the answer, which is then older.
    if (setLastCommand !== undefined && lastCommands.peek().get(pane) === known) this.newest(pane, setLastCommand);
  }

  /** Requests a session's pending questions and reports the new ones. */
  private async askQuestions(session: SessionInfo): Promise<void> {
    const { id } = session;
    const own = await this.control.call<readonly PendingQuestion[]>("list_asks", {}, id);
    const known = questions.peek().get(id) ?? [];
    if (own.length === 0 && known.length === 0) return;
    const all = new Map(questions.peek());
    if (own.length === 0) all.delete(id);
    else all.set(id, own);
    questions.value = all;
    for (const question of own) {
      if (!known.some(({ ask_id }) => ask_id === question.ask_id)) this.notify({ kind: "question", session, question });
    }
  }

  /**
   * Keeps the known questions and commands after a failed request; the next list retries, up to MAX_FAILURES times.
   */
  private retryLater({ id }: SessionInfo, thrown: unknown): void {
    if (!(thrown instanceof Refusal)) throw thrown;
    const failures = (this.failures.get(id) ?? 0) + 1;
    this.failures.set(id, failures);
    if (failures > MAX_FAILURES || !this.control.isOpen) return;
    this.followedPanes.delete(id);
    this.scheduleList(REFRESH_MS);
  }

  private forgetQuestions(listed: readonly SessionInfo[]): void {
    const ids = new Set(listed.map(({ id }) => id));
    const left = [...questions.peek()].filter(([id]) => ids.has(id));
    if (left.length < questions.peek().size) questions.value = new Map(left);
  }

  private commandEvent({ event, session: name, pane, command }: ControlEvent): void {
    if (event !== "command_started" && event !== "command_finished") return;
    const session = sessions.peek().find((each) => each.name === name);
    if (session === undefined) return;
    // The server's own record, which matches its schema.
    this.newest(String(pane), command as CommandRecord);
    this.notify({ kind: "command", session });
    if (!document.hidden) this.scheduleList();
  }

  private newest(pane: string, command: CommandRecord): void {
    lastCommands.value = new Map(lastCommands.value).set(pane, command);
  }
}

function sessionIn({ params }: ControlEvent): SessionInfo | null {
  if (typeof params !== "object" || params === null || !("session" in params)) return null;
  const { session } = params;
  return typeof session === "object" && session !== null && "id" in session ? (session as SessionInfo) : null;
}
