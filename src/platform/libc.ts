/**
 * The C library that the process already uses, opened through bun:ffi for the few calls that neither Node's nor Bun's
 * API offers. Each module names the functions that it needs and opens them at its first call (~0.3 ms), so that
 * importing one costs nothing.
 */
import { dlopen, type FFIFunction, type Library, read } from "bun:ffi";
import { WshError } from "../protocol/errors.ts";

export const isDarwin = process.platform === "darwin";

/** The library's names on glibc, musl and macOS. */
const names = isDarwin
  ? ["libSystem.B.dylib"]
  : ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`, "libc.so"];
/** The library's function that returns the address of errno. */
const errnoFunction = isDarwin ? "__error" : "__errno_location";

/** @throws WshError internal_error when there is no C library, or it lacks one of the functions */
export function openLibc<const F extends Record<string, FFIFunction>>(functions: F): Library<F>["symbols"] {
  let failure: unknown;
  for (const name of names) {
    try {
      return dlopen(name, functions).symbols;
    } catch (error) {
      failure = error;
    }
  }
  throw new WshError("internal_error", `none of ${names.join(", ")} can be loaded`, {}, { cause: failure });
}

/** Returns a function that calls `open` at its first call and returns that result from then on. */
export function onFirstUse<T>(open: () => T): () => T {
  let opened: { readonly value: T } | null = null;
  return () => {
    opened ??= { value: open() };
    return opened.value;
  };
}

const errno = onFirstUse(() => openLibc({ [errnoFunction]: { args: [], returns: "ptr" } })[errnoFunction]);

/** Opens errno's reader. Call it before the call that may fail, since opening may change errno. */
export function prepareErrno(): void {
  errno();
}

/** The errno of the failed call just before this; 0 where it cannot be read. */
export function readErrno(): number {
  const place = errno()?.();
  return typeof place === "number" ? read.i32(place) : 0;
}
