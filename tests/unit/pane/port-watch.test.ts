/** Waiting for ports: the number of queries of the system, and the report when it does not answer. */
import { describe, expect, test } from "bun:test";
import { type PortFinding, PortWatches } from "../../../src/pane/waiting/port-watch.ts";
import { listening } from "../../../src/platform/linux/listeners.ts";
import type { PortLook } from "../../../src/platform/listening.ts";
import { LivePane } from "../../support/live-pane.ts";
import { type ManualClock, manualClock } from "../../support/manual-clock.ts";

const anchor = { pid: process.pid, since: null, foreground: () => null };
const owner = { pid: 7, name: "nginx", addresses: ["0.0.0.0"] };

/** In steps of 10 ms, so that a timer set meanwhile fires in time. */
function advance(clock: ManualClock, ms: number): void {
  for (let left = ms; left > 0; left -= 10) clock.pass(10);
}

function watched(answer: () => PortLook, ports = [{ port: 80, anyOwner: false }]) {
  const clock = manualClock();
  const looks: number[] = [];
  const watches = new PortWatches(clock, () => {
    looks.push(clock.now());
    return answer();
  });
  const found: PortFinding[] = [];
  const watch = watches.watch(anchor, ports, (finding) => found.push(finding));
  return { clock, looks, watches, watch, found };
}

describe("the watch of a port", () => {
  test("queries while somebody waits, and never after", () => {
    const { clock, looks, watch } = watched(() => ({ kind: "none", unseen: [] }));
    advance(clock, 1_000);
    expect(looks.length).toBe(10);
    watch[Symbol.dispose]();
    advance(clock, 10_000);
    expect(looks.length).toBe(10);
  });

  test("queries less often when an answer takes long", () => {
    const clock = manualClock();
    let looks = 0;
    const watches = new PortWatches(clock, () => {
      looks++;
      clock.pass(50);
      return { kind: "none", unseen: [] };
    });
    using _watch = watches.watch(anchor, [{ port: 80, anyOwner: false }], () => {});
    advance(clock, 10_000);
    expect(looks).toBeLessThan(12);
    expect(looks).toBeGreaterThan(5);
  });

  test("gives a command a moment to end the port's owner", () => {
    let look: PortLook = { kind: "other", owner };
    const { clock, found, watch } = watched(() => look);
    advance(clock, 900);
    expect(found).toEqual([]);
    expect(watch.find(true)).toEqual({ kind: "port_in_use", port: 80, owner });
    look = { kind: "none", unseen: [] };
    advance(clock, 200);
    look = { kind: "other", owner };
    advance(clock, 900);
    expect(found).toEqual([]);
    advance(clock, 400);
    expect(found[0]).toEqual({ kind: "port_in_use", port: 80, owner });
  });

  test("prefers a port that is ready to one in use", () => {
    const clock = manualClock();
    const watches = new PortWatches(clock, (_scan, _known, port) => ({ kind: port === 80 ? "other" : "own", owner }));
    const both = [80, 81].map((port) => ({ port, anyOwner: false }));
    using watch = watches.watch(anchor, both, () => {});
    expect(watch.find(true)).toEqual({ kind: "port", port: 81, owner });
  });

  test("names processes that it cannot inspect", () => {
    const { watch } = watched(() => ({ kind: "none", unseen: ["sudo (7)"] }));
    expect(watch.find(false)).toBeNull();
    expect(watch.warning).toContain("sudo (7)");
    watch[Symbol.dispose]();
  });
});

test("without kernel support, a wait for a port reports it at once, and continues for other conditions", async () => {
  await using live = await LivePane.start({ facts: false });
  const port = { type: "port", port: 80, anyOwner: false } as const;
  const alone = await live.commands.wait({ anyOf: [port, { type: "command_finished" }], maxWaitMs: 60_000 });
  expect(alone).toMatchObject({ decidedBy: "unsupported", reason: expect.stringContaining("port 80") });
  const text = { type: "text", text: "never printed" } as const;
  const other = await live.commands.wait({ anyOf: [port, text], maxWaitMs: 100 });
  expect(other).toMatchObject({ decidedBy: "timeout", warnings: [expect.stringContaining("port 80")] });
});

test("the kernel's tables are parsed in their real format", () => {
  const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
  const line = (address: string, state: string): string =>
    `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0\n`;
  const read = (address: string, state = "0A") => listening(head + line(address, state));
  expect(read("0100007F:1F90")).toEqual([{ port: 8080, address: "127.0.0.1", id: "4711" }]);
  expect(read("0100007F:1F90", "01")).toEqual([]);
  const addresses = ["0".repeat(32), `${"0".repeat(24)}01000000`, `${"0".repeat(16)}FFFF00000100007F`];
  expect(addresses.map((address) => read(`${address}:0050`)[0]?.address)).toEqual(["::", "::1", "::ffff:127.0.0.1"]);
  expect(read("B80D01200000000000000000450000AB:0050")[0]?.address).toBe("2001:db8::ab00:45");
});
