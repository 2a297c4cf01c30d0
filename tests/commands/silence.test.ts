/** Waits for silence over HTTP, in one session or any of several: their end, their answer, and other ends. */
import { describe, expect, test } from "bun:test";
import { type Answer, failure, Http } from "../support/http.ts";
import { shared } from "../support/shared.ts";
import { givenTime, within } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

/** Longer than a machine stalls a program that is busy, in ms. */
const QUIET_MS = 1_000;
/** Output every 20 ms, for ever. */
const BUSY = "while :; do echo tick; sleep 0.02; done";
/** Prints a word for each line that it reads. */
const ECHO = "stty -echo; echo ready; while read line; do echo heard $line; done";

interface Idle {
  readonly generation: number;
  readonly last_activity_ms: number;
  readonly screen: { readonly lines: readonly string[] };
}

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

function idle(name: string, query: string): Promise<Answer> {
  return http.get(`/sessions/${name}/idle?${query}`);
}

/** The answer and how long it took, in ms. */
async function timed(answer: Promise<Answer>): Promise<Answer & { readonly ms: number }> {
  const started = performance.now();
  return { ...(await answer), ms: performance.now() - started };
}

async function listening(name: string, fields: object = {}): Promise<void> {
  await http.create({ name, command: ECHO, ...fields });
  await http.shows(name, "ready");
}

describe("one session", () => {
  test("that is quiet answers at once with its screen", async () => {
    await listening("quiet", { rows: 4, cols: 30 });
    const first = await idle("quiet", "timeout_ms=1000&format=plain");
    expect((first.body as Idle).last_activity_ms).toBeGreaterThanOrEqual(1000);
    expect(first).toMatchObject({
      status: 200,
      body: {
        screen: { lines: ["ready", "", "", ""], rows: 4, cols: 30, alternate_active: false },
        scrollback_lines: 4,
        generation: expect.any(Number),
        last_activity_ms: expect.any(Number),
        running: true,
        exit_code: null,
      },
    });
    const again = await within(900, () => idle("quiet", "timeout_ms=1000"));
    expect(JSON.stringify(again.body)).toContain('[{"text":"ready"}]');
    expect(await http.get("/sessions/quiet/quiesce?timeout_ms=0")).toMatchObject({ status: 200 });
    expect(await idle("quiet", "timeout_ms=0")).toMatchObject({ status: 200 });
    await http.kill("quiet");
  });

  test("that is not quiet for long enough is a 408 with the known state beside the error", async () => {
    await http.create({ name: "busy", command: BUSY });
    const answer = await timed(idle("busy", "timeout_ms=2000&max_wait_ms=150"));
    expect(answer).toMatchObject({ status: 408, body: failure("idle_timeout", /2000 ms.*150 ms/) });
    expect(answer.body).toMatchObject({
      decided_by: "timeout",
      generation: expect.any(Number),
      output_cursor: expect.any(Number),
    });
    expect(answer.ms).toBeGreaterThan(145);
    expect(await idle("busy", "timeout_ms=0")).toMatchObject({ status: 200 });
    await http.kill("busy");
  });

  test("ends a silence with any activity, and the wait starts again", async () => {
    // A machine that stalls for as long as the silence ends it sooner, rightly.
    await givenTime("a silence after all of it", async (ms) => {
      await http.create({ name: "bursts", command: "for i in 1 2 3; do echo $i; sleep 0.15; done; sleep 1000" });
      const { body } = await idle("bursts", `timeout_ms=${ms}&format=plain`);
      await http.kill("bursts");
      return (body as Idle).screen.lines.join("\n").trimEnd() === "1\n2\n3" ? body : null;
    });
  });

  test("last_generation waits for activity first, if it is the present one", async () => {
    await listening("generations");
    const { generation } = (await idle("generations", "timeout_ms=50")).body as Idle;
    const old = await timed(idle("generations", `timeout_ms=50&last_generation=${generation - 1}`));
    expect(old).toMatchObject({ status: 200, body: { generation } });
    const newer = await timed(idle("generations", `timeout_ms=50&last_generation=${generation + 1}`));
    expect(newer).toMatchObject({ status: 200, body: { generation } });
    expect(await idle("generations", `timeout_ms=50&max_wait_ms=120&last_generation=${generation}`)).toMatchObject({
      status: 408,
      body: { generation },
    });
    // What is typed is activity, too: a program that takes longer to answer than the silence lasts is not waited for.
    await givenTime(
      "an answer within the silence",
      async (ms) => {
        const last = ((await idle("generations", "timeout_ms=50")).body as Idle).generation;
        const waiting = idle("generations", `timeout_ms=${ms}&last_generation=${last}&format=plain`);
        const word = `word${ms}`;
        await http.type("generations", `${word}\n`);
        const { generation, screen } = (await waiting).body as Idle;
        expect(generation).toBeGreaterThan(last);
        return screen.lines.includes(`heard ${word}`) || null;
      },
      50,
    );
    await http.kill("generations");
  });

  test("fresh observes the silence itself, whatever came before", async () => {
    await listening("fresh");
    const { generation } = (await idle("fresh", "timeout_ms=300")).body as Idle;
    const answer = await timed(idle("fresh", "timeout_ms=300&fresh=true"));
    expect(answer.status).toBe(200);
    expect(answer.ms).toBeGreaterThan(295);
    // It takes precedence over last_generation, which would wait for ever here.
    const both = await idle("fresh", `timeout_ms=50&fresh=true&last_generation=${generation}&max_wait_ms=5000`);
    expect(both).toMatchObject({ status: 200, body: { generation } });
    expect(await idle("fresh", "timeout_ms=300&fresh=true&max_wait_ms=100")).toMatchObject({ status: 408 });
    await http.kill("fresh");
  });

  test("whose program ends meanwhile is answered at once, with its end", async () => {
    await http.create({ name: "ending", command: "stty -echo; echo ready; read x; echo bye; exit 7" });
    await http.shows("ending", "ready");
    const waiting = idle("ending", "timeout_ms=60000&max_wait_ms=60000&format=plain");
    await http.type("ending", "\n");
    expect(await waiting).toMatchObject({
      status: 200,
      body: { running: false, exit_code: 7, signal: null, screen: { lines: expect.arrayContaining(["ready", "bye"]) } },
    });
    expect(await idle("ending", "timeout_ms=60000")).toMatchObject({ status: 200, body: { exit_code: 7 } });
    await http.kill("ending");
  });

  test("that is killed meanwhile is a 404 at once", async () => {
    await listening("killed");
    const { generation } = (await idle("killed", "timeout_ms=50")).body as Idle;
    const waiting = idle("killed", `timeout_ms=60000&max_wait_ms=60000&last_generation=${generation}`);
    await until("the wait to begin", async () => (await http.session("killed")).running);
    await http.kill("killed");
    expect(await waiting).toMatchObject({ status: 404, body: failure("session_not_found", /killed/) });
  });

  test("rejects invalid requests", async () => {
    await listening("wrong");
    for (const query of [
      "",
      "timeout_ms=",
      "timeout_ms=soon",
      "timeout_ms=-1",
      "timeout_ms=1.5",
      "timeout_ms=1&max_wait_ms=x",
      "timeout_ms=1&last_generation=-1",
      "timeout_ms=1&fresh=maybe",
    ]) {
      expect({ query, ...(await idle("wrong", query)) }).toMatchObject({
        query,
        status: 400,
        body: failure("invalid_request"),
      });
    }
    // Too long is capped without a warning.
    expect(await idle("wrong", "timeout_ms=0&max_wait_ms=999999999")).toMatchObject({ status: 200 });
    await http.kill("wrong");
  });

  test("costs nothing after its client has disconnected", async () => {
    await http.create({ name: "left", command: BUSY });
    const aborter = new AbortController();
    const waits = Array.from({ length: 50 }, () =>
      http
        .get("/sessions/left/idle?timeout_ms=60000&max_wait_ms=300000", { signal: aborter.signal })
        .catch(() => "gone"),
    );
    aborter.abort();
    expect(new Set(await Promise.all(waits))).toEqual(new Set(["gone"]));
    expect(await http.session("left")).toMatchObject({ running: true });
    await http.kill("left");
  });
});

