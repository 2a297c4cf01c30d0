/** The one report of a child that launch.ts started to its starter. */

import fs from "node:fs";
import { detachStdio } from "../platform/descriptors.ts";
import { WshError } from "../protocol/errors.ts";
import type { ReadyReport } from "./launch.ts";

/** Sends the one report, then detaches stdin and stdout. */
export function reportReady(report: ReadyReport): void {
  try {
    fs.writeSync(1, `${JSON.stringify({ ok: true, ...report })}\n`);
  } finally {
    detachStdio(); // a starter that has gone meanwhile is not an error
  }
}

/** Reports why the child cannot run. The caller ends the process. */
export function reportFailure(error: unknown): void {
  fs.writeSync(1, `${JSON.stringify({ error: WshError.from(error).toBody() })}\n`);
}
