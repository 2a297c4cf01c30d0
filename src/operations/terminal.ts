/** Operations on a session's terminal: typing, reading, waiting for silence (docs/protocol.md, Terminal data). */

import * as v from "valibot";
import { requireTypable } from "../keys/input-parser.ts";
import { StatusSchema } from "../protocol/commands.ts";
import { OutputCursorSchema } from "../protocol/conditions.ts";
import { described, integerFrom, optional } from "../protocol/fields.ts";
import { FormatSchema, ScreenSchema, ScrollbackSchema } from "../protocol/screen.ts";
import { SessionStateSchema } from "../protocol/session.ts";
import { DEFAULT_WAIT_MS, WaitMsSchema } from "../protocol/wait-times.ts";
import { drivesPane, operation, readsPane } from "./define.ts";

/** Largest page of a scrollback query; more is silently capped. */
const MAX_SCROLLBACK_LIMIT = 10_000;

export const FormatField = optional(FormatSchema, "styled: spans with colours and attributes; plain: text", "styled");

export const TailField = optional(integerFrom(1), "only the last N non-blank rows of the screen");

export const IdleInputSchema = v.object({
  timeout_ms: described(WaitMsSchema, "silence that counts as idle"),
  max_wait_ms: optional(WaitMsSchema, "maximum wait", DEFAULT_WAIT_MS),
  format: FormatField,
  tail: TailField,
  last_generation: optional(integerFrom(0), "wait for activity after this generation first"),
  fresh: optional(v.boolean(), "observe the silence from now on", false),
});

export const IdleOutputSchema = v.object({
  screen: ScreenSchema,
  scrollback_lines: v.number(),
  generation: v.number(),
  last_activity_ms: v.number(),
  output_cursor: v.number(),
  decided_by: v.string(),
  running: v.boolean(),
  exit_code: v.nullable(v.number()),
  signal: v.nullable(v.string()),
});

const SendInputSchema = v.object({
  data: optional(v.string(), "text to type, unchanged; no newline is added"),
  encoding: optional(v.picklist(["utf8", "base64"]), "of data", "utf8"),
  keys: optional(v.array(v.string()), 'named keys pressed after data: ["Ctrl+C", "Up", "F5", "Alt+x"]'),
  submit: optional(v.boolean(), "press Enter afterwards, as a separate event", false),
  paste: optional(v.boolean(), "mark data as pasted when the program asked for bracketed paste", false),
});

const SentSchema = v.object({
  bytes: v.number(),
  /** The cursor before the input was typed: all output after it, including the echo, results from the input. */
  since: v.optional(v.number()),
  output_cursor: v.number(),
  warnings: v.optional(v.array(v.string())),
});

export const terminalOperations = [
  operation({
    name: "input.send",
    ...drivesPane,
    types: true,
    inScripts: true,
    summary: "Type text, bytes or keys into the terminal",
    input: SendInputSchema,
    check: requireTypable,
    output: SentSchema,
    errors: ["session_ended", "input_send_failed", "payload_too_large", "unknown_key"],
    http: [
      { method: "POST", path: "/sessions/:name/input", status: 204, from: "raw" },
      { method: "POST", path: "/sessions/:name/keys", status: 204 },
    ],
    ws: ["send_input"],
  }),
  operation({
    name: "screen.get",
    ...readsPane,
    lasts: "program",
    inScripts: true,
    summary: "The visible screen",
    input: v.object({
      format: FormatField,
      tail: TailField,
      since: optional(OutputCursorSchema, "an output_cursor, with wait_ms or each"),
      wait_ms: optional(WaitMsSchema, "with since: wait this long for output", 0),
      each: optional(
        v.boolean(),
        "also the screens between since and now, oldest first, as earlier; kept from the first such call until 5 s " +
          "after the last",
        false,
      ),
    }),
    output: v.object({
      ...ScreenSchema.entries,
      last_activity_ms: v.number(),
      title: v.string(),
      state: SessionStateSchema,
      disorder: StatusSchema.entries.disorder,
      output_cursor: v.number(),
      generation: v.number(),
      earlier: v.optional(
        v.array(v.object({ ...ScreenSchema.entries, output_cursor: v.number(), generation: v.number() })),
      ),
    }),
    errors: ["invalid_format", "invalid_cursor"],
    http: [{ method: "GET", path: "/sessions/:name/screen" }],
    ws: ["get_screen"],
  }),
  operation({
    name: "scrollback.get",
    ...readsPane,
    summary: "History and screen as one sequence of lines",
    input: v.object({
      format: FormatField,
      offset: optional(v.pipe(v.number(), v.integer()), "index of the first line; negative counts from the end", 0),
      limit: optional(
        v.pipe(
          v.number(),
          v.integer(),
          v.minValue(0),
          v.transform((n) => Math.min(n, MAX_SCROLLBACK_LIMIT)),
        ),
        "how many lines, 10000 at most",
        100,
      ),
      grep: optional(v.string(), "only lines that contain this text; offset, limit and total_lines count them"),
    }),
    output: ScrollbackSchema,
    errors: ["invalid_format"],
    http: [{ method: "GET", path: "/sessions/:name/scrollback" }],
    ws: ["get_scrollback"],
  }),
  operation({
    name: "idle.await",
    ...readsPane,
    lasts: "wait",
    summary: "Wait until the session has been idle for a while",
    input: IdleInputSchema,
    output: IdleOutputSchema,
    errors: ["idle_timeout", "invalid_cursor", "invalid_format"],
    http: [
      { method: "GET", path: "/sessions/:name/idle" },
      { method: "GET", path: "/sessions/:name/quiesce", alias: true },
    ],
    ws: ["await_idle", "await_quiesce"],
  }),
] as const;
