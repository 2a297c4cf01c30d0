/**
 * `lock-and-spawn.ts PATH`: takes the lock of a file or a directory, starts a program that outlives this process, says its
 * pid, and waits.
 */
import fs from "node:fs";
import { tryFlock } from "../../../src/platform/descriptors.ts";

const [path = ""] = process.argv.slice(2);
const outcome = tryFlock(fs.openSync(path, "r"));
const child = Bun.spawn(["sleep", "300"], { detached: true, stdio: ["ignore", "ignore", "ignore"] });
child.unref();
console.log(JSON.stringify({ outcome: outcome.kind, child: child.pid }));
setInterval(() => {}, 60_000);
