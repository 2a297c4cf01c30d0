/**
 * Every process is killed at random points of a random walk: a state that is 31 s old is restored, whatever was
 * happening at that moment. WSH_WALK_SEED repeats a walk, WSH_WALK_SECONDS sets its duration; a round takes 40 s, since
 * a pane that prints without a pause is written every 30, or less with the short intervals of `check`.
 */
import { expect, test } from "bun:test";
import { Http } from "../../support/http.ts";
import { seededRandom } from "../../support/terminals/outer-screen.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";

const full = process.env.WSH_TEST_FULL === "1" || process.env.WSH_WALK_SECONDS !== undefined;
const SECONDS = Number(process.env.WSH_WALK_SECONDS ?? (full ? 200 : 1));
/** A pane with continuous output is written after so long, in ms, and when idle. */
const LONGEST_MS = full ? 30_000 : 2_000;
const REST_MS = full ? 1_000 : 200;
const SEED = Number(process.env.WSH_WALK_SEED ?? Date.now() % 1_000_000);
/** The promised time, and the extra that a machine busy with other tests may take, in ms. */
const OLD_MS = LONGEST_MS + REST_MS + 4_000;
/** Longest round until the kill, in ms, and the longest pause between two kills. */
const ROUND_MS = OLD_MS + 2_000;
const APART_MS = 30;
/** Panes beyond which the walk only closes some. */
const MANY = 5;
/** Prints the time continuously, or with pauses in which it seems idle. */
const TICKS = (pause: number): string => `while :; do echo tick-$\{EPOCHREALTIME%.*}; sleep ${pause}; done`;
/** As wide as the narrowest pane, so that it is never wrapped. */
const MARK = /^m[0-9a-z]{3}$/;

interface Mark {
  readonly text: string;
  readonly at: number;
}

interface Version {
  readonly at: number;
  readonly state: string;
}

/** The walk's knowledge: marks of each pane, and the session's states with their times. */
class Known {
  readonly marks = new Map<string, Mark[]>();
  readonly versions: Version[] = [];

  saw(state: string): void {
    if (this.versions.at(-1)?.state !== state) this.versions.push({ at: Date.now(), state });
  }

  /** States that may be restored: the one of so long ago, and all since. */
  possible(now: number): string[] {
    const old = this.versions.findLastIndex(({ at }) => at <= now - OLD_MS);
    return this.versions.slice(Math.max(0, old)).map(({ state }) => state);
  }
}

interface Placed {
  readonly id: string;
  readonly row: number;
  readonly col: number;
  readonly rows: number;
  readonly cols: number;
}

class Walk implements AsyncDisposable {
  readonly wsh = new Wsh({
    config: 'checkpoint = "history"\n',
    intervals: { checkpointLongest: LONGEST_MS, checkpointRest: REST_MS },
  });
  readonly http = new Http({ unix: this.wsh.instance.httpSocket });
  readonly log: string[] = [];
  readonly known = new Known();
  private readonly random = seededRandom(SEED);
  private marks = 0;
  /** The step in progress when all was killed: without an answer, it may have been done, and saved, or not. */
  private underWay = "";
  /** The name or tag that it requested. */
  private asked = "";
  /** Marks that may or may not have been printed: their caller got no answer. */
  private readonly unanswered = new Set<string>();
  /** Marks of panes that were closed: one that was closed just now may be restored. */
  private readonly closed = new Map<string, Mark[]>();

  below(n: number): number {
    return Math.floor(this.random() * n);
  }

  private pick<T>(list: readonly T[]): T {
    const chosen = list[this.below(list.length)];
    if (chosen === undefined) throw new Error("nothing to choose from");
    return chosen;
  }

  async begin(): Promise<void> {
    await this.wsh.server();
    await this.wsh.session("dev");
    await this.wsh.session("busy", "--", TICKS(0.1));
    await this.wsh.session("bursts", "--", TICKS(1.3));
    this.known.marks.set("@1", []);
    this.known.saw(await this.state());
  }

  /** Name, tags, and the panes of each window with their positions, as a text. */
  async state(): Promise<string> {
    const { body } = await this.http.get("/sessions/@s1");
    const { name, tags } = body as { name: string; tags: string[] };
    const windows = (await this.http.get("/sessions/@s1/windows")).body as { id: string; zoomed?: boolean }[];
    const panes = (await this.http.get("/sessions/@s1/panes")).body as Placed[];
    const placed = panes.map(({ id, row, col, rows, cols }) => `${id} ${row},${col} ${cols}x${rows}`);
    return [name, tags.join(" "), ...windows.map(({ id, zoomed }) => `${id} ${zoomed === true}`), ...placed].join("\n");
  }

