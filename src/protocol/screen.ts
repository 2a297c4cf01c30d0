/** A terminal's contents, in the form of every transport (docs/protocol.md, Terminal data). Validated on entry. */
import * as v from "valibot";
import { integerBetween } from "./fields.ts";

/** A palette colour 0–255, or 24-bit. */
export const ColorSchema = v.union([
  v.object({ indexed: integerBetween(0, 255) }),
  v.object({ rgb: v.object({ r: v.number(), g: v.number(), b: v.number() }) }),
]);
export type Color = v.InferOutput<typeof ColorSchema>;

/** A run of cells of one style; every key but `text` is absent when unset. */
export const SpanSchema = v.object({
  text: v.string(),
  fg: v.optional(ColorSchema),
  bg: v.optional(ColorSchema),
  bold: v.optional(v.boolean()),
  faint: v.optional(v.boolean()),
  italic: v.optional(v.boolean()),
  underline: v.optional(v.boolean()),
  strikethrough: v.optional(v.boolean()),
  blink: v.optional(v.boolean()),
  inverse: v.optional(v.boolean()),
});
export type Span = v.InferOutput<typeof SpanSchema>;

export const FormatSchema = v.picklist(["plain", "styled"]);
export type Format = v.InferOutput<typeof FormatSchema>;

/** A line: text when plain, spans when styled (an empty array when blank). */
export const LineSchema = v.union([v.string(), v.array(SpanSchema)]);
export type Line = v.InferOutput<typeof LineSchema>;

export function lineText(line: Line): string {
  return typeof line === "string" ? line : line.map((span) => span.text).join("");
}

export const CursorSchema = v.object({ row: v.number(), col: v.number(), visible: v.boolean() });

/** The selected or focused part of a full-screen program's screen, which plain text does not show. */
const SelectedField = v.optional(v.object({ text: v.string(), row: v.number(), col: v.number() }));

export const ScreenSchema = v.object({
  epoch: v.number(),
  first_line_index: v.number(),
  total_lines: v.number(),
  lines: v.array(LineSchema),
  cursor: CursorSchema,
  cols: v.number(),
  rows: v.number(),
  alternate_active: v.boolean(),
  selected: SelectedField,
});
export type Screen = v.InferOutput<typeof ScreenSchema>;

export const ScrollbackSchema = v.object({
  /** Set if a search could not cover everything: older lines were dropped. */
  incomplete: v.optional(v.literal(true)),
  /** The lines that were available, such as `50001–60000 of 60000`. */
  searched: v.optional(v.string()),
  /** Number of the session's older lines that were dropped; absent: none. */
  dropped_lines: v.optional(v.number()),
  epoch: v.number(),
  lines: v.array(LineSchema),
  total_lines: v.number(),
  /** The requested offset; a negative one is replaced by its index. */
  offset: v.number(),
  /** Logical line id of the line at index 0 (grows as old lines are discarded). */
  first_line_id: v.number(),
});
export type Scrollback = v.InferOutput<typeof ScrollbackSchema>;
