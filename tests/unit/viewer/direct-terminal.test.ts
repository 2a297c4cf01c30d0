/** A person's terminal that the session process has opened beside its client: which of them writes, and which reads. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { linuxPlatform } from "../../../src/platform/linux/platform.ts";
import { usePlatform } from "../../../src/platform/platform.ts";
import type { Platform } from "../../../src/platform/port.ts";
import { system } from "../../../src/platform/system.ts";
import type { PersonDevice } from "../../../src/protocol/attach.ts";
import { DirectTerminal } from "../../../src/viewer/terminal/direct-terminal.ts";
import { fakeDarwin } from "../../support/fake-darwin/platform.ts";
import { until } from "../../support/until.ts";

/** A client that reads its terminal line by line, and prints its input. */
class Client implements AsyncDisposable {
  shown = "";
  private readonly child = Bun.spawn(["/bin/cat"], {
    terminal: {
      cols: 80,
      rows: 24,
      data: (_terminal, bytes) => {
        this.shown += Buffer.from(bytes).toString();
      },
    },
  });

  device(platform: Platform): PersonDevice {
    const stat = platform.processes.stat(this.child.pid);
    const path = stat === null ? null : platform.processes.terminalPath(stat.tty);
    if (path === null) throw new Error("the client has no terminal");
    const { dev, ino, rdev } = fs.statSync(path);
    return { path, device: dev, inode: ino, number: rdev, pid: this.child.pid };
  }

  type(text: string): void {
    this.child.terminal?.write(text);
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
    this.child.terminal?.close();
  }
}

const platforms = system.name === "linux" ? { Linux: linuxPlatform, macOS: fakeDarwin } : {};

for (const [name, platform] of Object.entries(platforms)) {
  test(`${name}: output goes there while the client runs in the foreground, and no longer`, async () => {
    using _ = usePlatform(platform);
    await using client = new Client();
    const terminal = DirectTerminal.open(client.device(platform));
    expect(terminal?.isHeld).toBe(true);
    terminal?.output.write(Buffer.from("from the session"));
    await until("the output to show", () => client.shown.includes("from the session"));
    client.signal("SIGSTOP");
    await until("the stop to be noticed", () => terminal?.isHeld === false);
    client.signal("SIGCONT");
    await until("the client to hold it again", () => terminal?.isHeld === true);
    client.signal("SIGKILL");
    await until("its end to be noticed", () => terminal?.isHeld === false);
    terminal?.close();
  });
}

test.skipIf(system.name !== "linux")("macOS: keys stay with the client", async () => {
  using _ = usePlatform(fakeDarwin);
  await using client = new Client();
  const terminal = DirectTerminal.open(client.device(fakeDarwin));
  expect(terminal?.readsKeys).toBe(false);
  const taken: Uint8Array[] = [];
  const ignored = (): void => {};
  await terminal?.read((bytes) => void taken.push(bytes), ignored, ignored);
  for (let n = 1; n <= 20; n++) {
    client.type(`line ${n}\r`);
    // Echoed by the terminal, and printed by the client, which has read it.
    await until(`line ${n} to be read`, () => client.shown.split(`line ${n}\r\n`).length === 3);
  }
  expect(taken).toEqual([]);
  terminal?.close();
});

test.skipIf(system.name !== "linux")("macOS: a terminal whose client is not known is left to the client", async () => {
  using _ = usePlatform(fakeDarwin);
  await using client = new Client();
  const { pid, ...device } = client.device(fakeDarwin);
  expect(pid).toBeGreaterThan(0);
  expect(DirectTerminal.open(device)).toBeNull();
  expect(DirectTerminal.open({ ...device, pid: process.pid })).toBeNull();
});
