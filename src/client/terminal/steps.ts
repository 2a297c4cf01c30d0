/**
 * A program's steps on a terminal, for traces and failures: the action, the program's line, and the end. The line is
 * determined when the step begins, since code after an `await` has no line in the stack.
 */
import { WshError } from "../../protocol/errors.ts";
import { type FailureFacts, TerminalFailure } from "./failure.ts";

export interface RecordedStep {
  /** The step as the program writes it, such as `expect(/ready/)`. */
  readonly text: string;
  /** The call stack at the step's beginning. */
  readonly stack: string;
}

/** Called for every step; the function that it returns is called at the step's end. */
export type StepWatcher<T> = (terminal: T, step: RecordedStep) => Promise<(failure: Error | null) => Promise<void>>;

export interface StepOrigin<T> {
  readonly terminal: T;
  /** The method that the program calls: the stack begins below it. */
  readonly method: (...given: never[]) => unknown;
  readonly text: string;
  readonly watch: StepWatcher<T> | undefined;
  /** Returns facts about the terminal for a failure of the step. @param refusal null: the awaited event did not happen */
  readonly explain: (refusal: WshError | null) => Promise<FailureFacts>;
}

/** Called with a doubt about a completed step, for example that the program may not read the typed text. */
export type StepDoubt = (text: string) => void;

/** The awaited event did not happen. */
export class NotMet extends Error {}

/** Runs a step. @throws TerminalFailure whose stack begins at the line of the program */
export async function stepped<T, R>(origin: StepOrigin<T>, act: () => Promise<R>): Promise<R> {
  const { terminal, method, text, watch } = origin;
  const failure = withOrigin(new TerminalFailure(), method);
  const { stack = "" } = withOrigin(new Error(), method);
  let ended: Awaited<ReturnType<StepWatcher<T>>> | undefined;
  try {
    ended = await watch?.(terminal, { text, stack });
    const result = await act();
    await ended?.(null);
    return result;
  } catch (thrown) {
    const failed = await failureOf(thrown, failure, origin);
    await ended?.(failed);
    throw failed;
  }
}

/** Engines without captureStackTrace keep the frames of this library, under its own name. */
function withOrigin<E extends Error>(error: E, method: StepOrigin<unknown>["method"]): E {
  Error.captureStackTrace?.(error, method);
  return error;
}

/** The error's stack without the message. */
export function framesOf({ stack = "" }: Error): string {
  return stack.replace(/^(?!\s*at )[^\n]*\n/, "");
}

async function failureOf(
  thrown: unknown,
  failure: TerminalFailure,
  { text, explain }: Pick<StepOrigin<unknown>, "text" | "explain">,
): Promise<Error> {
  if (thrown instanceof NotMet) return failure.fill(`${text}: ${thrown.message}`, await explain(null));
  if (thrown instanceof WshError) {
    const facts = await explain(thrown);
    const gone = `${text}: session '${facts.session}' was ended (${thrown.code})`;
    return failure.fill(isGone(thrown) ? gone : refused(text, thrown), facts);
  }
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The session was ended while a program used it. */
export function isGone(thrown: unknown): boolean {
  return thrown instanceof TerminalFailure || thrown instanceof WshError
    ? ["session_not_found", "pane_not_found"].includes(thrown.code)
    : false;
}

function refused(text: string, error: WshError): string {
  // The default hint names documents of other interfaces.
  const hint = error.hint.startsWith("Correct the request;") ? "" : error.hint;
  return `${text}: ${error.message} (${error.code})${hint === "" ? "" : `. ${hint}`}`;
}

/** What Bun's transpiler writes for characters that are not ASCII. */
const ESCAPED = /\\u((?!00[0-7])[0-9a-f]{4})/gi;

/** A value as a program writes it, shortened. */
export function written(value: unknown): string {
  const plain = (pattern: RegExp) =>
    String(pattern).replace(ESCAPED, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
  const text = value instanceof RegExp ? plain(value) : (JSON.stringify(value, readable) ?? String(value));
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

function readable(_key: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value instanceof RegExp) return String(value);
  return typeof value === "function" ? "(screen) => …" : value;
}

export function seconds(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`;
}
