/**
 * config.toml as text: what it holds and on which line each key stands. The TOML reader of Bun names what is wrong but
 * not where, so the place of an error is found by reading ever shorter beginnings of the file: the statement that
 * starts after the longest readable beginning is the wrong one. Pure; reading the file is the caller's.
 */

import { WshError } from "../protocol/errors.ts";

export interface ConfigText {
  readonly values: Readonly<Record<string, unknown>>;
  /** The line of a key or table at the top level, 1-based; 1 when it cannot be told. */
  lineOf(key: string): number;
}

/** Reads TOML. WshError invalid_setting with `file` and `line` when it is none; `path` is for the message. */
export function parseConfig(text: string, path: string): ConfigText {
  const lines = text.split("\n");
  const parsed = tryParse(text);
  if (!parsed.ok) {
    const line = failingLine(lines);
    const shown = (lines[line - 1] ?? "").trim();
    throw new WshError("invalid_setting", `${path}:${line}: ${parsed.reason} in '${shown}'`, { file: path, line });
  }
  return { values: parsed.values, lineOf: (key) => keyLine(lines, key) };
}

type Parsed = { ok: true; values: Readonly<Record<string, unknown>> } | { ok: false; reason: string };

function tryParse(text: string): Parsed {
  try {
    return { ok: true, values: { ...Bun.TOML.parse(text) } };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, reason: message.replace(/^TOML Parse error: /, "") };
  }
}

/** 1-based. Only runs for a file that is wrong, whose size the caller has limited. */
function failingLine(lines: readonly string[]): number {
  for (let readable = lines.length - 1; readable >= 0; readable -= 1) {
    if (tryParse(lines.slice(0, readable).join("\n")).ok) return readable + 1;
  }
  return 1;
}

function keyLine(lines: readonly string[], key: string): number {
  const name = key.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = new RegExp(`^\\s*(?:\\[\\[?\\s*)?["']?${name}["']?\\s*[=.\\]]`);
  const index = lines.findIndex((line) => pattern.test(line));
  return index === -1 ? 1 : index + 1;
}
