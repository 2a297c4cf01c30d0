/**
 * Operations on a pane's text by logical lines (docs/protocol.md, Terminal data): rows with their positions, and a
 * search. For readers that store the rows read, and continue from there while the program prints.
 */
import * as v from "valibot";
import { described, integerFrom, optional } from "../protocol/fields.ts";
import { WireLineSchema, WireStyleSchema } from "../protocol/frame-codec.ts";
import { operation, readsPane } from "./define.ts";

/** Maximum rows of one page: some screens of the largest terminals, and less than a megabyte. */
const MAX_ROWS = 2_000;
/** Maximum matches of one page. */
const MAX_MATCHES = 1_000;
/** Longest text that is searched for, in UTF-16 units. */
const MAX_QUERY = 1_000;

const index = integerFrom(0);
const place = {
  from_line: optional(index, "id of a line: return rows from there"),
  from_col: optional(index, "cell of that line, from 0", 0),
  before_line: optional(index, "id of a line: return rows above it"),
  before_col: optional(index, "cell of that line, from 0: includes cells before it", 0),
};
const rules = [{ option: "from_line", excludes: ["before_line"] }];
const limited = (most: number) => v.pipe(index, v.minValue(1), v.maxValue(most));

const PlaceSchema = v.object({ line: v.number(), col: v.number() });
/** Fields about the whole text, in every answer. */
const extent = {
  first_line: described(v.number(), "id of the oldest stored line"),
  last_line: described(v.number(), "id of the newest line"),
};

export const lineOperations = [
  operation({
    name: "lines.get",
    ...readsPane,
    summary: "Rows of history and screen by line id, with all their styles",
    input: v.object({
      ...place,
      limit: optional(limited(MAX_ROWS), "most rows of this page", 200),
    }),
    rules,
    output: v.object({
      epoch: v.number(),
      cols: v.number(),
      alternate_active: v.boolean(),
      ...extent,
      screen: described(PlaceSchema, "start of the normal screen; rows above no longer change"),
      styles: described(v.array(WireStyleSchema), "styles that runs number from 1; 0 is plain"),
      rows: v.array(
        v.object({
          line: described(v.number(), "id of the logical line that the row belongs to"),
          col: described(v.number(), "cell of that line at which the row begins"),
          wrapped: optional(v.literal(true), "the line continues in the next row"),
          runs: described(WireLineSchema, "cells of one style each; without blanks at the end"),
        }),
      ),
      more_above: described(v.boolean(), "rows above these exist"),
      next: described(v.nullable(PlaceSchema), "start of the row below these; null at the end"),
    }),
    http: [{ method: "GET", path: "/sessions/:name/lines" }],
    ws: ["get_lines"],
  }),
  operation({
    name: "lines.search",
    ...readsPane,
    summary: "Positions of a text in history and screen, by line id",
    input: v.object({
      query: described(v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_QUERY)), "text, or with regex a pattern"),
      regex: optional(v.boolean(), "query is a pattern in RE2 syntax", false),
      case_sensitive: optional(v.boolean(), "default: only if the query has a capital letter"),
      ...place,
      limit: optional(limited(MAX_MATCHES), "most matches of this page", 100),
    }),
    rules,
    output: v.object({
      ...extent,
      total: described(v.number(), "matches in all stored lines"),
      first: described(v.number(), "number of matches before this page"),
      matches: described(
        v.array(
          v.object({
            line: described(v.number(), "id of the line"),
            col: described(v.number(), "cell of that line, from 0"),
            length: described(v.number(), "in cells"),
          }),
        ),
        "oldest first; by default the newest matches",
      ),
    }),
    http: [{ method: "GET", path: "/sessions/:name/lines/search" }],
    ws: ["search_lines"],
  }),
] as const;
