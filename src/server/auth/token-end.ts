/** Ends calls and other work with the token that requested them. */
import { eitherSignal } from "../../base/either-signal.ts";
import type { Call } from "../../operations/call.ts";
import { WshError } from "../../protocol/errors.ts";

/**
 * The result of `work`, unless the token ends first.
 * @param late receives a result that arrives afterwards
 * @throws WshError auth_invalid, and errors of `work`
 */
export async function whileValid<T>(
  ended: AbortSignal | null | undefined,
  work: () => Promise<T>,
  late: (value: T) => void = () => {},
): Promise<T> {
  if (ended == null) return work();
  const over = Promise.withResolvers<never>();
  const end = (): void => over.reject(new WshError("auth_invalid", "the token was revoked or has expired"));
  if (ended.aborted) end();
  ended.addEventListener("abort", end, { once: true });
  try {
    if (ended.aborted) return await over.promise;
    const working = work();
    working.then(
      (value) => ended.aborted && late(value),
      () => {},
    );
    return await Promise.race([over.promise, working]);
  } finally {
    ended.removeEventListener("abort", end);
  }
}

/** Calls that end with their caller's token: their next steps are not begun. */
export function endingCalls(call: Call): Call {
  return async (name, input, context) => {
    const ended = context.ended;
    if (ended === undefined) return call(name, input, context);
    using either = eitherSignal(context.signal, ended);
    return await whileValid(ended, () => call(name, input, { ...context, signal: either.signal }));
  };
}
