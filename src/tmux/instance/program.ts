/** A `tmux` for machines without one: it runs `wsh tmux`. */
import type { Instance } from "../../instance/paths.ts";
import { selfCommand } from "../../launch/launch.ts";
import { installScripts } from "../../launch/script-files.ts";
import { quote } from "../../shell/quoting.ts";

/** @returns its directory. @throws WshError runtime_dir_unusable */
export function installTmux(instance: Instance): string {
  const self = selfCommand(["tmux"]).map(quote).join(" ");
  const text = `#!/bin/sh\nexec ${self} "$@"\n`;
  return installScripts(instance, [{ name: "tmux", text, isProgram: true }]);
}
