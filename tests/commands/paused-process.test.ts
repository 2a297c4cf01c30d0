/**
 * A session process that was paused (a busy machine, a laptop that slept) reports events of that time.
 * When it continues, the kernel already shows the shell back at its prompt, and the output in between is unread:
 * neither that prompt nor the silence ends a wait.
 */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { Http } from "../support/http.ts";
import { stopProcess } from "../support/processes.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { hostOf, Wsh } from "../support/wsh.ts";

/** Longer than a shell may take from Enter to its command, in ms: the test needs that time to pass. */
const HELD_MS = 1_000;

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

/** A shell, and a function that makes it run a line while its session process is stopped. */
async function heldUp(
  name: string,
): Promise<{ api: SessionApi; file: string; runs: (asks?: () => void) => Promise<void> }> {
  const api = await SessionApi.shell(http, name, { shell: "bash" });
  const info = (await wsh.list()).find((each) => each.name === name);
  const pid = info?.windows[0]?.panes[0]?.pid ?? Number.NaN;
  const host = hostOf(pid);
  const file = join(wsh.dir, `${name}-ran`);
  await stopProcess(pid);
  const runs = async (asks?: () => void): Promise<void> => {
    await stopProcess(host);
    try {
      process.kill(pid, "SIGCONT");
      await until("the command to have run", () => fs.existsSync(file));
      asks?.();
      await Bun.sleep(HELD_MS);
    } finally {
      process.kill(host, "SIGCONT");
    }
  };
  return { api, file, runs };
}

/** Whether the line was typed: input that the shell has not read. */
async function isTyped(api: SessionApi, before: number): Promise<boolean> {
  return (await api.get<{ generation: number }>("idle?timeout_ms=0")).generation > before;
}

test("run reports the command, not the prompt before it", async () => {
  const { api, file, runs } = await heldUp("run");
  const { generation } = await api.get<{ generation: number }>("idle?timeout_ms=0");
  const answer = api.run(`echo typed; : > ${file}\n`, { timeout_ms: 60_000, max_wait_ms: 60_000 });
  await until("the line to be typed", () => isTyped(api, generation));
  await runs();
  expect(await answer).toMatchObject({ decided_by: "command_finished", exit_code: 0, output: "typed" });
});

test("silence is not an end while output is unread", async () => {
  const { api, file, runs } = await heldUp("idle");
  const { generation } = await api.get<{ generation: number }>("idle?timeout_ms=0");
  await api.type(`: > ${file}; echo typed; sleep 60\n`);
  await until("the line to be typed", () => isTyped(api, generation));
  const asked = Promise.withResolvers<string>();
  await runs(() => {
    const answer = api.get<{ screen: { lines: string[] } }>(`idle?timeout_ms=${HELD_MS / 2}&format=plain`);
    asked.resolve(answer.then(({ screen }) => screen.lines.join("\n")));
  });
  expect(await asked.promise).toContain("\ntyped");
});
