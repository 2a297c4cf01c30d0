/** Parses arguments and options that several commands share. */
import fs from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { type OptionRule, ruleFault } from "../protocol/option-rules.ts";
import { durationOf } from "../protocol/time-text.ts";

/** An invalid command line: exit code 2, before any action. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  constructor(
    message: string,
    readonly hint = "",
  ) {
    super(message);
  }
}

/**
 * @param given options as commander names them, and arguments
 * @param names names in messages for inputs that are not options
 * @throws UsageError for the first broken rule
 */
export function requireOptions(
  rules: readonly OptionRule[],
  given: object,
  names: Readonly<Record<string, string>> = {},
): void {
  const nameOf = (option: string): string => names[option] ?? `--${option.replace(/_|(?=[A-Z])/g, "-").toLowerCase()}`;
  const fault = ruleFault(rules, given as Readonly<Record<string, unknown>>, nameOf);
  if (fault !== null) throw new UsageError(fault.message);
}

/** The argument of an action. @throws UsageError without it */
export function requireArgument(value: string | undefined, action: string, what: string): string {
  if (value !== undefined) return value;
  throw new UsageError(`'${action}' takes ${what}`);
}

/** For numeric options: a whole number, at least `min`. */
export function wholeNumber(min: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value;
    throw new UsageError(`'${text}' is not a whole number of at least ${min}`);
  };
}

/** Collects an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** A path resolved against the current directory, which is read only if needed. */
export function absolute(path: string): string {
  return isAbsolute(path) ? path : resolve(process.cwd(), path);
}

export function seconds(text: string): number {
  const value = Number(text);
  if (/^(\d+\.?\d*|\.\d+)$/.test(text) && Number.isFinite(value)) return Math.round(value * 1000);
  throw new UsageError(`'${text}' is not a number of seconds`);
}

/** Returns ms of `30m`, `12h`, `7d`. @throws UsageError */
export function duration(text: string): number {
  const ms = durationOf(text);
  if (ms !== null) return ms;
  throw new UsageError(`'${text}' is not a duration`, "Give a number and s, m, h, d or w: 30m, 12h, 7d.");
}

/** `NAME=VALUE` of a repeatable option. @throws UsageError */
export function variables(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((text) => {
      const equals = text.indexOf("=");
      if (equals < 1) throw new UsageError(`'${text}' is not NAME=VALUE`);
      return [text.slice(0, equals), text.slice(equals + 1)];
    }),
  );
}

/** The value of --port for a new session: wsh chooses a free port, never one by its number. @throws UsageError */
export function freePort(text: string): "free" {
  if (text === "free") return text;
  throw new UsageError(`--port ${text}: only free is supported, for an unused port`);
}

/** A file that an option names. @throws UsageError */
export function readText(path: string): string {
  try {
    return fs.readFileSync(path, "utf8");
  } catch {
    throw new UsageError(`'${path}' cannot be read`);
  }
}
