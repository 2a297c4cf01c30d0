/** Reads the tables `[[on]]` and `[[notify]]` of the settings: what is wanted when something happens. Pure. */
import * as v from "valibot";
import { WshError } from "../protocol/errors.ts";
import { type Hook, HookSchema } from "../protocol/hooks.ts";
import { type Notify, NotifySchema } from "../protocol/notices.ts";
import type { EventConsumer } from "../protocol/wanted.ts";
import type { ConfigText } from "./config-file.ts";

/** Names of the tables. */
export const wantedTables = ["on", "notify"] as const;

/** A table of the file. */
export interface WantedInFile<T extends EventConsumer = EventConsumer> {
  readonly wanted: T;
  readonly path: string;
  readonly line: number;
}

type OrElse = <T>(attempt: () => T, fallback: T) => T;

/** @param orElse returns the fallback where a fault is only reported @throws WshError invalid_setting */
export function hooksIn(config: ConfigText | null, path: string, orElse: OrElse): WantedInFile<Hook>[] {
  return tablesIn("on", HookSchema, config, path, orElse);
}

/** As hooksIn. */
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
    return orElse(() => [{ wanted: parsed(name, schema, table, path, line), path, line }], []);
  });
}

function parsed<T>(name: string, schema: v.GenericSchema<unknown, T>, table: unknown, path: string, line: number): T {
  const result = v.safeParse(schema, table, { abortPipeEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const field = v.getDotPath(issue);
  const fault = `${field === null ? "" : `${field}: `}${issue.message}`;
  const hint = `docs/${name === "on" ? "events" : "notices"}.md lists the fields.`;
  throw new WshError("invalid_setting", `${path}:${line}: [[${name}]] ${fault}`, { key: name, file: path, line, hint });
}
