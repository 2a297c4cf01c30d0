/**
 * A list is correct: the server's data on its sessions is compared with the answer of every session process, after
 * all kinds of changes, by the server and by others, notified and silent.
 */
import { expect, test } from "bun:test";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { listSessions } from "../../src/registry/registry.ts";
import { Connection } from "../../src/wire/connection.ts";
import { stopProcess } from "../support/processes.ts";
import { Gateway } from "../support/server.ts";
import { Person } from "../support/terminals/attached-peer.ts";
import { within } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";

const ROUNDS = process.env.WSH_TEST_FULL === "1" ? 150 : 16;
/** Difference of ages that is explained by asking one after the other, in ms. */
const AGE_MS = 1_500;

async function listed(gateway: Gateway): Promise<SessionInfo[]> {
  const infos: SessionInfo[] = await (await gateway.unix("/sessions?all=true")).json();
  // A killed session has crashed, if a checkpoint was written by then.
  return infos.filter(({ state }) => state !== "crashed");
}

/** Queried from every process itself. */
async function direct(gateway: Gateway): Promise<SessionInfo[]> {
  const infos = await Promise.all(
    listSessions(gateway.instance).map(async ({ socket }) => {
      const opened = await Connection.open(socket, "cli").catch(() => null);
      opened?.connection.close();
      return opened?.hello.info;
    }),
  );
  return infos.filter((info) => info !== undefined);
}

function parts({ idle_ms, last_activity_ms, ...rest }: SessionInfo): Record<string, unknown> {
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, JSON.stringify(value)]));
}

/**
 * Changes between two reads are permitted, and so is a session's message that the server has not read yet; stale
 * data is not.
 */
async function compare(gateway: Gateway, what: string): Promise<void> {
  for (let tries = 5; ; tries--) {
    try {
      await compareOnce(gateway, what);
      return;
    } catch (error) {
      if (tries === 1) throw error;
      await Bun.sleep(50);
    }
  }
}

/** Sessions that did not change while the list was made must be in it. */
async function compareOnce(gateway: Gateway, what: string): Promise<void> {
  const before = await direct(gateway);
  const shown = await listed(gateway);
  const after = await direct(gateway);
  for (const known of before) {
    const same = after.find(({ id }) => id === known.id);
    if (same === undefined) continue;
    const own = shown.find(({ id }) => id === known.id);
    if (own === undefined) throw new Error(`${what}: ${known.name} is missing`);
    const [a, b, c] = [parts(known), parts(own), parts(same)];
    // The state is in the windows, too: it is compared first.
    const names = Object.entries(a).sort(([one], [other]) => Number(other === "state") - Number(one === "state"));
    for (const [name, value] of names) {
      if (value !== c[name]) continue;
      if (b[name] === value) continue;
      throw new Error(`${what}: ${known.name}: ${name} is ${value}, the list says ${b[name]}`);
    }
    if (known.idle_ms > same.idle_ms) continue;
    expect(own.idle_ms, `${what}: ${known.name}: idle_ms`).toBeGreaterThan(known.idle_ms - AGE_MS);
    expect(own.idle_ms, `${what}: ${known.name}: idle_ms`).toBeLessThan(same.idle_ms + AGE_MS);
  }
  const ids = new Set([...before, ...after].map(({ id }) => id));
  for (const { id, name } of shown) if (!ids.has(id)) throw new Error(`${what}: ${name} is gone, and listed`);
}

