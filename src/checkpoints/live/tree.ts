/**
 * A checkpoint's layout of a session with several panes: properties of the whole session, and the arrangement. Written
 * by this program alone, completely or not at all: its parts need no separate checks.
 */
import * as v from "valibot";
import type { ElementState } from "../../session/drawing/element.ts";
import type { Windows } from "../../session/windows/state.ts";

const VERSION = 1;

const StoredSchema = v.object({
  version: v.literal(VERSION),
  /** Id of its process in the registry; 0 without one. */
  host: v.number(),
  session: v.number(),
  name: v.string(),
  tags: v.array(v.string()),
  private: v.boolean(),
  created_at: v.number(),
  rows: v.number(),
  cols: v.number(),
  elements: v.unknown(),
  windows: v.unknown(),
  env: v.record(v.string(), v.string()),
  nofile: v.nullable(v.number()),
});

export interface Stored {
  readonly host: number;
  readonly session: number;
  readonly name: string;
  readonly tags: readonly string[];
  readonly private: boolean;
  readonly created_at: number;
  readonly rows: number;
  readonly cols: number;
  readonly elements: ElementState;
  readonly windows: Windows;
  readonly env: Readonly<Record<string, string>>;
  readonly nofile: number | null;
}

/** The session in the form that `parseTree` reads. */
export function treeOf(stored: Stored): object {
  return { version: VERSION, ...stored };
}

export function parseTree(value: unknown): Stored {
  return v.parse(StoredSchema, value) as Stored;
}
