/** What the system's user database says about this user. */
import fs from "node:fs";

/** Fields of a line of passwd(5). */
const UID = 2;
const SHELL = 6;

/** The login shell that /etc/passwd names for this user; null when it names none, or the users stand elsewhere. */
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
