/** Output cursors, generations and command ids of one pane are invalid at another. */
import { expect, test } from "bun:test";
import { Http } from "../support/http.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

interface Result {
  readonly command_id: number;
  readonly output_cursor: number;
}

async function twoPanes() {
  const wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const one = (await wsh.session("dev")).pane_id;
  const two = ((await http.post("/sessions/dev/panes", {})).body as { readonly pane: string }).pane;
  const exec = async (target: string, command: string): Promise<Result> =>
    (await http.post(`/sessions/${target}/exec`, { command })).body as Result;
  return { wsh, http, one, two, exec, [Symbol.asyncDispose]: () => wsh[Symbol.asyncDispose]() };
}

const foreign = { status: 400, body: { error: { code: "invalid_cursor" } } };

test("a cursor is refused by a pane that has printed more, and by one with less", async () => {
  await using all = await twoPanes();
  const { http, one, two, exec } = all;
  const [small, large] = [await exec(one, "echo little"), await exec(two, "seq 1 5000")];
  for (const [pane, { output_cursor: since }] of [
    [two, small],
    [one, large],
    ["dev", large],
  ] as const) {
    expect(await http.get(`/sessions/${pane}/output?since=${since}`)).toMatchObject(foreign);
    const any_of = ["bell"];
    expect(await http.post(`/sessions/${pane}/wait`, { since, any_of, max_wait_ms: 0 })).toMatchObject(foreign);
    expect(await http.post(`/sessions/${pane}/run`, { since, input: "true\n" })).toMatchObject(foreign);
  }
  expect(await http.get(`/sessions/${one}/output?since=${small.output_cursor}`)).toMatchObject({ status: 200 });
  expect(await http.get(`/sessions/${two}/output?since=${large.output_cursor}`)).toMatchObject({ status: 200 });
  // The start is the same in all.
  expect(JSON.stringify((await http.get(`/sessions/${one}/output?since=0`)).body)).toContain("little");
});

test("the id of a command is refused by a pane that keeps as many", async () => {
  await using all = await twoPanes();
  const { http, one, two, exec } = all;
  const [mine, other] = [await exec(one, "echo mine"), await exec(two, "echo other")];
  for (const [pane, { command_id: id }] of [
    [two, mine],
    [one, other],
  ] as const) {
    expect(await http.get(`/sessions/${pane}/commands/${id}`)).toMatchObject(foreign);
    expect(await http.get(`/sessions/${pane}/commands/${id}/output`)).toMatchObject(foreign);
    expect(await http.get(`/sessions/${pane}/output?command_id=${id}`)).toMatchObject(foreign);
    const wait = { command_id: id, any_of: ["command_finished"], max_wait_ms: 0 };
    expect(await http.post(`/sessions/${pane}/wait`, wait)).toMatchObject(foreign);
  }
  expect((await http.get(`/sessions/dev/commands/${mine.command_id}/output`)).body).toMatchObject({ text: "mine" });
});

test("a generation is refused by a pane with as much activity", async () => {
  await using all = await twoPanes();
  const { http, one, two } = all;
  const generation = async (pane: string): Promise<number> =>
    ((await http.get(`/sessions/${pane}/idle?timeout_ms=100`)).body as { readonly generation: number }).generation;
  const [mine, other] = [await generation(one), await generation(two)];
  for (const [pane, last] of [
    [two, mine],
    [one, other],
  ] as const) {
    expect(await http.get(`/sessions/${pane}/idle?timeout_ms=0&last_generation=${last}`)).toMatchObject(foreign);
  }
});

test("a cursor read by a name is not continued in the pane that the name selects next", async () => {
  await using all = await twoPanes();
  const { wsh, http, two, exec } = all;
  const first = await exec("dev", "echo first");
  await exec(two, "seq 1 500; echo second");
  await exec("dev:0.0", "exit").catch(() => null);
  await until("one pane", async () => ((await http.get("/sessions/dev/panes")).body as unknown[]).length === 1);
  expect(await http.get(`/sessions/dev/output?since=${first.output_cursor}`)).toMatchObject(foreign);
  expect(await http.get(`/sessions/dev/commands/${first.command_id}/output`)).toMatchObject(foreign);
  const read = await wsh.run("output", "dev", "--command", String(first.command_id));
  expect(read.stderr).toContain("does not belong to this pane");
});

test("a reused name does not continue another session's output", async () => {
  await using all = await twoPanes();
  const { wsh, http, exec } = all;
  const before = await exec("dev", "echo before");
  await wsh.ok("kill", "dev");
  await wsh.session("dev");
  await exec("dev", "seq 1 500; echo after");
  expect(await http.get(`/sessions/dev/output?since=${before.output_cursor}`)).toMatchObject(foreign);
  expect(await http.get(`/sessions/dev/commands/${before.command_id}/output`)).toMatchObject(foreign);
});
