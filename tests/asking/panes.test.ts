/** Questions in a session of several panes, and questions that are open while it is split. */
import { describe, expect, test } from "bun:test";
import type { AskResult } from "../../src/protocol/ask-result.ts";
import type { PendingQuestion } from "../../src/protocol/asking.ts";
import { Http } from "../support/http.ts";
import { shared } from "../support/shared.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const READY = /Esc dismisses/;
const SECRET = "xK4-panes-are-apart-0815";

const wsh = shared(new Wsh());

/** A session of its own, and an attached terminal. */
async function scene() {
  await wsh.session("s");
  const terminal = await EmulatorTerminal.attach(wsh, "s", { seen: "$", rows: 24, cols: 100 });
  const http = new Http({ unix: wsh.instance.httpSocket });
  const state = async (target: string) =>
    ((await http.get(`/sessions/${target}/status`)).body as { state?: string }).state;
  return {
    ...{ wsh, terminal, http, state },
    split: async (): Promise<string> => {
      const { status, body } = await http.post("/sessions/s/panes", { direction: "right" });
      expect(status).toBe(201);
      const { pane } = body as { pane: string };
      await until("its prompt", async () => (await state(pane)) === "prompt");
      return pane;
    },
    ask: async (question: Readonly<Record<string, unknown>>, target = "s"): Promise<AskResult> =>
      http.expect(200, http.post(`/sessions/${target}/ask`, { max_wait_ms: 50_000, ...question })),
    list: async (): Promise<PendingQuestion[]> => http.expect(200, http.get("/sessions/s/ask")),
    wait: async (input: object, target = "s"): Promise<{ decided_by: string; ask?: AskResult }> =>
      http.expect(200, http.post(`/sessions/${target}/wait`, { max_wait_ms: 20_000, ...input })),
    async [Symbol.asyncDispose]() {
      await terminal[Symbol.asyncDispose]();
      await wsh.kill("s");
    },
  };
}