  private readonly steps: readonly [weight: number, name: string, run: () => Promise<unknown>][] = [
    [8, "mark", () => this.mark(this.pick([...this.known.marks.keys()]))],
    [2, "lines", () => this.http.post(`/sessions/${this.anyPane()}/exec`, { command: "seq 1 200" })],
    [2, "split", () => this.split()],
    [1, "window", () => this.window()],
    [1, "close", () => this.close()],
    [1, "zoom", () => this.http.post(`/sessions/${this.anyPane()}/pane/zoom`, {})],
    [2, "resize", () => this.http.post(`/sessions/${this.anyPane()}/pane/resize`, { direction: "right", by: 3 })],
    [1, "rename", () => this.change((name) => ({ name }), `dev${this.below(100)}`)],
    [1, "tag", () => this.change((tag) => ({ add_tags: [tag] }), `t${this.below(100)}`)],
    [2, "nothing", () => Bun.sleep(this.below(1_500))],
  ];

  private anyPane(): string {
    return this.pick([...this.known.marks.keys()]);
  }

  private change(body: (asked: string) => object, asked: string): Promise<unknown> {
    this.asked = asked;
    return this.http.send("PATCH", "/sessions/@s1", json(body(asked)));
  }

  private async mark(pane: string): Promise<void> {
    const text = `m${(++this.marks).toString(36).padStart(3, "0")}`;
    this.unanswered.add(text);
    const { status } = await this.http.post(`/sessions/${pane}/exec`, {
      // The line that prints it does not count, wherever it is wrapped.
      command: `echo m''${text.slice(1)}`,
    });
    if (status === 200) this.known.marks.get(pane)?.push({ text, at: Date.now() });
    else this.log.push(`(${text} at ${pane}: ${status})`);
    if (status === 200) this.unanswered.delete(text);
  }

  private async split(): Promise<void> {
    if (this.known.marks.size >= MANY) return;
    const { body } = await this.http.post(`/sessions/${this.anyPane()}/panes`, {
      direction: this.pick(["right", "down"]),
    });
    const made = (body as { pane?: string }).pane;
    if (made !== undefined) this.known.marks.set(made, []);
  }

  private async window(): Promise<void> {
    if (this.known.marks.size >= MANY) return;
    const { body } = await this.http.post("/sessions/@s1/windows", {});
    const made = (body as { pane?: string }).pane;
    if (made !== undefined) this.known.marks.set(made, []);
  }

  private async close(): Promise<void> {
    if (this.known.marks.size < 3) return;
    const pane = this.anyPane();
    this.closed.set(pane, this.known.marks.get(pane) ?? []);
    this.known.marks.delete(pane);
    await this.http.send("DELETE", `/sessions/${pane}/pane`);
  }

  async step(): Promise<void> {
    const [, name, run] = this.pick(this.steps.flatMap((one) => Array(one[0]).fill(one) as (typeof one)[]));
    this.log.push(name);
    this.underWay = name;
    this.asked = "";
    await run();
    this.known.saw(await this.state());
    this.underWay = "";
  }

