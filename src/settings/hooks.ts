/** Reads the tables `[[on]]` and `[[notify]]` of the settings: the hooks and notices for events. Pure. */
import * as v from "valibot";
import { WshError } from "../protocol/errors.ts";
import type { EventConsumer } from "../protocol/event-consumers.ts";
import { type Hook, HookSchema } from "../protocol/hooks.ts";
import { type Notify, NotifySchema } from "../protocol/notices.ts";
import type { ConfigText } from "./config-file.ts";

/** Names of the tables. */
export const wantedTables = ["on", "notify"] as const;

/** A table of the file. */
export interface WantedInFile<T extends EventConsumer = EventConsumer> {
  readonly wanted: T;
  readonly path: string;
  readonly line: number;
}

type OrElse = <T>(attempt: () => T, fallback: T, instead?: string) => T;

/** @param orElse returns the fallback if an error is only reported @throws WshError invalid_setting */
export function hooksIn(config: ConfigText | null, path: string, orElse: OrElse): WantedInFile<Hook>[] {
  return tablesIn("on", HookSchema, config, path, orElse);
}

/** Like hooksIn, for notices. */
export function noticesIn(config: ConfigText | null, path: string, orElse: OrElse): WantedInFile<Notify>[] {
  return tablesIn("notify", NotifySchema, config, path, orElse);
}

function tablesIn<T extends EventConsumer>(
  name: (typeof wantedTables)[number],
  schema: v.GenericSchema<unknown, T>,
  config: ConfigText | null,
  path: string,
  orElse: OrElse,
): WantedInFile<T>[] {
  const tables = config?.values[name];
  if (config === null || !Array.isArray(tables)) return [];
  const lines = config.linesOfTables(name);
  return tables.flatMap((table: unknown, at) => {
    const line = lines[at] ?? 1;
    return orElse(
      () => [{ wanted: parsed(name, schema, table, { config, path, line }), path, line }],
      [],
      "it is ignored",
    );
  });
}

interface Place {
  readonly config: ConfigText;
  readonly path: string;
  /** Of the table's header. */
  readonly line: number;
}

function parsed<T>(name: string, schema: v.GenericSchema<unknown, T>, table: unknown, place: Place): T {
  const result = v.safeParse(schema, table, { abortPipeEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const key = issue.path?.[0]?.key;
  const line = typeof key === "string" ? place.config.lineBelow(place.line, key) : place.line;
  const hint = `docs/${name === "on" ? "events" : "notices"}.md lists the fields.`;
  const message = `${place.path}:${line}: [[${name}]] ${faultOf(issue)}`;
  throw new WshError("invalid_setting", message, { key: name, file: place.path, line, hint });
}

/** Describes an invalid field, with its value and the allowed ones. */
export function faultOf(issue: v.BaseIssue<unknown>): string {
  const field = v.getDotPath(issue);
  if (field === null) return issue.message;
  const { value } = issue.path?.at(-1) ?? {};
  if (issue.expected === "never") return `unknown field '${field}'`;
  if (value === undefined) return `${field} is missing`;
  const given = `${field} is ${JSON.stringify(value)}`;
  if (issue.type === "regex") return `${given}: it ${issue.message}`;
  return `${given}, expected ${expectedIn(issue)}`;
}

/** The values that an issue expects, as text: `("a" | "b")` as a, b; `<=16` as at most 16. */
function expectedIn({ expected, message }: v.BaseIssue<unknown>): string {
  if (expected === null) return message;
  const names = [...expected.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name);
  if (names.length > 0) return `one of ${names.join(", ")}`;
  const [, bound, limit] = /^([<>])=(.+)$/.exec(expected) ?? [];
  if (bound !== undefined) return `at ${bound === "<" ? "most" : "least"} ${limit}`;
  return { Array: "a list", string: "text", number: "a number", boolean: "true or false" }[expected] ?? expected;
}
