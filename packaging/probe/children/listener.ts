/** `listener.ts SOCKET LOCK`: listens and holds a lock, as a session process does; then says so and waits. */
import fs from "node:fs";
import { tryFlock } from "../../../src/platform/descriptors.ts";

const [socket = "", lock = ""] = process.argv.slice(2);
const outcome = tryFlock(fs.openSync(lock, "w"));
Bun.listen({ unix: socket, socket: { data: () => {} } });
console.log(outcome.kind);
