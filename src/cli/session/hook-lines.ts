/** Parses the lines of hooks (`do = "…"`): operations with parameters, as in key bindings. */
import { parseCommandLine, TARGET_PARAMETER } from "../../keys/line.ts";
import { type LineCall, lineCall } from "../../operations/line-input.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Hook } from "../../protocol/hooks.ts";
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
