/**
 * Notifies the person's terminals, attached to this session or to another one of the instance, each in the form
 * that it supports (OSC 9, 777 or 99), according to `[[notify]]` tables with the channel `terminals`. A terminal
 * of this session gets no notice of an event that it learns of in another way: by the older settings `alert` and
 * `agent_alert`, or by the program's own sequence, which every terminal gets.
 */
import type { Instance } from "../../instance/paths.ts";
import type { Logger } from "../../log/log.ts";
import { attentionFor } from "../../protocol/attention.ts";
import { bareNotice, type Notice, type Notify, noticeFor } from "../../protocol/notices.ts";
import type { RecordedEvent } from "../../protocol/recorded-events.ts";
import { listSessions } from "../../registry/registry.ts";
import type { Session } from "../../session/session.ts";
import type { Settings } from "../../settings/table.ts";
import { Connection } from "../../wire/connection.ts";

const MINUTE_MS = 60_000;
/** Longest wait for another session's process, in ms. */
const MAX_ANSWER_MS = 2_000;
/** Maximum notices on their way to other sessions: further ones are dropped. */
const MAX_PENDING = 16;

const context = { caller: { kind: "cli", id: `notice:${process.pid}`, connected: true }, access: "admin" } as const;

interface TerminalNoticesPort {
  readonly instance: Instance;
  readonly logger: Pick<Logger, "warn">;
  readonly session: Pick<Session, "viewers" | "id">;
  readonly settings: Pick<Settings, "alert" | "alert_for" | "agent_alert" | "notify_text">;
  notices(): readonly Notify[];
}

export class TerminalNotices {
  /** Times of the notices of the last minute, by table, in ms. */
  private readonly recentTimes = new WeakMap<Notify, number[]>();
  private pendingCount = 0;

  constructor(private readonly port: TerminalNoticesPort) {}

  handleEvent(event: RecordedEvent): void {
    const { settings, session, notices } = this.port;
    for (const notify of notices()) {
      const notice = notify.way === "terminals" ? noticeFor(notify, event) : null;
      if (notice === null) continue;
      if (!this.countNotice(notify)) return;
      const { title, text } = settings.notify_text === "none" ? bareNotice(notice) : notice;
      const noticeText = text === "" ? title : `${title}: ${text}`;
      for (const viewer of isReportedOtherwise(notice, settings) ? [] : session.viewers.all) {
        const { focus, notifications } = viewer;
        const { notifies, shows } = notifications;
        const isShownByTerminal = event.form !== undefined && shows.includes(event.form);
        if (!isShownByTerminal && !focus.looksAt(event.pane ?? ""))
          viewer.alert(attentionFor(notifies, "", noticeText));
      }
      void this.notifyOtherSessions(noticeText);
      return;
    }
  }

  /** @returns whether the table allows another notice now */
  private countNotice(notify: Notify): boolean {
    const now = performance.now();
    const times = (this.recentTimes.get(notify) ?? []).filter((at) => at > now - MINUTE_MS);
    const isAllowed = times.length < notify.a_minute;
    this.recentTimes.set(notify, isAllowed ? [...times, now] : times);
    return isAllowed;
  }

  /** Never rejects: a session that does not answer, or of another version, shows nothing. */
  private async notifyOtherSessions(text: string): Promise<void> {
    if (this.pendingCount >= MAX_PENDING) return;
    this.pendingCount++;
    const { instance, session, logger } = this.port;
    try {
      const otherSessions = listSessions(instance).filter((each) => !each.ended && `@s${each.session}` !== session.id);
      await Promise.all(otherSessions.map(({ socket }) => sendNotice(socket, text).catch(() => {})));
    } catch (error) {
      logger.warn("a notice reaches no terminal of other sessions: they cannot be listed", { error });
    } finally {
      this.pendingCount--;
    }
  }
}

async function sendNotice(socket: string, text: string): Promise<void> {
  const { connection, hello } = await Connection.open(socket, "cli", {}, MAX_ANSWER_MS);
  const timer = setTimeout(() => connection.close(), MAX_ANSWER_MS);
  try {
    if ((hello.info?.attached ?? 0) > 0) await connection.request("peer.notice", { text }, context);
  } finally {
    clearTimeout(timer);
    connection.close();
  }
}

function isReportedOtherwise(
  { kind }: Notice,
  { alert, alert_for, agent_alert }: TerminalNoticesPort["settings"],
): boolean {
  if (kind === "agent") return agent_alert !== "off";
  return kind === "command" && alert !== "off" && alert_for.includes("finished");
}