describe("in a session of several panes", () => {
  test("a question is answered at the terminal, and can be waited for with other conditions, at the session or a pane", async () => {
    await using the = await scene();
    const { terminal } = the;
    const pane = await the.split();
    const { ask_id } = await the.ask({ question: "Which?", choices: ["red", "green"], max_wait_ms: 0 });
    await terminal.sees(READY);
    const anyOf = [{ type: "answer", ask_id }, "exited"];
    const waits = [
      the.wait({ any_of: anyOf }),
      the.wait({ any_of: [anyOf[0]] }, pane),
      the.wait({ any_of: anyOf }, pane),
    ];
    terminal.type("\x1b[B\r");
    for (const each of waits) expect(await each).toMatchObject({ decided_by: "answer", ask: { answer: "green" } });
    const any = await the.http.post("/wait", { any_of: anyOf, max_wait_ms: 0 });
    expect(any.body).toMatchObject({ decided_by: "answer", ask: { ask_id, answer: "green" } });
    const other = await the.http.post("/sessions/s/wait", { any_of: [{ type: "answer", ask_id: "none" }, "exited"] });
    expect(other.body).toMatchObject({ error: { code: "question_not_found" } });
  });

  test("a secret reaches only the pane that reads it, whichever is in view", async () => {
    await using the = await scene();
    const { terminal, wsh } = the;
    const pane = await the.split();
    await wsh.enter(pane, "read -rs A; echo got $(printf %s $A | wc -c)");
    await until("the password prompt", async () => (await the.state(pane)) === "password");
    // A session's name selects its oldest pane, as everywhere.
    const refused = await the.http.post("/sessions/s/ask", { question: "Key?", kind: "secret" });
    expect(refused.body).toMatchObject({
      error: {
        code: "no_password_prompt",
        hint: `The program in pane '${pane}' is: name that pane instead of the session.`,
      },
    });
    const asked = the.ask({ question: "Key?", kind: "secret" }, pane);
    const shown = await terminal.sees(/Enter types it there/);
    expect(shown).toMatch(new RegExp(`Only for bash, pid \\d+, in pane ${pane}:`));
    expect(await the.list()).toMatchObject([{ kind: "secret", pane_id: pane, state: "open" }]);
    terminal.type(`${SECRET}\r`);
    expect(await asked).toMatchObject({ state: "answered", decided_by: "answered", answered_by: "terminal" });
    await terminal.sees(`got ${SECRET.length}`);
    expect(terminal.bytes).not.toContain(SECRET);
  });

  test("a secret is discarded when the program of that pane no longer reads one", async () => {
    await using the = await scene();
    const { terminal, wsh } = the;
    const pane = await the.split();
    await wsh.enter(pane, "read -rs A; stty echo; cat");
    await until("the password prompt", async () => (await the.state(pane)) === "password");
    const asked = the.ask({ question: "Key?", kind: "secret" }, pane);
    await terminal.sees(/Enter types it there/);
    await wsh.enter(pane, "");
    await until("the other program", async () => (await the.state(pane)) === "waiting_for_input");
    terminal.type(`${SECRET}\r`);
    expect(await asked).toMatchObject({ state: "closed", decided_by: "secret_not_taken" });
    expect(await terminal.sees((text) => !text.includes("Key?"))).not.toContain(SECRET);
  });

  test("a question for a secret ends with its pane", async () => {
    await using the = await scene();
    const pane = await the.split();
    await the.wsh.enter(pane, "read -rs A");
    await until("the password prompt", async () => (await the.state(pane)) === "password");
    const asked = the.ask({ question: "Key?", kind: "secret" }, pane);
    await the.terminal.sees(/Enter types it there/);
    expect((await the.http.delete(`/sessions/${pane}/pane`)).status).toBe(200);
    expect(await asked).toMatchObject({ state: "closed", decided_by: "secret_not_taken" });
    expect(await the.list()).toEqual([]);
  });

  test("a hand-over brings its pane into view; the answer has the state of that pane's program", async () => {
    await using the = await scene();
    const { terminal } = the;
    const pane = await the.split();
    const asked = the.ask({ question: "Please sign", kind: "hand_over" }, pane);
    await terminal.sees(/Enter takes over/);
    terminal.type("\r");
    await terminal.sees("hands back: Please sign");
    terminal.type("cat\r");
    await until("cat in that pane", async () => (await the.state(pane)) === "waiting_for_input");
    expect(await the.state("s")).toBe("prompt");
    terminal.type("\x1c");
    expect(await asked).toMatchObject({ state: "answered", program_state: "waiting_for_input" });
    const closing = the.ask({ question: "Close it", kind: "hand_over" }, pane);
    await terminal.sees(/Enter takes over/);
    terminal.type("\r");
    await terminal.sees("hands back: Close it");
    terminal.type("\x04");
    terminal.type("exit\r");
    await until(
      "the pane is gone",
      async () => ((await the.http.get("/sessions/s/panes")).body as unknown[]).length === 1,
    );
    terminal.type("\x1c");
    expect(await closing).toMatchObject({ state: "answered", program_state: "exited" });
  });
});

