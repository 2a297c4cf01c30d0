/**
 * The segments of the status line, as the setting `status_segments` lists them (docs/keys.md): names or
 * tables. Pure. The schema is made when a file has tables: few processes need it.
 */
import * as v from "valibot";
import { integerBetween, optional } from "./fields.ts";
import { parseStyle, styleExpected } from "./theme.ts";

/** In the order of the default line; segments after `gap` are on the right. */
export const segmentNames = [
  ...(["session", "windows", "gap", "exit", "typing", "agents", "people", "command", "host", "time"] as const),
] as const;
export type SegmentName = (typeof segmentNames)[number];

export function isSegmentName(text: string): text is SegmentName {
  return (segmentNames as readonly string[]).includes(text);
}

/** States and events of a window that the segment `windows` marks, in the order of their signs, with the usual sign. */
export const windowMarks = {
  current: "*",
  last: "",
  zoomed: "Z",
  synchronized: "=",
  marked: "M",
  bell: "!",
  activity: "#",
  finished: "+",
  failed: "x",
} as const;
export type WindowMark = keyof typeof windowMarks;

function isWindowMark(name: string): name is WindowMark {
  return Object.hasOwn(windowMarks, name);
}

export const windowMarkNames: readonly WindowMark[] = Object.keys(windowMarks).filter(isWindowMark);

/** Names that `{NAME}` in a text stands for. */
const textNames = [
  ...(["session", "host", "user", "window", "window_index", "pane_index", "program", "title", "directory"] as const),
] as const;
export type TextName = (typeof textNames)[number];

/** A text of the settings: literal parts, and names of facts. */
export type TextPart = string | { readonly name: TextName };

/** @returns the parts; a text: the unknown name, or the brace without a partner */
export function parseText(text: string): readonly TextPart[] | string {
  const parts: TextPart[] = [];
  for (const [whole, name] of text.matchAll(/\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+/g)) {
    if (whole === "{" || whole === "}") return whole;
    if (name === undefined) parts.push(whole === "{{" || whole === "}}" ? whole.charAt(0) : whole);
    else {
      const known = textNames.find((each) => each === name);
      if (known === undefined) return whole;
      parts.push({ name: known });
    }
  }
  return parts;
}

/** Characters of a text or a shell's line, of a word and a sign; words of a command; cells of a segment. */
const MAX_TEXT = 8_192;
const MAX_SIGN = 16;
const MAX_WORDS = 100;
const MAX_WIDTH = 500;
/** Segments of a line: more fit on no terminal. */
export const MAX_SEGMENTS = 32;
/** Longest interval between two runs, and longest time limit of one, in s. */
const MAX_INTERVAL = 86_400;
const MAX_TIMEOUT = 60;

/** Without it, a command's interval and its time limit, in s, and the cells of a text or an output. */
export const usualSegment = { seconds: 15, timeout_seconds: 5, width: 100 } as const;

function makeSchema() {
  const words = v.pipe(
    v.string(),
    v.minLength(1),
    v.maxLength(MAX_TEXT),
    v.check((text) => !text.includes("\0"), "text without NUL"),
  );
  const style = v.pipe(
    v.string(),
    v.check((text) => parseStyle(text) !== null, styleExpected),
  );
  const sign = v.pipe(v.string(), v.maxLength(MAX_SIGN));
  const markTable = v.strictObject({ sign: v.optional(sign), style: v.optional(style) });
  const mark = v.lazy((input) => (typeof input === "object" ? markTable : sign));
  const marks = v.strictObject({
    current: v.optional(mark),
    last: v.optional(mark),
    zoomed: v.optional(mark),
    synchronized: v.optional(mark),
    marked: v.optional(mark),
    bell: v.optional(mark),
    activity: v.optional(mark),
    finished: v.optional(mark),
    failed: v.optional(mark),
  });
  const text = v.pipe(
    words,
    v.check(
      (given) => typeof parseText(given) !== "string",
      `names in braces out of ${textNames.join(", ")}; {{ and }} are braces`,
    ),
  );
  const fields = v.strictObject({
    segment: optional(v.picklist(segmentNames), "a segment by its name"),
    text: optional(text, "text; {NAME} stands for a fact"),
    command: optional(
      v.pipe(v.array(words), v.minLength(1), v.maxLength(MAX_WORDS)),
      "program and arguments, without a shell, whose first line of output is shown",
    ),
    shell: optional(words, "the same as a line for sh"),
    style: optional(style, "its style"),
    width: optional(integerBetween(1, MAX_WIDTH), "most of its cells"),
    seconds: optional(integerBetween(1, MAX_INTERVAL), "interval between two runs"),
    timeout_seconds: optional(integerBetween(1, MAX_TIMEOUT), "time until a run is killed"),
    format: optional(v.pipe(words, v.maxLength(200)), "of the time, as of strftime"),
    marks: optional(marks, "signs and styles of windows"),
  });
  const kinds = ["segment", "text", "command", "shell"] as const;
  type Fields = v.InferOutput<typeof fields>;
  /** A field that only some segments have. */
  const only = (field: keyof Fields, isOf: (given: Fields) => boolean, of: string) =>
    v.check<Fields, string>((given) => given[field] === undefined || isOf(given), `only ${of} has ${field}`);
  const runs = ({ command, shell }: Fields): boolean => command !== undefined || shell !== undefined;
  return v.pipe(
    fields,
    v.check(
      (given) => kinds.filter((kind) => given[kind] !== undefined).length === 1,
      "needs exactly one of segment, text, command, shell",
    ),
    only("seconds", runs, "a segment with command or shell"),
    only("timeout_seconds", runs, "a segment with command or shell"),
    only("format", ({ segment }) => segment === "time", "the segment time"),
    only("marks", ({ segment }) => segment === "windows", "the segment windows"),
  );
}

let schema: ReturnType<typeof makeSchema> | null = null;

/** The schema of a segment's table. */
export function segmentSchema(): ReturnType<typeof makeSchema> {
  schema ??= makeSchema();
  return schema;
}

export type SegmentTable = v.InferOutput<ReturnType<typeof makeSchema>>;
/** An entry of `status_segments`. */
export type StatusSegment = SegmentName | SegmentTable;
