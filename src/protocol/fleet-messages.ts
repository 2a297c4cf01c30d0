/** Messages of a fleet's machines: heartbeats, headers of requests, messages of a stream (docs/machines.md). Pure. */
import * as v from "valibot";
import { integerFrom } from "./fields.ts";
import { DialedProcessSchema, LinkNoteSchema, ToldTimeSchema } from "./machines.ts";

/** Largest piece of an answer, in bytes: below a NATS server's usual limit of 1 MB with its headers. */
export const PART_BYTES = 512 * 1024;
/** Maximum pieces of an answer: 16 MiB. */
export const MAX_PARTS = 32;
/** Headers in addition to those of every request with an id (requests.ts). */
export const headerNames = {
  /** In a request: the intended incarnation. In an answer: the answering incarnation. */
  boot: "Wsh-Boot",
  /** `cancel`: cancels the request with the following key. */
  control: "Wsh-Control",
  key: "Wsh-Key",
  /** `0/3`: the first of three pieces. */
  part: "Wsh-Part",
  /** In an answer: nothing was executed, since another incarnation was intended. */
  refused: "Wsh-Refused",
} as const;

/** A machine's description of itself. The subject contains its name. */
export const BeatSchema = v.object({
  /** New at each start of its server. */
  boot: v.pipe(v.string(), v.minLength(1), v.maxLength(64)),
  /** Grows with every change of its list of sessions. */
  rev: integerFrom(0),
  /** Whether its list is constant until `rev` grows. */
  settled: v.boolean(),
  /** PROTOCOL_VERSION there. */
  wsh: v.number(),
  version: v.pipe(v.string(), v.maxLength(64)),
  hostname: v.pipe(v.string(), v.maxLength(256)),
  /** Unix time there, in ms. */
  at: ToldTimeSchema,
  /** Number of running sessions. */
  sessions: integerFrom(0),
  /** One-minute load average per processor. */
  load: v.pipe(v.number(), v.minValue(0)),
  tags: v.pipe(v.array(v.pipe(v.string(), v.maxLength(64))), v.maxLength(32)),
  /** Sessions that it lets others start: none, those that name it, or placed ones too. */
  accept: v.picklist(["none", "named", "placed"]),
  /** Number of its connection to the servers: after a change, answers in transit may be lost. */
  way: v.optional(v.number()),
  /** Whether its server is ending: its sessions continue without a server. */
  leaving: v.optional(v.boolean()),
});
export type Beat = v.InferOutput<typeof BeatSchema>;

/** Opens a stream; bytes of the session's socket and notes follow. */
const StreamOpenSchema = v.object({
  target: v.pipe(v.string(), v.maxLength(256)),
  process: v.optional(DialedProcessSchema),
  caller: v.pipe(v.string(), v.maxLength(256)),
});
type StreamOpen = v.InferOutput<typeof StreamOpenSchema>;

const kinds = { bytes: 0, note: 1, open: 2, close: 3 } as const;
const HEAD_BYTES = 5;

export type StreamMessage =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "note"; readonly text: string }
  | { readonly kind: "open"; readonly open: StreamOpen }
  | { readonly kind: "close" };

/** One message of a stream: its kind, its number in this direction, and its contents. The bytes are copied. */
export function encodeStreamMessage(message: StreamMessage, number: number): Uint8Array {
  const body = bodyOf(message);
  const encoded = new Uint8Array(HEAD_BYTES + body.length);
  encoded[0] = kinds[message.kind];
  new DataView(encoded.buffer).setUint32(1, number);
  encoded.set(body, HEAD_BYTES);
  return encoded;
}

/** @returns null for an invalid message */
export function decodeStreamMessage(data: Uint8Array): { number: number; message: StreamMessage } | null {
  if (data.length < HEAD_BYTES) return null;
  const number = new DataView(data.buffer, data.byteOffset).getUint32(1);
  const body = data.subarray(HEAD_BYTES);
  if (data[0] === kinds.bytes) return { number, message: { kind: "bytes", bytes: body } };
  if (data[0] === kinds.close) return { number, message: { kind: "close" } };
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString("utf8");
  if (data[0] === kinds.note) {
    return v.is(v.pipe(v.string(), v.parseJson(), LinkNoteSchema), text)
      ? { number, message: { kind: "note", text } }
      : null;
  }
  if (data[0] !== kinds.open) return null;
  const open = v.safeParse(v.pipe(v.string(), v.parseJson(), StreamOpenSchema), text);
  return open.success ? { number, message: { kind: "open", open: open.output } } : null;
}

function bodyOf(message: StreamMessage): Uint8Array {
  if (message.kind === "bytes") return message.bytes;
  if (message.kind === "note") return new TextEncoder().encode(message.text);
  return new TextEncoder().encode(message.kind === "open" ? JSON.stringify(message.open) : "");
}

/** `2/5` of a piece; null: invalid. */
export function parsePart(text: string): { readonly index: number; readonly of: number } | null {
  const [all, at = "", of = ""] = /^(\d{1,2})\/(\d{1,2})$/.exec(text) ?? [];
  const [place, count] = [Number(at), Number(of)];
  return all === undefined || place >= count || count > MAX_PARTS ? null : { index: place, of: count };
}
