/**
 * How results print: `print`, console.log, `return` and JSON show the fields that most programs need, without ids,
 * places, times and unset fields. All fields remain accessible: `{ ...result }` prints them all.
 */

const INSPECT = Symbol.for("nodejs.util.inspect.custom");
/** Characters of an output that are printed with its result; JSON has all of it. */
const MAX_OUTPUT = 2_000;

/** While true, a result's output is cut. */
let isPrinting = false;

/** Fields that only `{ ...result }` prints. */
const quiet: ReadonlySet<string> = new Set([
  ...["session", "pane", "command_id", "cwd", "duration_ms", "started_at", "ended_at", "ran", "sent"],
  ...["output_cursor", "output_start", "output_end", "first_line_id", "last_line_id", "output_lines", "total_lines"],
]);
const usual: Readonly<Record<string, unknown>> = { state: "finished", verified: true, omitted_lines: 0, signal: null };

/** A result that prints without quiet fields and usual values. @param also further fields to omit */
export function brief<T extends object>(result: T, ...also: readonly string[]): T {
  return printedAs(result, () =>
    Object.fromEntries(
      Object.entries(result)
        .filter(([key, value]) => !quiet.has(key) && !also.includes(key) && value !== undefined && usual[key] !== value)
        .map(([key, value]) => [key, key === "output" && isPrinting ? cut(String(value)) : value]),
    ),
  );
}

/** A result that prints only its fields with a value. */
export function briefOf<T extends object>(result: T, ...keys: readonly (keyof T & string)[]): T {
  return printedAs(result, () => {
    const isSet = (value: unknown): boolean => value !== null && value !== undefined && value !== false;
    return Object.fromEntries(
      keys
        .map((key) => [key, result[key]] as const)
        .filter(([, value]) => isSet(value) && !(Array.isArray(value) && value.length === 0)),
    );
  });
}

/** A value that prints like another one. */
export function printedAs<T extends object>(value: T, shown: () => unknown): T {
  const inspected = (): unknown => {
    const text = shown();
    return typeof text === "string" ? text : printedJson(text);
  };
  if (!Array.isArray(value)) Object.defineProperty(value, "toJSON", { value: shown, configurable: true });
  return Object.defineProperty(value, INSPECT, { value: inspected, configurable: true });
}

/** A value as text, as a program prints it. */
export function printedText(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    const json = printedJson(value) ?? String(value);
    return typeof value === "object" && json.startsWith('"') ? JSON.parse(json) : json;
  } catch {
    // A circle, a bigint, a getter that throws.
    return plainText(value);
  }
}

function plainText(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "(a value that cannot be printed)";
  }
}

/** JSON of what a program prints or returns. */
export function printedJson(value: unknown): string | undefined {
  isPrinting = true;
  try {
    return JSON.stringify(value);
  } finally {
    isPrinting = false;
  }
}

function cut(text: string): string {
  const trimmed = text.trimEnd();
  const omitted = trimmed.length - MAX_OUTPUT;
  if (omitted <= 0) return trimmed;
  const half = MAX_OUTPUT / 2;
  return `${trimmed.slice(0, half)}\n[… ${omitted} characters: print(result.output) …]\n${trimmed.slice(-half)}`;
}

/** Frames of boxes. */
const BOX = /^\s*[\u2500-\u257f].*[\u2500-\u257f]$/u;
const ENDS = /^[\s\u2500-\u257f]+|[\s\u2500-\u257f]+$/gu;

/** A screen's text without frames, blank rows and wide gaps. */
export function compact(rows: readonly string[]): string {
  const shown = rows
    .map((row) => (BOX.test(row) ? row.replace(ENDS, "") : row.trimEnd()))
    .filter((row) => row !== "")
    .map((row) => row.replace(/(\S) {3,}/gu, "$1  ").replace(/([^\p{L}\p{N}\s])\1{7,}/gu, "$1$1$1…"));
  const indent = Math.min(...shown.map((row) => row.search(/\S/u)));
  return shown.map((row) => row.slice(indent)).join("\n");
}
