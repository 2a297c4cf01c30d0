/** Ends calls and other work with the token that requested them. */
import { eitherSignal } from "../../base/either-signal.ts";
import type { Call } from "../../operations/call.ts";
import { WshError } from "../../protocol/errors.ts";

/**
 * The result of `work`, unless the token ends first.
 * @param onLateValue receives a result that arrives afterwards
 * @throws WshError auth_invalid, and errors of `work`
 */
export async function whileValid<T>(
  endSignal: AbortSignal | null | undefined,
  work: () => Promise<T>,
  onLateValue: (value: T) => void = () => {},
): Promise<T> {
  if (endSignal == null) return work();
  const expiry = Promise.withResolvers<never>();
  const end = (): void => expiry.reject(new WshError("auth_invalid", "the token was revoked or has expired"));
  if (endSignal.aborted) end();
  endSignal.addEventListener("abort", end, { once: true });
  try {
    if (endSignal.aborted) return await expiry.promise;
    const working = work();
    working.then(
      (value) => endSignal.aborted && onLateValue(value),
      () => {},
    );
    return await Promise.race([expiry.promise, working]);
  } finally {
    endSignal.removeEventListener("abort", end);
  }
}

/** Calls that end with their caller's token: their next steps are not begun. */
export function endingCalls(call: Call): Call {
  return async (name, input, context) => {
    const endSignal = context.ended;
    if (endSignal === undefined) return call(name, input, context);
    using either = eitherSignal(context.signal, endSignal);
    return await whileValid(endSignal, () => call(name, input, { ...context, signal: either.signal }));
  };
}
