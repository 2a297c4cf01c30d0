/** A question that a program answers instead of the person: the result says so, and an agent cannot answer its own. */
import { expect, test } from "bun:test";
import type { AskResult } from "../../src/protocol/ask-result.ts";
import type { PendingQuestion } from "../../src/protocol/asking.ts";
import { written } from "../reliability/checkpoints/crashed-sessions.ts";
import { Http } from "../support/http.ts";
import { Gateway } from "../support/server.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

test("why an answer is refused is said also beside a crashed session that is being read", async () => {
  await using wsh = new Wsh();
  await wsh.session("asks");
  await wsh.session("gone");
  await wsh.ok("exec", "gone", "--", "echo here");
  await written(wsh, "here", 2, 2);
  await wsh.killHost(-1);
  expect(await wsh.screen("gone")).toContain("here");
  const asked = ["ask", "Which?", "--session", "asks", "--wait-for-person", "--choice", "red", "--choice", "green"];
  expect((await wsh.run(...asked, "--wait", "0")).code).toBe(124);
  const [{ ask_id }] = JSON.parse(await wsh.ok("ask", "--list", "--json"));
  const { code, stderr } = await wsh.run("ask", "--answer", ask_id, "blue");
  expect([code, stderr]).toEqual([1, expect.stringContaining("choice")]);
  await wsh.ok("ask", "--answer", ask_id, "red");
});

test("the dialog closes, the asker learns that a call answered, and an answer that does not fit is refused", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  await wsh.session("s");
  await using terminal = await EmulatorTerminal.attach(wsh, "s", { seen: "$" });
  const http = new Http({ unix: wsh.instance.httpSocket });
  const ask = (question: object): Promise<AskResult> =>
    http.expect(200, http.post("/sessions/s/ask", { max_wait_ms: 50_000, ...question }));
  const open = async (): Promise<PendingQuestion> => {
    const [first] = await until("the question", async () => {
      const list = (await http.get("/sessions/s/ask")).body as PendingQuestion[];
      return list.length > 0 && list;
    });
    if (first === undefined) throw new Error("no question");
    return first;
  };
  const answer = async (ask_id: string, given: unknown) =>
    await http.post(`/sessions/s/ask/${ask_id}/answer`, { answer: given });

  const choice = ask({ question: "Which?", choices: ["red", "green"], detail: "More.", default: "red" });
  const { ask_id, ...shown } = await open();
  expect(shown).toMatchObject({ choices: ["red", "green"], detail: "More.", default: "red", multiple: false });
  for (const wrong of ["blue", true, ["red"], ["red", "green"]]) {
    expect((await answer(ask_id, wrong)).body).toMatchObject({ error: { code: "invalid_request", field: "answer" } });
  }
  await terminal.sees("Which?");
  expect((await answer(ask_id, "green")).body).toMatchObject({ answer: "green", answered_by: "call" });
  expect(await choice).toMatchObject({
    ...{ state: "answered", answer: "green", answered_by: "call", answered_as: "an HTTP client" },
  });
  await terminal.sees((text) => !text.includes("Which?"));
  expect((await answer(ask_id, "red")).body).toMatchObject({ error: { code: "question_not_found" } });

  const handOver = ask({ question: "Take it", kind: "hand_over" });
  const { ask_id: taken } = await open();
  expect((await answer(taken, true)).body).toMatchObject({ error: { code: "invalid_request" } });
  await wsh.ok("ask", "--cancel", taken);
  await handOver;

  await wsh.ok("send", "s", "read -rs A", "--keys", "Enter");
  await until("the prompt", async () => {
    return ((await http.get("/sessions/s/status")).body as { state: string }).state === "password";
  });
  const secret = ask({ question: "Key?", kind: "secret" });
  const { ask_id: key } = await open();
  expect((await answer(key, "hunter2")).body).toMatchObject({ error: { code: "invalid_request" } });
  await wsh.ok("ask", "--cancel", key);
  expect(await secret).toMatchObject({ decided_by: "cancelled" });
});

test("the asker cannot answer, nor can a token that may only act", async () => {
  await using gateway = await Gateway.start();
  await gateway.session("s");
  const as = async (name: string, access: string) => {
    const token = (await gateway.ok("token", "create", name, "--access", access)).trim();
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    return async (path: string, input: object): Promise<unknown> => {
      const body = JSON.stringify(input);
      return (await fetch(`${gateway.origin}/sessions/s${path}`, { method: "POST", headers, body })).json();
    };
  };
  const [agent, other, helper] = [
    await as("agent", "admin"),
    await as("other", "admin"),
    await as("helper", "operate"),
  ];
  const asked = { question: "Deploy?", kind: "confirm", wait_for_person: true, max_wait_ms: 0 };
  const { ask_id } = (await agent("/ask", asked)) as { ask_id: string };
  const answer = (by: typeof agent) => by(`/ask/${ask_id}/answer`, { answer: true });
  expect(await answer(agent)).toMatchObject({ error: { code: "access_denied" } });
  expect(await answer(helper)).toMatchObject({ error: { code: "access_denied" } });
  expect(await answer(other)).toMatchObject({ answered_by: "call", answer: true });
  const again = { any_of: [{ type: "answer", ask_id }] };
  expect(await agent("/wait", again)).toMatchObject({ ask: { answered_by: "call" } });
});
