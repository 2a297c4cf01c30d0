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

/** @throws WshError invalid_setting for the first line that is invalid */
export function checkHookLines(hooks: readonly WantedInFile<Hook>[]): void {
  for (const { wanted: hook, path: file, line } of hooks) {
    if (hook.do === undefined) continue;
    try {
      hookCall(hook.do);
    } catch (thrown) {
      const message = `${file}:${line}: [[on]] do: ${WshError.from(thrown).message}`;
      throw new WshError("invalid_setting", message, { key: "on", file, line }, { cause: thrown });
    }
  }
}

/** @throws WshError invalid_setting for the first file with a token that cannot be read, or has none */
export function checkTokens(notices: readonly WantedInFile<Notify>[]): void {
  for (const { wanted, path: file, line } of notices) {
    if (wanted.token_file === undefined) continue;
    try {
      readToken(wanted.token_file);
    } catch (thrown) {
      const message = `${file}:${line}: [[notify]] token_file: ${thrown instanceof Error ? thrown.message : thrown}`;
      throw new WshError("invalid_setting", message, { key: "notify", file, line }, { cause: thrown });
    }
  }
}
