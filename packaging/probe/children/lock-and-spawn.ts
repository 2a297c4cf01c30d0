/** `lock-and-spawn.ts LOCK`: takes a lock, starts a program that outlives this process, says its pid, and waits. */
import fs from "node:fs";
import { tryFlock } from "../../../src/platform/descriptors.ts";

const [lock = ""] = process.argv.slice(2);
const outcome = tryFlock(fs.openSync(lock, "w"));
const child = Bun.spawn(["sleep", "300"], { detached: true, stdio: ["ignore", "ignore", "ignore"] });
child.unref();
console.log(JSON.stringify({ outcome: outcome.kind, child: child.pid }));
setInterval(() => {}, 60_000);
