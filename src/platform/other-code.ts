/**
 * Variables by which a program runs other code than its file's: of Bun, and of the dynamic loader. Our processes are
 * recognised by their file, so those that run in the background are started without them.
 */
const variables: ReadonlySet<string> = new Set([
  ...["BUN_BE_BUN", "BUN_OPTIONS", "BUN_INSPECT", "BUN_INSPECT_CONNECT_TO", "BUN_INSPECT_PRELOAD"],
  ...["BUN_PTY_LIB", "BUN_TCC_OPTIONS", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD"],
]);

/** @param variable its name, or `NAME=value` */
export function givesOtherCode(variable: string): boolean {
  return variables.has(variable.replace(/=.*$/s, ""));
}
