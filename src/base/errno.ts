/** System errors, as Node and Bun throw them. */

/** The system's name of an error (ENOENT, …), empty for any other error. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
