/** Checks of `[[on]]` and `[[notify]]` tables beyond their fields: operation lines (`do = "…"`), files with tokens. */
import { parseCommandLine, TARGET_PARAMETER } from "../../keys/line.ts";
import { type LineCall, lineCall } from "../../operations/line-input.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Hook } from "../../protocol/hooks.ts";
import type { Notify } from "../../protocol/notices.ts";
import { readToken } from "../../secrets/token-file.ts";
import type { WantedInFile } from "../../settings/hooks.ts";

/** @throws WshError invalid_request, unknown_method */
export function hookCall(line: string): LineCall {
  return lineCall(parseCommandLine(line), TARGET_PARAMETER);
}

/** The errors of the operation lines, invalid_setting with their places. */
export function hookLineFaults(hooks: readonly WantedInFile<Hook>[]): WshError[] {
  return hooks.flatMap((hook) => {
    const { do: line } = hook.wanted;
    return line === undefined ? [] : faultOf(hook, "on", "do", () => hookCall(line));
  });
}

/** The errors of files with a token that cannot be read, or have none: invalid_setting with their places. */
export function tokenFaults(notices: readonly WantedInFile<Notify>[]): WshError[] {
  return notices.flatMap((notice) => {
    const { token_file: file } = notice.wanted;
    return file === undefined ? [] : faultOf(notice, "notify", "token_file", () => readToken(file));
  });
}

function faultOf({ path: file, line }: WantedInFile, key: string, field: string, attempt: () => unknown): WshError[] {
  try {
    attempt();
    return [];
  } catch (thrown) {
    const message = `${file}:${line}: [[${key}]] ${field}: ${thrown instanceof Error ? thrown.message : thrown}`;
    return [new WshError("invalid_setting", message, { key, file, line }, { cause: thrown })];
  }
}
