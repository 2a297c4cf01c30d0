/** Whether a program can insert input into its terminal (TIOCSTI), and so into the shell that reads it next. */
import { readText } from "./readable.ts";

/** Linux reports it here since 6.2. */
const LEGACY_TIOCSTI = "/proc/sys/dev/tty/legacy_tiocsti";

export function canTypeIntoTerminal(): boolean {
  // An earlier kernel, or another system, does not report it.
  return readText(LEGACY_TIOCSTI)?.trim() !== "0";
}