function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("equals the sessions' own answers after any change", async () => {
  await using gateway = await Gateway.start();
  const seed = Number(process.env.WSH_TEST_SEED ?? Date.now() % 1_000_000);
  const next = random(seed);
  const people: Person[] = [];
  let made = 0;
  /** A session may have ended, or be busy: that is a valid answer. An unknown route or input is the test's mistake. */
  const call = async (path: string, method: string, json?: unknown): Promise<void> => {
    const body =
      json === undefined ? {} : { body: JSON.stringify(json), headers: { "content-type": "application/json" } };
    const response = await gateway.unix(path, { method, ...body });
    const text = await response.text();
    if (text === "" && response.status === 404) throw new Error(`${method} ${path}: no such route`);
    if (response.status === 400) throw new Error(`${method} ${path}: ${text}`);
  };
  const create = () => call("/sessions", "POST", { name: `s${made++}` });
  for (let n = 0; n < 4; n++) await create();
  const any = async (): Promise<string> => {
    const all = await listed(gateway);
    return all[next(all.length)]?.id ?? "@0";
  };
  const type = async (body: string): Promise<void> => {
    await (await gateway.unix(`/sessions/${await any()}/input`, { method: "POST", body })).text();
  };
  const changes: readonly [string, () => Promise<unknown>][] = [
    ["rename", async () => call(`/sessions/${await any()}`, "PATCH", { name: `r${made++}` })],
    ["tag", async () => call(`/sessions/${await any()}`, "PATCH", { add_tags: [`t${next(3)}`] })],
    ["untag", async () => call(`/sessions/${await any()}`, "PATCH", { remove_tags: [`t${next(3)}`] })],
    ["rename by another process", async () => gateway.run("rename", await any(), `c${made++}`)],
    [
      "resize",
      async () => call(`/sessions/${await any()}/resize`, "POST", { rows: 10 + next(30), cols: 40 + next(90) }),
    ],
    ["exec", async () => call(`/sessions/${await any()}/exec`, "POST", { command: "echo done", max_wait_ms: 5_000 })],
    ["exec by another process", async () => gateway.run("exec", await any(), "--timeout", "3", "--", "cd /tmp")],
    ["a command that ends silently", () => type("sleep 0.2\n")],
    ["a silent password", () => type("sh -c 'sleep 0.1; stty -echo; sleep 0.3; stty echo; read x'\n")],
    ["a reader behind a pipe", () => type("(sleep 0.3; stty -echo; sleep 0.2; stty echo) | cat - /dev/tty\n")],
    ["a title", () => type("printf '\\033]0;title\\007'\n")],
    ["a full screen", () => type("printf '\\033[?1049h'; sleep 0.2; printf '\\033[?1049l'\n")],
    ["a line", () => type("x\n")],
    ["interrupt", () => type("\x03")],
    [
      "panel",
      async () =>
        call(`/sessions/${await any()}/panel`, "POST", { position: "bottom", height: 1 + next(3), spans: [] }),
    ],
    ["restart", async () => call(`/sessions/${await any()}/restart`, "POST")],
    ["create", create],
    ["create by another process", () => gateway.run("new", `n${made++}`, "--", "sleep 600")],
    ["kill", async () => ((await listed(gateway)).length > 3 ? call(`/sessions/${await any()}`, "DELETE") : create())],
    [
      "kill by another process",
      async () => ((await listed(gateway)).length > 3 ? gateway.run("kill", await any()) : null),
    ],
    ["end", () => type("exit 3\n")],
    [
      "attach",
      async () => {
        const person = await Person.attach(gateway.instance, await any()).catch(() => null);
        if (person !== null) people.push(person);
      },
    ],
    [
      "detach",
      async () => {
        people.pop()?.[Symbol.dispose]();
      },
    ],
    ["a second of silence", () => Bun.sleep(1_100)],
  ];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const [name, change] = changes[next(changes.length)] ?? ["", create];
      await change();
      await compare(gateway, `seed ${seed}, round ${round}, after ${name}`);
      if ((await listed(gateway)).every(({ running }) => !running)) await create();
    }
  } finally {
    for (const person of people) person[Symbol.dispose]();
  }
}, 120_000);

test("a program that stops waiting silently is not shown as waiting", async () => {
  await using gateway = await Gateway.start();
  await gateway.create({ name: "a" });
  const state = async () => (await listed(gateway))[0]?.state;
  await until("the prompt", async () => (await state()) === "prompt");
  await gateway.unix("/sessions/a/input", { method: "POST", body: "bash -c 'read -t 8 x; stty -echo; read y'\n" });
  await until("it to wait", async () => (await state()) === "waiting_for_input");
  // Long enough for the session to report that it is idle.
  await Bun.sleep(1_500);
  expect(await state()).toBe("waiting_for_input");
  await until("it to ask for a password", async () => (await direct(gateway))[0]?.state === "password");
  expect(await state()).toBe("password");
});

test("a stopped process is unresponsive at once, and normal again on continuing; a killed one is gone", async () => {
  await using gateway = await Gateway.start();
  for (const name of ["a", "b"]) await gateway.create({ name });
  const [host = 0, other = 0] = gateway.hosts();
  await until("the shells at rest", async () => (await listed(gateway)).every(({ state }) => state === "prompt"));
  await stopProcess(host);
  const states = await within(500, async () => (await listed(gateway)).map(({ state }) => state));
  expect(states).toEqual(["unresponsive", "prompt"]);
  process.kill(host, "SIGCONT");
  await until("it to be back", async () => (await listed(gateway))[0]?.state === "prompt");
  process.kill(other, "SIGKILL");
  await until("it to be gone", async () => (await listed(gateway)).length === 1);
});

test("a killed server is replaced by one that knows the changes meanwhile", async () => {
  await using gateway = await Gateway.start();
  await gateway.create({ name: "a" });
  await gateway.end("SIGKILL");
  await gateway.ok("rename", "a", "b");
  await gateway.serve();
  expect((await listed(gateway)).map(({ name }) => name)).toEqual(["b"]);
  await gateway.ok("tag", "b", "--add", "mine");
  await compare(gateway, "after the server was killed");
});
