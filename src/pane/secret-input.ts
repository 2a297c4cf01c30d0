/**
 * Passes a secret to the program that reads a password, and to no other: the group that holds the terminal and the
 * hidden echo are checked again in the turn of the write. The bytes bypass everything that records input, and are
 * overwritten afterwards.
 */
import type { SecretPrompt } from "../protocol/secret.ts";
import { hidesTypedText } from "../pty/port.ts";
import type { Program } from "./program.ts";
import type { ProgramState } from "./state/classify.ts";

/** The program that reads it. */
type SecretProgram = Pick<Program, "pty" | "foreground" | "input" | "exit">;

export class SecretInput {
  constructor(
    private readonly program: SecretProgram,
    private readonly state: () => ProgramState,
  ) {}

  /** Returns null when no program reads a password now, or its group is unknown. */
  prompt(): SecretPrompt | null {
    if (this.program.exit !== null) return null;
    const { state, foreground } = this.state();
    const group = this.program.foreground();
    if (state !== "password" || group === null) return null;
    return {
      group,
      pid: foreground?.pid ?? null,
      program: foreground?.name ?? "a program",
      commandLine: foreground?.args.join(" ") ?? "",
    };
  }

  /** Makes the terminal echo what is typed. @returns whether it does now */
  switchEchoOn(): boolean {
    return this.program.pty?.switchEchoOn() === true;
  }

  /** Types a secret if that program still reads one; overwrites the bytes. @returns whether the program received it */
  async type({ group }: Pick<SecretPrompt, "group">, secret: Uint8Array): Promise<boolean> {
    const { pty, input } = this.program;
    try {
      if (pty === null || input.isWriting || !hidesTypedText(pty.flags()) || pty.foreground() !== group) return false;
      using hold = input.hold();
      await hold.write(secret);
      return true;
    } catch {
      return false;
    } finally {
      secret.fill(0);
    }
  }
}
