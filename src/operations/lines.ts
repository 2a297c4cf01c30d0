/**
 * Operations on a pane's text by logical lines (docs/protocol.md, Terminal data): rows with their positions, and a
 * search. For readers that store the rows read, and continue from there while the program prints.
 */
import * as v from "valibot";
import { WireLineSchema, WireStyleSchema } from "../protocol/frame-codec.ts";
import { operation } from "./define.ts";

/** Most rows of one page: some screens of the largest terminals, and less than a megabyte. */
const MAX_ROWS = 2_000;
/** Most matches of one page. */
const MAX_MATCHES = 1_000;
/** Longest text that is searched for, in UTF-16 units. */
const MAX_QUERY = 1_000;

const index = v.pipe(v.number(), v.integer(), v.minValue(0));
const place = {
  from_line: v.optional(v.pipe(index, v.description("id of a line: return rows from there"))),
  from_col: v.optional(v.pipe(index, v.description("cell of that line, from 0")), 0),
  before_line: v.optional(v.pipe(index, v.description("id of a line: return rows above it"))),
  before_col: v.optional(v.pipe(index, v.description("cell of that line, from 0: what stands before it, too")), 0),
};
const limited = (most: number) => v.pipe(index, v.minValue(1), v.maxValue(most));

const PlaceSchema = v.object({ line: v.number(), col: v.number() });
/** Properties of the whole text in every answer. */
const extent = {
  first_line: v.pipe(v.number(), v.description("id of the oldest line that is kept")),
  last_line: v.pipe(v.number(), v.description("id of the newest line")),
};

export const lineOperations = [
  operation({
    name: "lines.get",
    scope: "pane",
    access: "observe",
    summary: "Rows of history and screen by line id, with all their styles",
    input: v.object({
      ...place,
      limit: v.optional(v.pipe(limited(MAX_ROWS), v.description("most rows of this page")), 200),
    }),
    output: v.object({
      epoch: v.number(),
      cols: v.number(),
      alternate_active: v.boolean(),
      ...extent,
      screen: v.pipe(PlaceSchema, v.description("start of the normal screen; rows above no longer change")),
      styles: v.pipe(v.array(WireStyleSchema), v.description("looks that runs name by number, from 1; 0 is plain")),
      rows: v.array(
        v.object({
          line: v.pipe(v.number(), v.description("id of the logical line that the row belongs to")),
          col: v.pipe(v.number(), v.description("cell of that line at which the row begins")),
          wrapped: v.optional(v.pipe(v.literal(true), v.description("the line goes on in the next row"))),
          runs: v.pipe(WireLineSchema, v.description("cells of one style each; without blanks at the end")),
        }),
      ),
      more_above: v.pipe(v.boolean(), v.description("there are rows above these")),
      next: v.pipe(v.nullable(PlaceSchema), v.description("where the row below these begins; null at the end")),
    }),
    errors: ["parser_unavailable"],
    http: [{ method: "GET", path: "/sessions/:name/lines" }],
    ws: ["get_lines"],
  }),
  operation({
    name: "lines.search",
    scope: "pane",
    access: "observe",
    summary: "Positions of a text in history and screen, by line id",
    input: v.object({
      query: v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_QUERY), v.description("text, or with regex a pattern")),
      regex: v.optional(v.pipe(v.boolean(), v.description("query is a pattern in RE2 syntax")), false),
      case_sensitive: v.optional(v.pipe(v.boolean(), v.description("default: only if the query has a capital letter"))),
      ...place,
      limit: v.optional(v.pipe(limited(MAX_MATCHES), v.description("most matches of this page")), 100),
    }),
    output: v.object({
      ...extent,
      total: v.pipe(v.number(), v.description("matches in all lines that are kept")),
      first: v.pipe(v.number(), v.description("number of matches before this page")),
      matches: v.pipe(
        v.array(
          v.object({
            line: v.pipe(v.number(), v.description("id of the line")),
            col: v.pipe(v.number(), v.description("cell of that line, from 0")),
            length: v.pipe(v.number(), v.description("in cells")),
          }),
        ),
        v.description("oldest first; by default the newest matches"),
      ),
    }),
    errors: ["parser_unavailable"],
    http: [{ method: "GET", path: "/sessions/:name/lines/search" }],
    ws: ["search_lines"],
  }),
] as const;
