/** Short turns on the processor, as far as the kernel offers and shows them. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { release } from "node:os";
import { takeShortTurns } from "../../../src/platform/scheduling.ts";

/** The first kernel that lets a process ask. */
const SINCE = "6.12";
const SLICE = /se\.slice\s*:\s*(\d+)/;

function slice(of = "self"): number | null {
  try {
    const found = SLICE.exec(readFileSync(`/proc/${of}/sched`, "utf8"))?.[1];
    return found === undefined ? null : Number(found);
  } catch {
    return null;
  }
}

const usual = slice();

test.skipIf(usual === null || Bun.semver.order(`${Number.parseFloat(release())}.0`, `${SINCE}.0`) < 0)(
  "turns can be short, and what is started then has the usual ones",
  () => {
    takeShortTurns(true);
    expect(slice()).toBeLessThan(usual ?? 0);
    const child = Bun.spawnSync(["cat", "/proc/self/sched"]).stdout.toString();
    expect(Number(SLICE.exec(child)?.[1])).toBe(usual ?? 0);
    takeShortTurns(false);
    expect(slice()).toBe(usual);
  },
);
