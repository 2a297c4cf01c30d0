/**
 * The C library that the process already uses, opened through bun:ffi for the few calls that neither Node's nor Bun's
 * API offers. Each module names the functions that it needs and opens them at its first call (~0.3 ms), so that
 * importing one costs nothing.
 */
import { dlopen, type FFIFunction, type Library, read } from "bun:ffi";
import { WshError } from "../protocol/errors.ts";
import { system } from "./system.ts";

const { names, errno: errnoFunction } = system.libc;

/** @throws WshError internal_error without a C library, or when it lacks one of the functions */
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

type Ioctl = (fd: number, request: number, data: Uint16Array | Int32Array | Uint8Array) => number;
type Fcntl = (fd: number, command: number, value: number) => number;

/**
 * ioctl and fcntl take a variable argument. On systems that pass such arguments on the stack, padding fills
 * the remaining registers, so that the argument lands there.
 */
export function openIoctl(): Ioctl {
  if (!system.variadicOnStack) {
    return openLibc({ ioctl: { args: ["i32", "u64", "ptr"], returns: "i32" } }).ioctl;
  }
  const args = ["i32", "u64", "u64", "u64", "u64", "u64", "u64", "u64", "ptr"] as const;
  const { ioctl } = openLibc({ ioctl: { args, returns: "i32" } });
  return (fd, request, data) => ioctl(fd, request, 0, 0, 0, 0, 0, 0, data);
}

/** Like openIoctl, for fcntl. */
export function openFcntl(): Fcntl {
  if (!system.variadicOnStack) {
    return openLibc({ fcntl: { args: ["i32", "i32", "i64"], returns: "i32" } }).fcntl;
  }
  const args = ["i32", "i32", "u64", "u64", "u64", "u64", "u64", "u64", "i64"] as const;
  const { fcntl } = openLibc({ fcntl: { args, returns: "i32" } });
  return (fd, command, value) => fcntl(fd, command, 0, 0, 0, 0, 0, 0, value);
}

const errno = onFirstUse(() => openLibc({ [errnoFunction]: { args: [], returns: "ptr" } })[errnoFunction]);

/** Opens errno's reader. Call it before the call that may fail, since opening may change errno. */
export function prepareErrno(): void {
  errno();
}

/** The errno of the last failed call; 0 if it cannot be read. */
export function readErrno(): number {
  const place = errno()?.();
  return typeof place === "number" ? read.i32(place) : 0;
}
