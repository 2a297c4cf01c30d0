/** The image of a process that ends is never another program's. Linux only. */
import { expect, test } from "bun:test";
import { platform } from "../../../src/platform/platform.ts";

/** With the reads in the other order, a third of them ended with another image. */
const PROCESSES = 50;

test.if(process.platform === "linux")("a process that ends keeps its image, and then has none", async () => {
  const { image } = platform().processes;
  for (let n = 0; n < PROCESSES; n++) {
    const { pid, stdout } = Bun.spawn(["sh", "-c", "echo runs; read never"], { stdin: "pipe", stdout: "pipe" });
    // While a program is being loaded, the place of its stack changes.
    await stdout.getReader().read();
    const running = image(pid);
    if (running === null) throw new Error(`process ${pid} has no image`);
    process.kill(pid, "SIGKILL");
    // Nothing is awaited from here on, so the process is not reaped: its entry in /proc remains.
    for (let last = image(pid); last !== null; last = image(pid)) expect(last).toEqual(running);
  }
});
