/**
 * Facts about a labelled checkpoint beyond the states of its panes: the note, and the git repositories of the
 * panes. They are in a file beside the states, which checkpoints of earlier versions lack.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { readOwnJson } from "../../instance/own-json.ts";
import { WshError } from "../../protocol/errors.ts";
import { type Repository, RepositorySchema } from "../../protocol/worktree.ts";
import { FACTS_FILE } from "./paths.ts";

/** Most characters of a note. */
const MAX_NOTE = 500;
/** Far more than a note, and a repository for each of many panes. */
const MAX_BYTES = 4 * 1024 * 1024;
/** One line, without characters that move the cursor or reorder text. */
const notePattern = /^(?=.*\S)[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+$/u;

const FactsSchema = v.object({
  note: v.nullable(v.string()),
  /** By number of the pane. */
  git: v.record(v.string(), RepositorySchema),
});

export interface CheckpointFacts {
  readonly note: string | null;
  readonly git: Readonly<Record<string, Repository>>;
}

/** @throws WshError invalid_request */
export function checkNote(text: string): string {
  if (notePattern.test(text) && [...text].length <= MAX_NOTE) return text;
  throw new WshError("invalid_request", `a note has 1 to ${MAX_NOTE} visible characters, on one line`);
}

export function writeFacts(directory: string, facts: CheckpointFacts): void {
  fs.writeFileSync(join(directory, FACTS_FILE), JSON.stringify(facts), { mode: 0o600, flag: "wx", flush: true });
}

/** Returns no facts without a readable file. */
export function readFacts(directory: string): CheckpointFacts {
  return readOwnJson(join(directory, FACTS_FILE), FactsSchema, MAX_BYTES) ?? { note: null, git: {} };
}
