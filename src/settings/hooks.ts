/** Reads the tables `[[on]]` of the settings: what runs when something happens. Pure. */
import * as v from "valibot";
import { WshError } from "../protocol/errors.ts";
import { type Hook, HookSchema } from "../protocol/hooks.ts";
import type { ConfigText } from "./config-file.ts";

/** Name of the tables. */
export const ON = "on";

/** A hook of the file. */
export interface HookInFile {
  readonly hook: Hook;
  readonly path: string;
  readonly line: number;
}

/** @param orElse returns the fallback where a fault is only reported @throws WshError invalid_setting */
export function hooksIn(
  config: ConfigText | null,
  path: string,
  orElse: <T>(attempt: () => T, fallback: T) => T,
): HookInFile[] {
  const tables = config?.values[ON];
  if (config === null || !Array.isArray(tables)) return [];
  const lines = config.linesOfTables(ON);
  return tables.flatMap((table: unknown, at) => {
    const line = lines[at] ?? 1;
    return orElse(() => [{ hook: hookOf(table, path, line), path, line }], []);
  });
}

function hookOf(table: unknown, path: string, line: number): Hook {
  const parsed = v.safeParse(HookSchema, table, { abortPipeEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const field = v.getDotPath(issue);
  const fault = `${field === null ? "" : `${field}: `}${issue.message}`;
  const hint = "docs/events.md lists events and fields.";
  throw new WshError("invalid_setting", `${path}:${line}: [[on]] ${fault}`, { key: ON, file: path, line, hint });
}
