/**
 * `wsh history --agent`: the conversations of AI agents in running, crashed and ended sessions, and the messages of
 * their transcripts. Running sessions, checkpoints and the journal of events list the conversations; the agents' own
 * files hold the messages.
 */
import { listRestorable } from "../../checkpoints/find-crashed.ts";
import { eventsDir } from "../../events/segments.ts";
import { readEvents } from "../../events/selection.ts";
import type { Instance } from "../../instance/paths.ts";
import { readTranscript, type TranscriptMessage } from "../../pane/agent/transcript.ts";
import type { Conversation } from "../../protocol/agent.ts";
import { visibleCell, visibleLines } from "../../protocol/harmless-text.ts";
import { UsageError } from "../arguments.ts";
import { complain, print, printJson, printText, shorten, table } from "../print.ts";
import { localConcealment } from "../session/concealed.ts";
import { findAll } from "../session/session-list.ts";
import { formatAge } from "./columns.ts";

/** Events read at once. */
const PAGE = 1_000;
/** Default limit of messages found by words. */
const DEFAULT_LIMIT = 20;
/** Cells of a title, and of a found message. */
const TITLE_CELLS = 48;
const MESSAGE_CELLS = 160;

interface ConversationEntry {
  readonly session: string;
  readonly pane_id: string;
  readonly agent: string;
  readonly conversation: Conversation;
}

interface TalkOptions {
  readonly session?: string;
  readonly limit?: number;
  readonly json?: boolean;
}

/** @throws UsageError for a session without a conversation */
export async function showConversations(
  instance: Instance,
  words: readonly string[],
  { session, limit, json = false }: TalkOptions,
): Promise<void> {
  const all = await findConversations(instance);
  const conversations = all.filter((talk) => session === undefined || isOf(talk, session));
  if (session !== undefined && conversations.length === 0)
    throw new UsageError(`no conversation of an agent in '${session}'`);
  if (words.length === 0 && session === undefined) return list(conversations, json);
  const read = conversations.flatMap((talk) => {
    const { transcript } = talk.conversation;
    const contents = transcript === undefined ? null : readTranscript(transcript);
    if (contents === null && session !== undefined) complain(unread(talk));
    return contents === null ? [] : [{ ...talk, ...contents }];
  });
  const matching = read.map((talk) => ({
    ...talk,
    messages: talk.messages.filter((message) => hasWords(message, words)),
  }));
  const most = limit ?? (words.length === 0 ? Number.POSITIVE_INFINITY : DEFAULT_LIMIT);
  const cut = matching.map((talk) => ({ ...talk, messages: talk.messages.slice(-most) }));
  const nonEmpty = cut.filter(({ messages }) => messages.length > 0);
  if (json) return printJson({ conversations: nonEmpty });
  if (nonEmpty.length === 0) return printText("No messages.\n");
  if (words.length === 0) return print(nonEmpty.map(({ messages }) => messages.map(fullMessage).join("\n")).join("\n"));
  const rows = nonEmpty.flatMap((talk) => talk.messages.map((message) => matchLines(talk, message)));
  return print(table([["WHEN", "SESSION", "AGENT", "WHO", "TEXT"], ...rows.slice(-most)]));
}

/** Sorted with the newest last. */
async function findConversations(instance: Instance): Promise<ConversationEntry[]> {
  const conversations = new Map<string, ConversationEntry>();
  const add = (talk: ConversationEntry): void => void conversations.set(`${talk.agent} ${talk.conversation.id}`, talk);
  const signal = new AbortController().signal;
  const concealment = await localConcealment(instance);
  const query = { type: ["agent_state" as const], session: [], tag: [], limit: PAGE, wait_ms: 0, concealment };
  for (let since = "start"; ; ) {
    const page = await readEvents(eventsDir(instance), { ...query, since }, signal);
    for (const { session, pane, agent } of page.events) {
      if (agent?.conversation !== undefined && pane !== undefined)
        add({ session, pane_id: pane, agent: agent.name, conversation: agent.conversation });
    }
    if (page.cursor === since || page.events.length === 0) break;
    since = page.cursor;
  }
  for (const { session, panes } of listRestorable(instance)) {
    for (const { pane, foreground } of panes) {
      const { agent = null, conversation } = foreground ?? {};
      if (agent !== null && conversation !== undefined)
        add({ session: session.name, pane_id: `@${pane}`, agent, conversation });
    }
  }
  for (const one of await findAll(instance)) {
    if (!("info" in one)) continue;
    for (const { id, agent } of one.info.windows.flatMap(({ panes }) => panes)) {
      if (agent?.conversation !== undefined)
        add({ session: one.info.name, pane_id: id, agent: agent.name, conversation: agent.conversation });
    }
  }
  return [...conversations.values()].sort((a, b) => a.conversation.started_at - b.conversation.started_at);
}

function isOf({ session, pane_id, conversation }: ConversationEntry, target: string): boolean {
  return session === target || pane_id === target || conversation.id === target;
}

async function list(conversations: readonly ConversationEntry[], json: boolean): Promise<void> {
  if (json) return printJson({ conversations });
  if (conversations.length === 0) return printText("No conversations of agents.\n");
  const now = Date.now();
  const rows = conversations.map(({ session, agent, conversation: { id, title = "-", started_at } }) => [
    ...[formatAge(started_at, now), session, agent, id],
    shorten(visibleCell(title), TITLE_CELLS),
  ]);
  await print(table([["BEGAN", "SESSION", "AGENT", "CONVERSATION", "TITLE"], ...rows]));
}

function unread({ agent, conversation: { id, transcript } }: ConversationEntry): string {
  return transcript === undefined
    ? `${agent} has reported no transcript of conversation ${id}`
    : `the transcript ${transcript} cannot be read: it is missing, a link, or no list of messages`;
}

function hasWords({ text }: TranscriptMessage, words: readonly string[]): boolean {
  const folded = text.toLowerCase();
  return words.every((word) => folded.includes(word.toLowerCase()));
}

function matchLines({ session, agent }: ConversationEntry, { role, text, at }: TranscriptMessage): string[] {
  const line = shorten(visibleCell(text), MESSAGE_CELLS);
  return [formatAge(at, Date.now()), session, agent, role, line];
}

function fullMessage({ role, text }: TranscriptMessage): string {
  const lines = visibleLines(text).split("\n");
  return `${lines.map((line, index) => (role === "user" ? `${index === 0 ? ">" : " "} ${line}` : line)).join("\n")}\n`;
}
