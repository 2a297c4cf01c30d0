/**
 * In a home without this directory fish makes completions of every manual page, a second of a processor each time.
 * https://github.com/fish-shell/fish-shell/blob/3.6.0/share/functions/__fish_config_interactive.fish#L85
 */
import fs from "node:fs";
import { join } from "node:path";

export function prepareFish(home: string): void {
  fs.mkdirSync(join(home, ".local/share/fish/generated_completions"), { recursive: true });
}
