/** The options of a terminal's steps, and how commands end. */
import type { OperationOutput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";

export interface StepOptions {
  /** Longest wait in ms. */
  readonly timeout?: number;
}

export interface WaitOptions extends StepOptions {
  /** null when the command, or the program, ends or has ended before. */
  readonly orEnd?: boolean;
}

export interface ExpectOptions extends WaitOptions {
  /** An output cursor: only later output counts. */
  readonly since?: number;
}

export interface ExecOptions extends StepOptions {
  /** Output: only lines that match (RE2), with lines around them; the first or last ones. */
  readonly grep?: string | RegExp;
  readonly context?: number;
  readonly head?: number;
  readonly tail?: number;
  /** Limit of the output in bytes; past it head and tail are retained. */
  readonly output_limit?: number;
}

/** How a command ended, as in all interfaces of wsh. */
export type ExecOutcome = Omit<OperationOutput<"exec">, "exit_code" | "output"> & {
  readonly exit_code: number | null;
  readonly output: string;
};

/** How a command ended, or the session's program (without `id` and `command`). */
export interface CommandOutcome {
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly id?: number;
  readonly command?: string | null;
}

export interface OutputOptions {
  readonly since?: number;
  readonly command?: number;
  readonly lines?: number;
  readonly grep?: string | RegExp;
  readonly max_bytes?: number;
}

/** The limit of a step, in whole ms. @throws WshError invalid_request */
export function limitOf(timeout: unknown): number {
  return Math.ceil(requireNumber("timeout", timeout));
}

/** Refuses numbers that JSON would turn into null, under the name that the caller wrote. @throws WshError */
export function requireNumbers(input: object): void {
  for (const [name, value] of Object.entries(input)) if (typeof value === "number") requireNumber(name, value);
}

export function requireNumber(name: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  const given = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  throw new WshError("invalid_request", `'${name}' must be a finite number from 0, not ${given}`, { hint: "" });
}
