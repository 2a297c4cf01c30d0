/**
 * Notifies attached terminals, each in the form that it supports (OSC 9, 777 or 99), according to `[[notify]]` tables
 * with the channel `terminals`. Events that the older settings `alert` and `agent_alert` report are not reported twice.
 */
import { attentionFor } from "../../protocol/attention.ts";
import { bareNotice, type Notice, type Notify, noticeFor } from "../../protocol/notices.ts";
import type { RecordedEvent } from "../../protocol/recorded-events.ts";
import type { Session } from "../../session/session.ts";
import type { Settings } from "../../settings/table.ts";

interface TerminalNoticesPort {
  readonly session: Pick<Session, "viewers">;
  readonly settings: Pick<Settings, "alert" | "alert_for" | "agent_alert" | "notify_text">;
  notices(): readonly Notify[];
}

export function notifyTerminals(event: RecordedEvent, { session, settings, notices }: TerminalNoticesPort): void {
  for (const notify of notices()) {
    const notice = notify.way === "terminals" ? noticeFor(notify, event) : null;
    if (notice === null || isTold(notice, settings)) continue;
    const { title, text } = settings.notify_text === "none" ? bareNotice(notice) : notice;
    const words = text === "" ? title : `${title}: ${text}`;
    for (const viewer of session.viewers.all)
      if (!viewer.focus.looksAt(event.pane ?? "")) viewer.alert(attentionFor(viewer.notifies, "", words));
    return;
  }
}

function isTold({ kind }: Notice, { alert, alert_for, agent_alert }: TerminalNoticesPort["settings"]): boolean {
  if (kind === "agent") return agent_alert !== "off";
  return kind === "command" && alert !== "off" && alert_for.includes("finished");
}
