/** The signal in a shell's exit code. */
import { constants } from "node:os";

const signalNames = new Map<number, string>(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** The signal that a shell's exit code reports (128 + number); null when it is an ordinary code. */
export function signalOfExitCode(code: number | null): string | null {
  return code === null || code <= 128 ? null : (signalNames.get(code - 128) ?? null);
}
