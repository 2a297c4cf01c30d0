/**
 * The view WebSocket: a session's picture on a page, and the person's input (docs/protocol.md, A session in a page).
 * Text messages are JSON. Input is binary: its number, then bytes as a terminal sends them; a number that the session
 * has received from this client is never typed again, over any connection.
 */
import * as v from "valibot";
import { RgbSchema } from "./attach.ts";
import { described, integerBetween, integerFrom, optional } from "./fields.ts";
import { FrameUpdateSchema } from "./frame-codec.ts";
import { MAX_INPUT_NUMBER } from "./numbered-input.ts";
import { SideSchema } from "./size.ts";

/** Maximum unconfirmed pictures of a page: enough for 60 a second with a round trip of 50 ms. */
export const VIEW_CREDIT = 3;

/** `fit`: takes part in the session's size; `follow`: never does, and shows the session in the session's size. */
const viewSizes = ["fit", "follow"] as const;

/** Name of a client across its connections: random and unique. */
const ClientIdSchema = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{8,64}$/));

const number = integerBetween(0, MAX_INPUT_NUMBER);
const size = described(v.picklist(viewSizes), "whether the page's size counts for the session's size");

export const ViewRequestSchema = v.variant("type", [
  /** The first message. */
  v.object({
    type: v.literal("open"),
    client: described(ClientIdSchema, "random name of this page's terminal, the same after a reconnect"),
    rows: SideSchema,
    cols: SideSchema,
    size,
    prefix: optional(v.boolean(), "whether the session reads the prefix key; false: the page does", true),
    name: optional(v.pipe(v.string(), v.maxLength(64)), "shown in lists of viewers"),
    keys: optional(v.boolean(), "answer with `keys`, now and when they change"),
    pictures: optional(v.boolean(), "send `images`, and cells that show parts of them"),
  }),
  v.object({ type: v.literal("size"), rows: SideSchema, cols: SideSchema, size }),
  v.object({ type: v.literal("shown"), n: integerFrom(0) }),
  v.object({ type: v.literal("focus"), on: v.boolean() }),
  v.object({ type: v.literal("release") }),
  v.object({ type: v.literal("ping") }),
  v.object({ type: v.literal("colors"), foreground: RgbSchema, background: RgbSchema, cursor: RgbSchema }),
]);
export type ViewRequest = v.InferInput<typeof ViewRequestSchema>;

const ViewMessageSchema = v.variant("type", [
  v.object({
    type: v.literal("opened"),
    session: described(v.string(), "id of the session"),
    name: v.string(),
    access: v.picklist(["observe", "operate", "admin"]),
    took: described(number, "newest input that the session has received from this client; 0: none"),
    record: optional(
      v.string(),
      "name of the session's input record; when it changes, earlier input is not sent again",
    ),
  }),
  v.object({
    type: v.literal("frame"),
    n: described(v.number(), "numbers the frames of this connection from 1"),
    ...FrameUpdateSchema.entries,
  }),
  v.object({
    type: v.literal("images"),
    n: described(v.number(), "numbers it like a frame"),
    commands: described(
      v.string(),
      "of kitty's graphics protocol, whole ones: to keep, place (U=1) or delete an image",
    ),
  }),
  v.object({
    type: v.literal("took"),
    n: number,
    record: optional(v.string(), "name of the session's input record, when it has changed"),
  }),
  v.object({ type: v.literal("pong") }),
  v.object({
    type: v.literal("lost"),
    n: described(number, "unacknowledged input up to this number may or may not have been typed"),
    record: v.string(),
  }),
  v.object({ type: v.literal("keyboard"), captured: v.boolean() }),
  v.object({
    type: v.literal("wanted"),
    operation: described(v.string(), "action that a key requests of the page: view.sessions, view.keys …"),
  }),
  v.object({ type: v.literal("alert"), text: v.string() }),
  v.object({
    type: v.literal("keys"),
    prefix: described(v.nullable(v.string()), "the prefix key; null: none"),
    tables: described(
      v.array(
        v.object({ name: v.string(), rows: v.array(v.object({ keys: v.array(v.string()), description: v.string() })) }),
      ),
      "the bindings in force: prefix, root, copy, and the person's own",
    ),
    word_separators: described(v.string(), "the setting"),
  }),
  v.object({
    type: v.literal("end"),
    reason: v.string(),
    exit_code: v.optional(v.nullable(v.number())),
    signal: v.optional(v.nullable(v.string())),
    name: v.optional(v.string()),
  }),
  v.object({ type: v.literal("error"), error: v.looseObject({ code: v.string(), message: v.string() }) }),
]);
export type ViewMessage = v.InferOutput<typeof ViewMessageSchema>;
