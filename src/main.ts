#!/usr/bin/env bun
/**
 * Selects the role and loads only its code: `--version` needs nothing, a session process none of the command line's.
 */
import { VERSION } from "./protocol/version.ts";

const [first, ...rest] = process.argv.slice(2);

if ((first === "--version" || first === "-V") && rest.length === 0) {
  // Node's stream would take twice as long as everything else.
  console.log(`wsh ${VERSION}`);
} else if (first === "session-process" && rest.length === 0) {
  const { runSessionProcess } = await import("./session-process/main.ts");
  await runSessionProcess();
} else if (first === "history-worker" && rest.length === 0) {
  const { runHistoryWorker } = await import("./history/worker.ts");
  await runHistoryWorker();
} else if (first === "script-sandbox" && rest.length === 0) {
  const { runSandbox } = await import("./script/sandbox.ts");
  await runSandbox();
} else if (first === "proxy" && rest.length <= 1) {
  const { runProxy } = await import("./cluster/proxy.ts");
  await runProxy(rest[0]);
} else {
  const { main } = await import("./cli/main.ts");
  await main(process.argv.slice(2));
}
