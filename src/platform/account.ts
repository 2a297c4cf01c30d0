/** This user's entry in the system's user database. */
import { onFirstUse } from "./libc.ts";
import { readText } from "./readable.ts";

/** Fields of a line of passwd(5). */
const NAME = 0;
const UID = 2;
const SHELL = 6;

/** This user's login shell in /etc/passwd; null without an entry, for example when another database holds the users. */
export function accountShell(): string | null {
  return accountField(SHELL, process.getuid?.());
}

/** This user's name in /etc/passwd, else as the environment has it; without both, the number. */
export const accountName = onFirstUse((): string => {
  const uid = process.getuid?.();
  return accountField(NAME, uid) ?? process.env.USER ?? String(uid ?? "");
});

function accountField(field: number, uid: number | undefined): string | null {
  // A container may have no users.
  const account = (readText("/etc/passwd") ?? "").split("\n").map((line) => line.split(":"));
  return account.find((fields) => fields[UID] === String(uid))?.[field]?.trim() || null;
}
