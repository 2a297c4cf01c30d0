/** The image of a process that ends is never another program's. Linux only. */
import { expect, test } from "bun:test";
import { platform } from "../../../src/platform/platform.ts";

/** Without the order in which the image is read, every third of them showed another image at its end. */
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
