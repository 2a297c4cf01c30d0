/** Receipts in the trailers of commits: each is checked against the files of its commit. */
import { type GitPlace, git } from "../platform/git.ts";
import { WshError } from "../protocol/errors.ts";
import { type Checked, check } from "./check.ts";
import type { VerifyingKey } from "./keys.ts";

export const TRAILER = "Wsh-Receipt";

export interface CheckedCommit {
  readonly commit: string;
  readonly receipts: readonly Checked[];
  /** Required commands without a valid receipt; only for the newest commit. */
  readonly missing: readonly string[];
}

/**
 * @param range as git takes it, such as `main..HEAD` @param required commands for each of which the newest commit needs
 * a valid receipt @throws WshError invalid_request with git's message
 */
export async function checkCommits(
  place: GitPlace,
  range: string,
  keys: readonly VerifyingKey[],
  required: readonly string[],
): Promise<CheckedCommit[]> {
  const format = `--format=%x01%H%x00%T%x00%(trailers:key=${TRAILER},valueonly,unfold,separator=%x00)`;
  const log = await git(place, "log", format, "--end-of-options", range, "--").catch((error: unknown) => {
    throw new WshError("invalid_request", `git cannot list '${range}': ${error instanceof Error ? error.message : ""}`);
  });
  const commits = log.split("\x01").slice(1);
  return commits.map((text, index) => {
    const [commit = "", tree = "", ...trailers] = text.trimEnd().split("\0");
    const receipts = trailers.filter((each) => each !== "").map((each) => check(each, keys, { tree }));
    const good = receipts
      .filter(({ faults }) => faults.length === 0)
      .map(({ statement }) => statement?.predicate.command);
    return { commit, receipts, missing: index === 0 ? required.filter((each) => !good.includes(each)) : [] };
  });
}
