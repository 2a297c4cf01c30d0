/** Imports journals in a separate process that a test can kill: `bun import-journals-child.ts DIRECTORY`. */
import { join } from "node:path";
import { takeIn } from "./take-in.ts";

const [directory = ""] = process.argv.slice(2);
takeIn({ journals: directory, database: join(directory, "history.db") }, { days: 36_500, bytes: 1e12 });