  /** Kills every process, one after the other, in any order, while a step is in progress. */
  async killAll(): Promise<number> {
    const under = this.step().catch(() => {});
    await Bun.sleep(this.below(200));
    const at = Date.now();
    const all = this.wsh.processes().filter(({ command }) => / session-process$| server /.test(command));
    for (const { pid } of all.sort(() => this.random() - 0.5)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It ended with another one.
      }
      await Bun.sleep(this.below(APART_MS));
    }
    const gone = (): Promise<unknown> =>
      until("all to be gone", () => {
        const left = this.wsh.processes().filter(({ command }) => / session-process$/.test(command));
        for (const { pid } of left) process.kill(pid, "SIGKILL");
        return left.length === 0;
      });
    await gone();
    // Its children of that time are killed as well.
    await under;
    await gone();
    this.log.push("kill");
    return at;
  }

  /** Restores, and compares with the known states. */
  async restore(killedAt: number): Promise<void> {
    const { stderr, stdout } = await this.wsh.run("restore", "--all");
    for (const name of ["dev\\d*", "busy", "bursts"])
      expect([stdout, stderr, JSON.stringify(await this.wsh.list("--all"))].join("")).toMatch(
        new RegExp(`Session '${name}' is restored`),
      );
    await this.wsh.server();
    const state = await this.state();
    const { underWay, asked } = this;
    this.underWay = "";
    // A pane that was made just now may be missing, and one that was closed just now may be restored.
    const possible = this.known.possible(killedAt);
    const sure = new Set(possible.map((each) => idsIn(each)).reduce((a, b) => a.filter((id) => b.includes(id))));
    const ever = new Set(possible.flatMap(idsIn));
    const back = idsIn(state);
    expect([...sure].filter((id) => !back.includes(id))).toEqual([]);
    // A new window is restored with its pane.
    const made = back.filter((id) => !ever.has(id));
    expect(made.length, `made: ${made}`).toBeLessThanOrEqual({ split: 1, window: 2 }[underWay] ?? 0);
    const [name, tags] = state.split("\n");
    const names = possible.map((each) => each.split("\n")[0]);
    expect(underWay === "rename" ? [...names, asked] : names).toContain(name);
    const tagged = possible.map((each) => each.split("\n")[1]);
    expect(underWay === "tag" ? [...tagged, `${tagged.at(-1)} ${asked}`.trim()] : tagged).toContain(tags);
    // After a long enough time without changes, every cell has its old position.
    if (new Set(possible).size === 1 && underWay === "") expect(state).toBe(possible[0] ?? "");
    for (const pane of back) await this.checkMarks(pane, killedAt);
    for (const pane of [...this.known.marks.keys()]) if (!back.includes(pane)) this.known.marks.delete(pane);
    for (const name of ["busy", "bursts"]) await this.checkTicks(name, killedAt);
    this.known.versions.length = 0;
    this.known.saw(state);
  }

  private async linesOf(target: string): Promise<string[]> {
    const { body } = await this.http.get(`/sessions/${target}/scrollback?format=plain&limit=10000`);
    return (body as { lines: string[] }).lines;
  }

  /** The restored marks are the first of all, in order; no old one is missing. */
  private async checkMarks(pane: string, killedAt: number): Promise<void> {
    const wanted = this.known.marks.get(pane) ?? this.closed.get(pane) ?? [];
    const shown = (await this.linesOf(pane)).filter((line) => MARK.test(line));
    const old = wanted.filter(({ at }) => at <= killedAt - OLD_MS).map(({ text }) => text);
    expect(shown.slice(0, old.length), `old marks of ${pane}`).toEqual(old);
    const all = wanted.map(({ text }) => text);
    const answered = shown.filter((text) => !this.unanswered.has(text));
    expect(answered, `marks of ${pane}`).toEqual(all.filter((text) => answered.includes(text)));
    expect(answered, `marks of ${pane} without gaps`).toEqual(
      all.filter((text) => !this.unanswered.has(text)).slice(0, answered.length),
    );
    this.known.marks.set(
      pane,
      shown.map((text) => wanted.find((mark) => mark.text === text) ?? { text, at: killedAt }),
    );
  }

  /** Continuous output was written at most 30 s ago. It continues then. */
  private async checkTicks(name: string, killedAt: number): Promise<void> {
    const ticks = (await this.linesOf(name)).flatMap((line) => /^tick-(\d+)$/.exec(line)?.[1] ?? []);
    const newest = Number(ticks.at(-1)) * 1_000;
    expect(newest, `newest of '${name}', killed at ${killedAt}`).toBeGreaterThanOrEqual(killedAt - OLD_MS);
    await this.wsh.shows(name, /\$ while /);
    await this.wsh.ok("send", name, "--keys", "Enter");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wsh[Symbol.asyncDispose]();
  }
}

function idsIn(state: string): string[] {
  return [...state.matchAll(/^(@\d+) /gm)].map(([, id]) => id ?? "");
}

function json(body: object): RequestInit {
  return { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

test(
  "what was so for 31 s is so again, whatever was done when everything was killed",
  async () => {
    console.log(`kills: WSH_WALK_SEED=${SEED} WSH_WALK_SECONDS=${SECONDS}`);
    await using walk = new Walk();
    await walk.begin();
    const deadline = performance.now() + SECONDS * 1_000;
    try {
      do {
        // Most rounds outlast the promised time; some are killed early, or twice in a row.
        const ms = walk.below(4) === 0 && walk.log.includes("kill") ? walk.below(5_000) : ROUND_MS;
        const end = performance.now() + ms;
        while (performance.now() < end) await walk.step();
        await walk.restore(await walk.killAll());
      } while (performance.now() < deadline);
    } catch (error) {
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      throw new Error(`WSH_WALK_SEED=${SEED}, after ${walk.log.slice(-25).join(", ")}:\n${reason}`);
    }
    expect(walk.log.filter((name) => name === "kill").length).toBeGreaterThan(0);
  },
  (SECONDS + 180) * 1_000,
);
