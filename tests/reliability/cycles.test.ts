/**
 * Sessions that start and end, and continuous work: neither leaks. Descriptors, threads, processes, files and
 * memory of the server, and of a long-lived session process, are the same after many rounds as after the first ones.
 */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { descriptorsOf, memoryOf, threadsOf } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { AttachedTerminal } from "./walk/attached-terminal.ts";

const FULL = process.env.WSH_TEST_FULL === "1";
/** Sessions made and killed. */
const CYCLES = FULL ? 1_000 : 12;
/** Length of the soak in seconds: an hour with WSH_SOAK_MINUTES=60. */
const SOAK_SECONDS = Number(process.env.WSH_SOAK_MINUTES ?? 0) * 60 || (FULL ? 120 : 1);
/**
 * Growth that is not a leak, in KiB: variation of the garbage collector. 1,000 cycles that leaked one 64 KB buffer each
 * would be 64 MB.
 */
const MOOD_KIB = 48 * 1024;
/** Number of memory readings before and at the end, of which the least counts. */
const LOOKS = FULL ? 5 : 2;

function facts(pid: number): { descriptors: number; threads: number } {
  return { descriptors: descriptorsOf(pid), threads: threadsOf(pid) };
}

test(
  `${CYCLES} sessions made and killed leave nothing`,
  async () => {
    await using wsh = new Wsh({ config: "grace_seconds = 0\nkill_grace_ms = 500\n" });
    const server = await wsh.server();
    await wsh.session("stays");
    const [host = 0] = wsh.hosts();
    const cycle = async (n: number): Promise<void> => {
      const name = `c${n}`;
      const headers = { "Content-Type": "application/json" };
      const made = await wsh.fetch("/sessions", {
        method: "POST",
        headers,
        body: JSON.stringify({ name, ...(n % 2 === 0 ? {} : { command: "cat" }) }),
      });
      expect(made.status).toBe(201);
      const exec = JSON.stringify({ command: "(exit 3)" });
      if (n % 10 === 0) {
        const done = await wsh.fetch(`/sessions/${name}/exec`, { method: "POST", headers, body: exec });
        expect(await done.json()).toMatchObject({ exit_code: 3 });
      }
      expect((await wsh.fetch(`/sessions/${name}`, { method: "DELETE" })).status).toBe(200);
    };
    const settled = (): Promise<unknown> =>
      until("hosts and shells to end", () => wsh.hosts().length === 1 && wsh.processes().length === 3);
    const warm = Math.ceil(CYCLES / 10);
    for (let n = 0; n < warm; n++) await cycle(n);
    await settled();
    const before = { server: facts(server.pid), host: facts(host) };
    const memory = { server: memoryOf(server.pid), host: memoryOf(host) };
    // Some at the same time.
    const work = Array.from({ length: CYCLES - warm }, (_, n) => warm + n);
    await Promise.all(
      [0, 1, 2].map(async () => {
        for (let n = work.pop(); n !== undefined; n = work.pop()) await cycle(n);
      }),
    );
    await settled();

    expect(readdirSync(wsh.instance.namesDir).sort()).toEqual([expect.stringMatching(/^@s\d+\.w\d+$/), "stays"]);
    expect(readdirSync(wsh.instance.sessionsDir).filter((file) => file.endsWith(".sock"))).toHaveLength(1);
    // Only then: a list removes the files of dead processes.
    expect((await wsh.list()).map(({ name }) => name)).toEqual(["stays"]);
    expect(await (await wsh.fetch("/sessions?all=1")).json()).toHaveLength(1);
    // Two more connections are kept than before, of three descriptors each: accepted ones are passed on to Bun's server.
    await until("descriptors to be closed", () => descriptorsOf(server.pid) <= before.server.descriptors + 6);
    // Threads of the runtime's own pool start and end.
    // A checkpoint that is being written has its own descriptors.
    await until("those of the host", () => descriptorsOf(host) <= before.host.descriptors + 1);
    expect(threadsOf(server.pid)).toBeLessThanOrEqual(before.server.threads + 4);
    expect(memoryOf(server.pid) - memory.server).toBeLessThan(MOOD_KIB);
    expect(memoryOf(host) - memory.host).toBeLessThan(MOOD_KIB);
  },
  FULL ? 600_000 : 60_000,
);

