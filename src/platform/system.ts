/** The system's name, and the limits of its kernel on a program's arguments. */

export const system: NodeJS.Platform = process.platform;

/**
 * Longest argument or variable in bytes, without its NUL: Linux limits each one (MAX_ARG_STRLEN: 32 pages).
 * Null where only their total is limited.
 */
export const longestArgumentBytes: number | null = system === "linux" ? 32 * 4096 - 1 : null;
