/**
 * Whether a receipt proves a claim: which command ran, how it ended, and on which files. The result lists
 * every part of the claim that does not hold; a claim that the receipt does not mention does not hold.
 */
import { createHash } from "node:crypto";
import { type Predicate, type Statement, subjectsOf } from "../protocol/receipt.ts";
import { open } from "./envelope.ts";
import type { VerifyingKey } from "./keys.ts";

export interface Claims {
  readonly command?: string | undefined;
  /** Default: 0. */
  readonly exit?: number | undefined;
  /** The files on which it ran without changing them. */
  readonly tree?: string | undefined;
  /** The text of its output, as `wsh output` prints it. */
  readonly output?: string | undefined;
}

export interface Checked {
  readonly statement: Statement | null;
  /** The key that signed it. */
  readonly key: string | null;
  /** Reasons why the claim does not hold; empty: it holds. */
  readonly faults: readonly string[];
}

/** @param given an envelope: JSON, or the value of a trailer */
export function check(given: string, keys: readonly VerifyingKey[], claims: Claims): Checked {
  const opened = open(given, keys);
  if (opened.fault !== undefined) return { statement: null, key: null, faults: [opened.fault] };
  const { statement, key } = opened;
  return { statement, key: key.id, faults: [...consistency(statement), ...faultsOf(statement.predicate, claims)] };
}

/** Contradictions within the statement; wsh signs none. */
function consistency({ subject, predicate }: Statement): string[] {
  const { started_at, ended_at } = predicate;
  const isOrdered = ended_at === null || Date.parse(ended_at) >= Date.parse(started_at);
  const isSame = JSON.stringify(subject) === JSON.stringify(subjectsOf(predicate));
  return [
    ...(isOrdered ? [] : ["it ended before it started"]),
    ...(isSame ? [] : ["its subjects are not those of its statement"]),
  ];
}

function faultsOf(predicate: Predicate, { command, exit = 0, tree, output }: Claims): string[] {
  const { state, verified, exit_code, signal } = predicate;
  const ended = exit_code === null ? `by ${signal ?? "an unknown cause"}` : `with ${exit_code}`;
  const faults = [
    state === "finished" ? null : `the command did not end: ${state}`,
    verified ? null : `the shell has not confirmed it${reasons(predicate)}`,
    exit_code === exit ? null : `the command ended ${ended}, not with ${exit}`,
    command === undefined || predicate.command === command ? null : `the command was '${predicate.command ?? "?"}'`,
    tree === undefined ? null : treeFault(predicate, tree),
    output === undefined ? null : outputFault(predicate, output),
  ];
  return faults.filter((fault) => fault !== null);
}

function reasons({ warnings = [] }: Predicate): string {
  return warnings.length === 0 ? "" : `: ${warnings.join("; ")}`;
}

/** A command that changed the files has not tested the files that it left. */
function treeFault({ git }: Predicate, tree: string): string | null {
  const { before, after, missing = "they were not recorded" } = git;
  if (before === null || after === null) return `its files are unknown: ${missing}`;
  if (after.tree !== tree) return `it left the tree ${after.tree}, not ${tree}`;
  return before.tree === tree ? null : `it ran on the tree ${before.tree} and changed its files`;
}

function outputFault({ output, no_output = "it was not recorded" }: Predicate, text: string): string | null {
  if (output === null) return `its output is unknown: ${no_output}`;
  return createHash("sha256").update(text).digest("hex") === output.sha256 ? null : "it printed another output";
}
