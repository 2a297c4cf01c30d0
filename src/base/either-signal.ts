/**
 * A signal that aborts with the first of several, until it is disposed of. `AbortSignal.any` of Bun 1.4.4
 * retains each signal that it made for as long as its longest-living source: 1.2 KB per call on a
 * connection's or token's signal.
 */
export function eitherSignal(...sources: readonly AbortSignal[]): { readonly signal: AbortSignal } & Disposable {
  const either = new AbortController();
  const abort = (): void => either.abort();
  for (const source of sources) {
    if (source.aborted) abort();
    else source.addEventListener("abort", abort, { once: true });
  }
  return {
    signal: either.signal,
    [Symbol.dispose]() {
      for (const source of sources) source.removeEventListener("abort", abort);
    },
  };
}
