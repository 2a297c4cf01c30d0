/**
 * Writes to a pipe whose reader may be gone, or read slowly. Bun reports a closed reader in one of three ways: `write`
 * throws, its promise rejects, or that of `flush` does. An unhandled rejection would end this process.
 */

/**
 * Copies the bytes. @returns null when all were taken; else a promise until then, which rejects if the reader is gone
 */
export function writeThrough(sink: Bun.FileSink, bytes: Uint8Array): Promise<void> | null {
  let written: number | Promise<number>;
  try {
    written = sink.write(new Uint8Array(bytes));
  } catch (thrown) {
    return Promise.reject(thrown);
  }
  try {
    const flushed = sink.flush();
    if (!(written instanceof Promise) && !(flushed instanceof Promise)) return null;
    return Promise.all([written, flushed]).then(() => {});
  } catch (thrown) {
    return Promise.all([written, Promise.reject<void>(thrown)]).then(() => {});
  }
}