describe("any session", () => {
  test("there is none to wait for", async () => {
    expect(await http.get("/idle?timeout_ms=0")).toMatchObject({ status: 404, body: failure("no_sessions") });
    await listening("tagged", { tags: ["a"] });
    expect(await http.get("/idle?timeout_ms=0&tag=b,c")).toMatchObject({
      status: 404,
      body: failure("no_sessions", /b, c/),
    });
    expect(await http.get("/idle")).toMatchObject({ status: 400, body: failure("invalid_request", /timeout_ms/) });
    await http.kill("tagged");
  });

  test("the first that is quiet wins, of those with the tag", async () => {
    await http.create({ name: "noise", command: BUSY, tags: ["x"] });
    await listening("silence", { tags: ["x", "y"] });
    await listening("other");
    // Quiet for that long by now: the noise may stand still for less.
    for (const name of ["silence", "other"]) await idle(name, `timeout_ms=${QUIET_MS}`);
    const answer = await http.get(`/idle?timeout_ms=${QUIET_MS}&tag=x&format=plain`);
    expect(answer).toMatchObject({
      status: 200,
      body: { session: "silence", screen: { lines: expect.arrayContaining(["ready"]) } },
    });
    expect(await http.get("/quiesce?timeout_ms=100&tag=y")).toMatchObject({
      status: 200,
      body: { session: "silence" },
    });
    expect(await http.get("/idle?timeout_ms=60000&max_wait_ms=100")).toMatchObject({
      status: 408,
      body: failure("idle_timeout"),
    });

    // last_generation concerns last_session alone.
    const { generation } = answer.body as Idle;
    const pair = `timeout_ms=${QUIET_MS}&last_session=silence&last_generation=${generation}`;
    expect(await http.get(`/idle?${pair}`)).toMatchObject({ status: 200, body: { session: "other" } });
    expect(await http.get(`/idle?${pair}&tag=y&max_wait_ms=200`)).toMatchObject({ status: 408 });
    const waiting = http.get(`/idle?${pair}&tag=y`);
    await http.type("silence", "again\n");
    expect(await waiting).toMatchObject({ status: 200, body: { session: "silence" } });
    for (const name of ["noise", "silence", "other"]) await http.kill(name);
  });

  test("one that is killed meanwhile loses, one that ends wins", async () => {
    for (const name of ["k1", "k2"]) await http.create({ name, command: BUSY });
    const waiting = http.get("/idle?timeout_ms=60000&max_wait_ms=60000");
    await until("the wait to begin", async () => (await http.session("k2")).running);
    await http.kill("k1");
    await http.post("/sessions/k2/signal", { signal: "KILL" });
    expect(await waiting).toMatchObject({ status: 200, body: { session: "k2", running: false } });
    await http.kill("k2");
  });

  test("all killed is a 404", async () => {
    for (const name of ["m1", "m2"]) await http.create({ name, command: BUSY });
    const waiting = http.get("/idle?timeout_ms=60000&max_wait_ms=60000");
    await until("the wait to begin", async () => (await http.session("m2")).running);
    await Promise.all([http.kill("m1"), http.kill("m2")]);
    expect(await waiting).toMatchObject({ status: 404 });
  });
});
