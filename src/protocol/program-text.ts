/** The program that a call starts: rules on its texts that are independent of the machine. */
import { WshError } from "./errors.ts";

interface ProgramTexts {
  /** Runs instead of a shell. */
  readonly command?: string | null | undefined;
  readonly stdin?: string | undefined;
}

/** @throws WshError invalid_request */
export function requireProgram({ command, stdin }: ProgramTexts): void {
  if (typeof command === "string") {
    if (command.includes("\0")) throw new WshError("invalid_request", "'command' contains a NUL character");
    if (command.trim() === "")
      throw new WshError("invalid_request", "'command' is empty", { hint: "Omit it to start a shell." });
  } else if (stdin !== undefined) throw new WshError("invalid_request", "'stdin' needs a command");
}
