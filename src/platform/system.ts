/** Which system this is, and what its kernel refuses to pass to a program. */

export const system: NodeJS.Platform = process.platform;

/**
 * Longest argument or variable in bytes, its NUL left out: Linux counts each by itself (MAX_ARG_STRLEN: 32 pages).
 * Null where only all of them together have a limit.
 */
export const longestArgumentBytes: number | null = system === "linux" ? 32 * 4096 - 1 : null;
