/**
 * Notices: messages to a person who is elsewhere, over the channels in `[[notify]]` tables of the settings
 * (docs/notices.md). Decides which events are worth one, and its text. Pure.
 */
import * as v from "valibot";
import { agentMessage } from "./agent.ts";
import { callerText } from "./caller.ts";
import { integerBetween } from "./fields.ts";
import { globMatches } from "./glob.ts";
import type { RecordedEvent } from "./recorded-events.ts";
import { roughDuration } from "./time-text.ts";

const noticeKinds = ["command", "agent", "question", "password", "notification"] as const;
type NoticeKind = (typeof noticeKinds)[number];

/** Maximum buttons of a notice: ntfy shows three. */
const MAX_ACTIONS = 3;
/** Longest text of a notice, in characters. */
const MAX_TEXT = 300;

const count = (most: number) => integerBetween(1, most);
const WebAddress = v.pipe(
  v.string(),
  v.regex(
    /^(https:\/\/[^\s/?#@]+|http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?)(\/\S*)?$/,
    "must be an https:// address, or an http:// address of this machine, without blanks",
  ),
);

const Fields = v.strictObject({
  way: v.picklist(["terminals", "command", "ntfy", "webhook"]),
  for: v.optional(v.pipe(v.array(v.picklist(noticeKinds)), v.minLength(1)), [...noticeKinds]),
  session: v.optional(v.string()),
  tag: v.optional(v.string()),
  /** Shortest duration of a command that is worth a notice. */
  min_seconds: v.optional(v.pipe(v.number(), v.minValue(0)), 30),
  /** Local time during which nobody is notified: `22:00-07:30`. */
  quiet: v.optional(
    v.pipe(v.string(), v.regex(/^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$/, "must have the form 22:00-07:30")),
  ),
  run: v.optional(v.pipe(v.array(v.string()), v.minLength(1))),
  url: v.optional(WebAddress),
  /** A file with the token for the address. */
  token_file: v.optional(v.pipe(v.string(), v.minLength(1))),
  a_minute: v.optional(count(600), 20),
});

export const NotifySchema = v.pipe(
  Fields,
  v.check(
    ({ way, run }) => (way === "command") === (run !== undefined),
    "'run' is required with way = \"command\" and allowed only there",
  ),
  v.check(
    ({ way, url }) => (way === "ntfy" || way === "webhook") === (url !== undefined),
    '\'url\' is required with way = "ntfy" or "webhook" and allowed only there',
  ),
);
export type Notify = v.InferOutput<typeof NotifySchema>;

export interface Notice {
  readonly kind: NoticeKind;
  readonly title: string;
  readonly text: string;
  /** Answers for the buttons, if the question can be answered with one of them. */
  readonly answers: readonly (string | boolean)[];
}

/** The notice for an event over a channel; null: none. */
export function noticeFor(notify: Notify, event: RecordedEvent): Notice | null {
  if (event.watched === true) return null;
  if (notify.session !== undefined && !globMatches(notify.session, event.session)) return null;
  if (notify.tag !== undefined && !event.tags.includes(notify.tag)) return null;
  const notice = noticeOf(event, notify.min_seconds);
  if (notice === null || !notify.for.includes(notice.kind)) return null;
  return notify.quiet !== undefined && isQuiet(notify.quiet, new Date(event.at)) ? null : notice;
}

/** Whether questions in a session are sent as notices now. */
export function takesQuestions(
  { for: kinds, session, tag, quiet }: Notify,
  about: { readonly name: string; readonly tags: readonly string[] },
): boolean {
  const isMeant = session === undefined || globMatches(session, about.name);
  const isTagged = tag === undefined || about.tags.includes(tag);
  return isMeant && isTagged && kinds.includes("question") && !(quiet !== undefined && isQuiet(quiet, new Date()));
}

function noticeOf(event: RecordedEvent, minSeconds: number): Notice | null {
  const { session } = event;
  switch (event.event) {
    case "command_finished": {
      const { duration_ms = null, exit_code = null, signal, command } = event;
      if (duration_ms === null || duration_ms < minSeconds * 1000) return null;
      const how = exit_code === 0 ? "done" : `failed (${exit_code ?? signal ?? "unknown"})`;
      return notice("command", `${session}: ${how}`, `${command || "a command"}, after ${roughDuration(duration_ms)}`);
    }
    case "agent_state": {
      const { agent } = event;
      if (agent == null || agent.source === "program") return null;
      if (agent.state !== "needs_input" && agent.state !== "done") return null;
      const how = agent.state === "done" ? "is done" : "needs you";
      return notice("agent", `${session}: ${agent.name} ${how}`, agent.message ?? "");
    }
    case "question_asked": {
      // A program that reads a password there causes a notice of its own.
      if (event.kind === "secret" && event.asked_by === "wsh") return null;
      const { kind, choices = [], question = "", asked_by = "a program" } = event;
      const answers = kind === "confirm" ? [true, false] : choices.slice(0, MAX_ACTIONS);
      const isWhole = kind === "confirm" || (choices.length > 0 && choices.length <= MAX_ACTIONS);
      return {
        ...notice("question", `${session}: ${callerText(asked_by)} asks`, question),
        answers: isWhole ? answers : [],
      };
    }
    case "state_changed":
      if (event.state !== "password" || event.driven !== true) return null;
      return notice(
        "password",
        `${session}: a program asks for a password`,
        "a program is waiting for it, and nobody is there",
      );
    case "session_ending":
      return notice("notification", `${session}: ends soon`, "nobody uses it: type there or attach to keep it");
    case "notification":
      return notice("notification", session, event.text ?? "");
    default:
      return null;
  }
}

function notice(kind: NoticeKind, title: string, text: string): Notice {
  return { kind, title: agentMessage(title), text: agentMessage(text).slice(0, MAX_TEXT), answers: [] };
}

const bare: Readonly<Record<NoticeKind, string>> = {
  command: "A command has ended",
  agent: "An agent needs you or is done",
  question: "A question is waiting for you",
  password: "A program asks for a password",
  notification: "A program sent a notification",
};

/** The notice without names, programs' texts, and answers. */
export function bareNotice({ kind }: Notice): Notice {
  return { kind, title: "wsh", text: bare[kind], answers: [] };
}

function isQuiet(hours: string, time: Date): boolean {
  const [from = "", to = ""] = hours.split("-");
  const now = `${String(time.getHours()).padStart(2, "0")}:${String(time.getMinutes()).padStart(2, "0")}`;
  return from <= to ? from <= now && now < to : from <= now || now < to;
}