describe("when a session is split", () => {
  test("its open question stays, with the input so far; earlier calls get the answer", async () => {
    await using the = await scene();
    const { terminal } = the;
    const asked = the.ask({ question: "Name?" });
    await terminal.sees(READY);
    terminal.type("half");
    await terminal.sees("> half");
    const queued = await the.ask({ question: "And then?", choices: ["a", "b"], multiple: true, max_wait_ms: 0 });
    const waited = the.wait({ any_of: [{ type: "answer", ask_id: queued.ask_id }, "exited"] });
    const over = await the.ask({ question: "Gone?", max_wait_ms: 1, timeout_ms: 1 });
    await until("its end", async () => (await the.list()).length === 2);
    await the.http.expect(201, the.http.post("/sessions/s/panes", { direction: "right" }));
    await terminal.sees(/[│┃][\s\S]*> half[\s\S]*Esc dismisses/);
    terminal.type(" done\r");
    expect(await asked).toMatchObject({ session: "s", state: "answered", answer: "half done" });
    await terminal.sees((text) => READY.test(text) && text.includes("And then?"));
    terminal.type("\x1b[B \r");
    expect(await waited).toMatchObject({ decided_by: "answer", ask: { ask_id: queued.ask_id, answer: ["b"] } });
    // Earlier answers are still known.
    const again = { any_of: [{ type: "answer", ask_id: over.ask_id }] };
    expect(await the.wait(again)).toMatchObject({ ask: { decided_by: "timeout" } });
  });

  test("a hand-over continues, and so does a secret that its pane still reads", async () => {
    await using the = await scene();
    const { terminal } = the;
    const asked = the.ask({ question: "Log in", kind: "hand_over" });
    await terminal.sees(/Enter takes over/);
    terminal.type("\r");
    await terminal.sees("hands back: Log in");
    await the.http.expect(201, the.http.post("/sessions/s/panes", { direction: "right" }));
    await terminal.sees(/[│┃][\s\S]*hands back: Log in/);
    terminal.type("read -rs A; echo got $(printf %s $A | wc -c)\r");
    await until("the password prompt", async () => (await the.state("s")) === "password");
    const secret = the.ask({ question: "Key?", kind: "secret" });
    terminal.type("\x1c");
    expect(await asked).toMatchObject({ state: "answered", program_state: "password" });
    await terminal.sees(/Enter types it there/);
    terminal.type(`${SECRET}\r`);
    expect(await secret).toMatchObject({ state: "answered" });
    await terminal.sees(`got ${SECRET.length}`);
  });
});

describe("the command line", () => {
  test("finds the person in a session of several panes, lists open questions, and answers one", async () => {
    await using the = await scene();
    const { terminal, wsh } = the;
    await the.split();
    const yes = wsh.run("ask", "Go?", "--kind", "confirm");
    await terminal.sees(READY);
    terminal.type("y");
    expect(await yes).toMatchObject({ code: 0, stdout: "yes\n" });
    const pending = wsh.run("ask", "Which?", "--choice", "a", "--choice", "b", "--multiple");
    await terminal.sees((text) => READY.test(text) && text.includes("Which?"));
    const [open] = await the.list();
    expect(await wsh.ok("ask", "--list")).toContain(open?.ask_id ?? "none");
    await wsh.ok("ask", "--answer", open?.ask_id ?? "", "--choice", "a", "--choice", "b");
    expect(await pending).toMatchObject({ code: 0, stdout: "a\nb\n" });
  });
});

test("a view counts as a person only while one is in front of it", async () => {
  await using the = await scene();
  const { wsh, http, terminal } = the;
  await wsh.session("t");
  await wsh.ok("split", "s", "--view", "t");
  const outcome = async () => (await the.ask({ question: "Seen?", kind: "confirm", max_wait_ms: 0 }, "t")) as AskResult;
  await until("the view to be seen", async () => (await outcome()).decided_by !== "nobody_attached");
  await terminal.sees(/Seen\?[\s\S]*Esc/);
  const cancelAll = async (): Promise<void> => {
    const open = (await http.get("/sessions/t/ask")).body as PendingQuestion[];
    for (const { ask_id } of open) await wsh.ok("ask", "--cancel", ask_id);
  };
  await cancelAll();
  await http.expect(201, http.post("/sessions/s/windows", { focus: true }));
  await until("nobody", async () => (await outcome()).decided_by === "nobody_attached");
  await cancelAll();
  await http.post("/sessions/s:0/window/select", {});
  await until("the view to be seen again", async () => (await outcome()).decided_by !== "nobody_attached");
  await cancelAll();
  terminal.type("\x1cd");
  await terminal.exited;
  await until("nobody again", async () => (await outcome()).decided_by === "nobody_attached");
});
