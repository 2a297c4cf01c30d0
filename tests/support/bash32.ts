/**
 * macOS's bash. The real one if it exists (WSH_BASH32, /opt/bash-3.2/bin/bash, /bin/bash of a Mac; tests/README.md says how
 * to build it), and on Linux always a stand-in: this machine's bash with another version in its file, which shows
 * how wsh treats an old bash, but not what an old bash does.
 */
import fs from "node:fs";
import { join } from "node:path";
import { bashVersion } from "../../src/pane/bash-version.ts";

const places = [process.env.WSH_BASH32 ?? "", "/opt/bash-3.2/bin/bash", "/bin/bash"];

/** Path of a real bash 3.2; null, reported once, when there is none. */
export const realBash32: string | null =
  places.find((path) => path !== "" && bashVersion(path)?.major === 3 && bashVersion(path)?.minor === 2) ?? null;

if (realBash32 === null) console.error("SKIPPED: bash 3.2 is not installed, so what tests it does not run");

/** Writes a bash that reports version 3.2 into a directory; null if this machine's bash is not understood. */
export function standIn(directory: string): string | null {
  const bytes = fs.readFileSync("/bin/bash").toString("latin1");
  const version = bashVersion("/bin/bash");
  if (version === null) return null;
  const present = `${version.major}.${version.minor}`;
  // The first is the source of BASH_VERSINFO, the second that of what(1).
  const old = bytes
    .replace(`\0${present}\0`, "\x003.2\0")
    .replace(`@(#)Bash version ${present}`, "@(#)Bash version 3.2");
  if (old.length !== bytes.length) return null;
  const file = join(directory, "bash");
  fs.writeFileSync(file, Buffer.from(old, "latin1"), { mode: 0o755 });
  const said = Bun.spawnSync([file, "-c", "echo $" + "{BASH_VERSINFO[0]}.$" + "{BASH_VERSINFO[1]}"]);
  return said.stdout.toString() === "3.2\n" ? file : null;
}
