/** The image of a process that ends is never another program's. Linux only. */
import { expect, test } from "bun:test";
import { platform } from "../../../src/platform/platform.ts";

/** With the reads in the other order, a third of them ended with another image. */
const PROCESSES = 50;

test.if(process.platform === "linux")("a process that ends has the image of its program, and then none", () => {
  let last = null;
  for (let n = 0; n < PROCESSES; n++) {
    const { pid } = Bun.spawn(["sleep", "0.02"]);
    // Nothing is awaited, so the process is not reaped: its entry in /proc remains.
    for (let image = platform().processes.image(pid); image !== null; image = platform().processes.image(pid))
      last = image;
    expect(last?.start).toMatch(/^[1-9]\d+$/);
  }
});
