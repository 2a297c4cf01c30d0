/** A notice of another session, for the person's terminals at this one. */
import * as v from "valibot";
import { attentionFor } from "../protocol/attention.ts";
import type { Session } from "../session/session.ts";

const NoticeSchema = v.object({ text: v.string() });

/** Callers with a token, and pages, are not the person at a terminal of this account. */
export function showNotice({ viewers }: Pick<Session, "viewers">, input: unknown): object {
  const { text } = v.parse(NoticeSchema, input);
  for (const viewer of viewers.all) {
    const { only, via } = viewer.acting.caller;
    if (only === undefined && via === undefined && viewer.page === null)
      viewer.alert(attentionFor(viewer.notifications.notifies, "", text));
  }
  return {};
}