test(
  `${SOAK_SECONDS} s of mixed work: memory is steady`,
  async () => {
    // The store of command records is full before the first reading: 100 of 110 KB each grew on beyond it.
    await using wsh = new Wsh({ config: "scrollback_lines = 2000\nmax_command_bytes = 1000000\nmax_commands = 10\n" });
    const server = await wsh.server();
    await wsh.session("s", "--size", "80x24");
    const [host = 0] = wsh.hosts();
    let rounds = 0;
    /** A round of every operation of a session. */
    const round = async (): Promise<void> => {
      rounds++;
      // The input of the round before has printed its line, followed by the prompt.
      await until("the prompt", async () => (await (await wsh.fetch("/sessions/s/status")).json()).state === "prompt");
      expect(await wsh.run("exec", "s", "--", `seq 1 ${FULL ? 20_000 : 2_000}; (exit 6)`)).toMatchObject({ code: 6 });
      expect((await wsh.fetch("/sessions/s/screen?format=styled")).status).toBe(200);
      expect((await wsh.fetch("/sessions/s/scrollback?limit=1000")).status).toBe(200);
      const headers = { "Content-Type": "application/json" };
      const post = (path: string, body: object): Promise<Response> =>
        wsh.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
      const box = { x: 1, y: 1, width: 20, height: 2, spans: [{ text: `round ${rounds}` }] };
      const { id } = await (await post("/sessions/s/overlay", box)).json();
      expect((await wsh.fetch(`/sessions/s/overlay/${id}`, { method: "DELETE" })).status).toBe(204);
      await post("/sessions/s/resize", { rows: 20 + (rounds % 10), cols: 70 + (rounds % 20) });
      using terminal = AttachedTerminal.open(wsh, ["attach", "s"]);
      await terminal.shows(/\$$/m);
      terminal.type(`echo round-${rounds}\r`);
      await terminal.shows(new RegExp(`^round-${rounds}$`, "m"));
      terminal.type("\x1c\x1c");
      await terminal.exited;
    };
    const end = performance.now() + SOAK_SECONDS * 1000;
    // The first third warms up; then the least of a few readings before, and at the end, are compared.
    while (performance.now() < end - (SOAK_SECONDS * 2000) / 3) await round();
    const before = facts(host);
    const early: [number, number][] = [];
    for (let n = 0; n < LOOKS; n++) {
      await round();
      early.push([memoryOf(server.pid), memoryOf(host)]);
    }
    while (performance.now() < end) await round();
    const late: [number, number][] = [];
    for (let n = 0; n < LOOKS; n++) {
      await round();
      late.push([memoryOf(server.pid), memoryOf(host)]);
    }
    const least = (looks: [number, number][], which: 0 | 1): number => Math.min(...looks.map((look) => look[which]));
    const text = `${rounds} rounds; server ${least(early, 0)} -> ${least(late, 0)} KiB, host ${least(early, 1)} -> ${least(late, 1)} KiB`;
    console.log(`soak: ${text}`);
    expect(least(late, 0) - least(early, 0)).toBeLessThan(MOOD_KIB);
    expect(least(late, 1) - least(early, 1)).toBeLessThan(MOOD_KIB);
    // A checkpoint that is being written has its own descriptors.
    await until("few descriptors", () => descriptorsOf(host) <= before.descriptors + 2);
    expect(threadsOf(host)).toBeLessThanOrEqual(before.threads + 4);
    expect(await wsh.list()).toMatchObject([{ name: "s", attached: 0 }]);
  },
  SOAK_SECONDS * 1_000 + 120_000,
);
