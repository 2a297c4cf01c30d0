/**
 * Reads the transcript that an agent writes of its conversation, in the forms of Claude Code, Codex, Gemini CLI,
 * Copilot and Cursor. The path comes from a hook, so it may name anything: only a regular file of this user is opened,
 * never a link, no more than its end is read, and only text in the form of a message is returned.
 */
import fs from "node:fs";
import * as v from "valibot";
import { openToRead } from "../../platform/readable.ts";
import { agentMessage } from "../../protocol/agent.ts";
import { present } from "../../protocol/defined.ts";
import { jsonOrNull } from "../../protocol/json.ts";

/** Bytes read for title and age, and for the messages: a day's work of an agent. */
const BEGINNING_BYTES = 256 * 1024;
const END_BYTES = 8 * 1024 * 1024;
const isTranscript = /\.jsonl?$/;

export interface TranscriptMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
  /** Unix time in ms; null when not recorded. */
  readonly at: number | null;
}

export interface Transcript {
  readonly messages: readonly TranscriptMessage[];
  /** Whether the oldest messages are missing, since the file is longer than the part read. */
  readonly isCut: boolean;
}

interface Beginning {
  readonly title?: string;
  /** Unix time in ms. */
  readonly started_at?: number;
}

/** Returns null when there is nothing to read. */
export function beginningOf(path: string): Beginning | null {
  const read = readPart(path, BEGINNING_BYTES, "start");
  if (read === null) return null;
  const entries = entriesOf(read.text);
  const title = entries.findLast(({ title }) => title !== null)?.title ?? firstPrompt(entries);
  const at = entries.find((entry) => entry.at !== null)?.at ?? null;
  return {
    ...(title === undefined || title === "" ? {} : { title: agentMessage(title) }),
    ...present({ started_at: at }),
  };
}

/** @returns null when the file cannot be read, or is not a transcript */
export function readTranscript(path: string): Transcript | null {
  const read = readPart(path, END_BYTES, "end");
  if (read === null) return null;
  const messages = entriesOf(read.text).flatMap(({ role, text, at }) => (role === null ? [] : [{ role, text, at }]));
  return { messages, isCut: read.isCut };
}

/** The agent's answer to the newest prompt; null without one. */
export function lastReply(path: string): string | null {
  const newest = readTranscript(path)?.messages.at(-1);
  return newest?.role === "assistant" ? newest.text : null;
}

function firstPrompt(entries: readonly TranscriptEntry[]): string | undefined {
  return entries.find(({ role }) => role === "user")?.text;
}

function readPart(path: string, most: number, from: "start" | "end"): { text: string; isCut: boolean } | null {
  if (!isTranscript.test(path)) return null;
  const fd = openToRead(path);
  if (fd === null) return null;
  try {
    const { size, uid } = fs.fstatSync(fd);
    if (!fs.fstatSync(fd).isFile() || uid !== process.getuid?.()) return null;
    const bytes = Buffer.allocUnsafe(Math.min(size, most));
    const at = from === "start" ? 0 : size - bytes.length;
    const length = fs.readSync(fd, bytes, 0, bytes.length, at);
    return { text: bytes.toString("utf8", 0, length), isCut: size > most };
  } catch {
    return null;
  } finally {
    fs.closeSync(fd);
  }
}

interface TranscriptEntry {
  readonly role: TranscriptMessage["role"] | null;
  readonly text: string;
  readonly at: number | null;
  readonly title: string | null;
}

/** Lines of JSON, some with a list of messages; or one such document. Truncated lines are skipped. */
function entriesOf(text: string): TranscriptEntry[] {
  const whole = jsonOrNull(text);
  const values = whole === null ? text.split("\n").map(jsonOrNull) : [whole];
  const seen = new Set<string>();
  return values.flatMap(messagesIn).flatMap((value) => {
    const { id } = v.is(NamedSchema, value) ? value : {};
    // Gemini CLI writes its list again.
    if (id !== undefined && seen.has(id)) return [];
    if (id !== undefined) seen.add(id);
    return entryOf(value) ?? [];
  });
}

function messagesIn(value: unknown): readonly unknown[] {
  if (v.is(DocumentSchema, value)) return value.messages;
  return v.is(PatchSchema, value) ? value.$set.messages : [value];
}

const DocumentSchema = v.object({ messages: v.array(v.unknown()) });
const PatchSchema = v.object({ $set: DocumentSchema });
const NamedSchema = v.object({ id: v.string() });
const optionalText = v.optional(v.fallback(v.optional(v.string()), undefined));
const ContentSchema = v.optional(
  v.fallback(
    v.optional(v.union([v.string(), v.array(v.looseObject({ type: optionalText, text: optionalText }))])),
    undefined,
  ),
);
const BodySchema = v.fallback(
  v.optional(v.looseObject({ type: optionalText, role: optionalText, content: ContentSchema })),
  undefined,
);
const EntrySchema = v.looseObject({
  type: optionalText,
  role: optionalText,
  content: ContentSchema,
  timestamp: optionalText,
  summary: optionalText,
  aiTitle: optionalText,
  customTitle: optionalText,
  isMeta: v.optional(v.unknown()),
  isSidechain: v.optional(v.unknown()),
  message: v.optional(BodySchema),
  payload: v.optional(BodySchema),
  data: v.optional(BodySchema),
});

/** The start of a text that a host itself adds to the conversation, such as its environment. */
const ADDED_BY_HOST = /^<[a-z_-]+>/;

/** Names of the two roles in the hosts' forms. */
const roles: Readonly<Record<string, TranscriptMessage["role"]>> = {
  user: "user",
  "user.message": "user",
  assistant: "assistant",
  gemini: "assistant",
  model: "assistant",
  "assistant.message": "assistant",
};

function entryOf(value: unknown): TranscriptEntry | null {
  const read = v.safeParse(EntrySchema, value);
  if (!read.success) return null;
  const { type, role, content, timestamp, message, payload, data, isMeta, isSidechain } = read.output;
  const when = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  const at = Number.isNaN(when) ? null : when;
  const title = read.output.customTitle ?? read.output.aiTitle ?? read.output.summary ?? null;
  const none = { role: null, text: "", at, title };
  if (isMeta === true || isSidechain === true) return none;
  const item = type === "response_item" && payload?.type === "message" ? payload : null;
  if (payload !== undefined && item === null) return none;
  const name = item?.role ?? type ?? role ?? "";
  const side = Object.hasOwn(roles, name) ? roles[name] : undefined;
  const text = textOf(content ?? message?.content ?? payload?.content ?? data?.content);
  return side === undefined || text === "" || (side === "user" && ADDED_BY_HOST.test(text))
    ? none
    : { role: side, text, at, title };
}

/** Tool calls and their results have no text of their own. */
function textOf(content: v.InferOutput<typeof ContentSchema>): string {
  if (content === undefined || typeof content === "string") return (content ?? "").trim();
  return content
    .flatMap(({ type, text }) => (text === undefined || type === "tool_result" || type === "thinking" ? [] : [text]))
    .join("\n")
    .trim();
}
