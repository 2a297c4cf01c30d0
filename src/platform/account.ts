/** This user's entry in the system's user database. */
import fs from "node:fs";

/** Fields of a line of passwd(5). */
const UID = 2;
const SHELL = 6;

/** This user's login shell in /etc/passwd; null without an entry, for example when another database holds the users. */
export function accountShell(passwd = "/etc/passwd", uid = process.getuid?.()): string | null {
  let text: string;
  try {
    text = fs.readFileSync(passwd, "utf8");
  } catch {
    return null; // a container without users
  }
  const account = text.split("\n").map((line) => line.split(":"));
  return account.find((fields) => fields[UID] === String(uid))?.[SHELL]?.trim() || null;
}
