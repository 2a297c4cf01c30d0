/** A connection that cannot be made says why: nobody listens, or this process has no descriptor left. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";

test("without descriptors, a listener is not taken for gone", async () => {
  const dir = fs.mkdtempSync(join(os.tmpdir(), "wire-"));
  const listener = Bun.listen({ unix: join(dir, "socket"), socket: { data() {} } });
  const script = `
    import fs from "node:fs";
    import { platform } from ${JSON.stringify(join(import.meta.dir, "../../../src/platform/platform.ts"))};
    import { Wire } from ${JSON.stringify(join(import.meta.dir, "../../../src/wire/socket.ts"))};
    const failure = (path) => Wire.connect(path, {}, 50).then(() => "none", ({ code }) => code);
    const [listening, deserted] = [${JSON.stringify(join(dir, "socket"))}, ${JSON.stringify(join(dir, "none"))}];
    const failures = [await failure(deserted)];
    // Code is loaded while it can be.
    platform().sockets.connect(listening);
    const taken = [];
    try { for (;;) taken.push(fs.openSync("/dev/null")); } catch {}
    failures.push(await failure(listening));
    for (const fd of taken) fs.closeSync(fd);
    failures.push(await failure(listening));
    console.log(failures.join());
    process.exit();`;
  const command = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", process.execPath, "-e", script];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  expect(await new Response(child.stdout).text()).toBe("ENOENT,resource_limit_reached,none\n");
  listener.stop(true);
  fs.rmSync(dir, { recursive: true });
});
