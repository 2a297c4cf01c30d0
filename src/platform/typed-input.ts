/** Whether a program can insert input into its terminal (TIOCSTI), and so into the shell that reads it next. */
import fs from "node:fs";

/** Linux reports it here since 6.2. */
const LEGACY_TIOCSTI = "/proc/sys/dev/tty/legacy_tiocsti";

export function canTypeIntoTerminal(): boolean {
  try {
    return fs.readFileSync(LEGACY_TIOCSTI, "utf8").trim() !== "0";
  } catch {
    return true; // an earlier kernel, or another system
  }
}
