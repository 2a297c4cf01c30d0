/** Silence of a working process is not a failure; silence of an idle or stopped one is. */
import { afterAll, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { patience } from "../../../src/wire/patience.ts";
import { contentOf } from "../../support/content-of.ts";
import { until } from "../../support/until.ts";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "patience-"));
const children: Bun.Subprocess[] = [];
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  fs.rmSync(dir, { recursive: true });
});

/** A process that listens at a socket and answers nobody. @param source its actions from its first input on */
async function listener(name: string, source: string): Promise<{ socket: string; child: Bun.Subprocess }> {
  const socket = path.join(dir, name);
  const script = `
    Bun.listen({ unix: ${JSON.stringify(socket)}, socket: { data() {} } });
    process.stdin.once("data", () => { console.log("begun"); ${source} });
    console.log("ready");`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  children.push(child);
  const output = child.stdout.getReader();
  await output.read();
  child.stdin.write("go\n");
  child.stdin.flush();
  await output.read();
  return { socket, child };
}

/** Duration of the tolerated silence, in ms. */
function borne(socket: string): Promise<number> {
  const started = performance.now();
  return new Promise((resolve) => patience(socket, 100, () => resolve(performance.now() - started)));
}

test("a working process is waited for as long as it works", async () => {
  const worked = path.join(dir, "worked");
  const work = "const end = Date.now() + 3_000; while (Date.now() < end);";
  const write = `require("node:fs").writeFileSync(${JSON.stringify(worked)}, String(Date.now()));`;
  const { socket } = await listener("busy", work + write);
  await borne(socket);
  const givenUpAt = Date.now();
  const workedUntil = await until("the end of the work", () => contentOf(worked) || null);
  expect(givenUpAt).toBeGreaterThanOrEqual(Number(workedUntil));
});

test("an idle one without an answer, or a stopped one, is given up long before a working one", async () => {
  const { socket, child } = await listener("rests", "");
  expect(await borne(socket)).toBeLessThan(15_000);
  child.kill("SIGSTOP");
  expect(await borne(socket)).toBeLessThan(15_000);
});

test("an answer ends the wait", async () => {
  const { socket } = await listener("answers", "");
  let isOver = false;
  const answered = patience(socket, 0, () => {
    isOver = true;
  });
  answered();
  await borne(socket);
  expect(isOver).toBe(false);
});
