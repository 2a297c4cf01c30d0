/** Questions to the person: dialogs at attached terminals, answered by keys and by mouse. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { AskResult } from "../../src/protocol/ask-result.ts";
import { Http } from "../support/http.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

/** Visible once a dialog takes keys. */
const READY = /Esc dismisses/;

interface TerminalSize {
  readonly rows?: number;
  readonly cols?: number;
  readonly flags?: string[];
}

const wsh = new Wsh();
let server: Awaited<ReturnType<Wsh["server"]>>;
beforeAll(async () => {
  server = await wsh.server();
});

/** Terminals at a session, and what asks there. */
function sceneAt(session: string, terminals: readonly EmulatorTerminal[]) {
  const http = new Http({ unix: wsh.instance.httpSocket });
  return {
    wsh,
    http,
    terminals,
    get terminal(): EmulatorTerminal {
      const [first] = terminals;
      if (first === undefined) throw new Error("there is no terminal");
      return first;
    },
    ask: async (question: Readonly<Record<string, unknown>>): Promise<AskResult> =>
      http.expect(200, http.post(`/sessions/${session}/ask`, question)),
    wait: async (ask_id: string | undefined): Promise<{ decided_by: string; ask?: AskResult }> => {
      const input = { any_of: [{ type: "answer", ask_id }], max_wait_ms: 20_000 };
      return http.expect(200, http.post(`/sessions/${session}/wait`, input));
    },
  };
}

async function terminalsAt(session: string, sizes: readonly TerminalSize[]): Promise<EmulatorTerminal[]> {
  await wsh.session(session);
  const terminals: EmulatorTerminal[] = [];
  for (const size of sizes) terminals.push(await EmulatorTerminal.attach(wsh, session, { ...size, seen: "$" }));
  return terminals;
}

/** A separate session and its attached terminals. */
async function scene(sizes: readonly TerminalSize[] = [{}]) {
  const terminals = await terminalsAt("s", sizes);
  const { http } = sceneAt("s", terminals);
  return Object.assign(sceneAt("s", terminals), {
    async [Symbol.asyncDispose]() {
      for (const each of terminals) await each[Symbol.asyncDispose]();
      if ((await http.get("/sessions/s")).status === 200) await http.kill("s");
    },
  });
}

let usual: Promise<EmulatorTerminal[]> | null = null;
afterAll(async () => {
  await endUsual();
  await wsh[Symbol.asyncDispose]();
});
async function endUsual(): Promise<void> {
  for (const terminal of (await usual) ?? []) await terminal[Symbol.asyncDispose]();
  usual = null;
}

/** The session and the terminal of tests that leave no question and no program there. */
async function usualScene() {
  usual ??= terminalsAt("usual", [{}]);
  return sceneAt("usual", await usual);
}

/** Position of a text on the screen, as SGR mouse coordinates. */
function placeOf(text: string, wanted: string): string {
  const lines = text.split("\n");
  const row = lines.findIndex((line) => line.includes(wanted));
  return `${(lines[row]?.indexOf(wanted) ?? 0) + 2};${row + 1}`;
}

describe("a question", () => {
  test("is displayed at every terminal; one answers, the others close, and the program gets nothing", async () => {
    await using the = await scene([{}, { rows: 30, cols: 100 }]);
    const [one, two] = the.terminals;
    if (one === undefined || two === undefined) throw new Error("two terminals");
    const asked = the.ask({ question: "Which colour?", choices: ["red", "green", "blue"], default: "green" });
    await Promise.all([one.sees(READY), two.sees(READY)]);
    two.type("\x1b[B\r");
    expect(await asked).toMatchObject({ session: "s", state: "answered", answer: "blue", answered_by: "terminal" });
    await Promise.all([one.sees((text) => !text.includes("colour")), two.sees((text) => !text.includes("colour"))]);
    one.type("echo a''b\r");
    const text = await one.sees(/^ab$/m);
    expect(text).not.toContain("colour");
    expect(text).not.toContain("not found");
  });

  test("is answered by a click: a choice, several, yes or no, a dismissal", async () => {
    const the = await usualScene();
    const { terminal } = the;
    const click = async (wanted: string): Promise<void> => {
      const at = placeOf(await terminal.sees((text) => READY.test(text) && text.includes(wanted)), wanted);
      terminal.type(`\x1b[<0;${at}M\x1b[<0;${at}m`);
    };
    const choice = the.ask({ question: "Which?", choices: ["red", "green"] });
    await click("green");
    expect(await choice).toMatchObject({ answer: "green" });
    const several = the.ask({ question: "Several?", choices: ["salt", "pepper", "dill"], multiple: true });
    await click("[ ] dill");
    await terminal.sees("[x] dill");
    await click("[ OK ]");
    expect(await several).toMatchObject({ answer: ["dill"] });
    const confirm = the.ask({ question: "Really?", kind: "confirm" });
    await click("[ Yes ]");
    expect(await confirm).toMatchObject({ answer: true });
    const text = the.ask({ question: "Name?" });
    await click("[ Dismiss ]");
    expect(await text).toMatchObject({ state: "closed", decided_by: "dismissed" });
  });

  test("takes a text with corrections and a paste; y and n answer a yes or no, Escape dismisses", async () => {
    const the = await usualScene();
    const { terminal } = the;
    const text = the.ask({ question: "Branch?", default: "main" });
    await terminal.sees((shown) => READY.test(shown) && shown.includes("Branch?"));
    terminal.type("\x15fix\x7fx\x1b[200~ it ü\r\n\x1b[201~");
    await terminal.sees("> fix it ü");
    terminal.type("\r");
    expect(await text).toMatchObject({ answer: "fix it ü" });
    const no = the.ask({ question: "Push?", kind: "confirm", default: true });
    await terminal.sees((shown) => READY.test(shown) && shown.includes("Push?"));
    terminal.type("n");
    expect(await no).toMatchObject({ answer: false });
    const gone = the.ask({ question: "Once more?", kind: "confirm" });
    await terminal.sees((shown) => READY.test(shown) && shown.includes("Once more?"));
    terminal.type("\x1b");
    expect(await gone).toMatchObject({ decided_by: "dismissed" });
  });

  test("returns at once while nobody is attached, or waits for a person on request", async () => {
    await using the = await scene([]);
    expect(await the.ask({ question: "Anybody?" })).toEqual({
      session: "s",
      state: "closed",
      decided_by: "nobody_attached",
    });
    const pending = await the.ask({ question: "Later?", wait_for_person: true, max_wait_ms: 0 });
    expect(pending).toMatchObject({ state: "pending" });
    await using terminal = await EmulatorTerminal.attach(the.wsh, "s", { seen: READY });
    terminal.type("ok\r");
    expect(await the.wait(pending.ask_id)).toMatchObject({ decided_by: "answer", ask: { answer: "ok", session: "s" } });
  });

  test("is not displayed at a read-only terminal", async () => {
    await using the = await scene([{ flags: ["--read-only"] }]);
    expect(await the.ask({ question: "Anybody?" })).toMatchObject({ decided_by: "nobody_attached" });
  });

  test("outlives its call, its caller and the server; a killed server's successor waits for it", async () => {
    await using the = await scene();
    const { terminal } = the;
    const gone = new AbortController();
    const asked = the.http
      .post("/sessions/s/ask", { question: "Still here?" }, { signal: gone.signal })
      .catch(() => null);
    await terminal.sees(READY);
    const [listed] = (await the.http.get("/sessions/s/ask")).body as { ask_id: string; state: string }[];
    expect(listed).toMatchObject({ state: "open", kind: "text" });
    gone.abort();
    await asked;
    await server.kill("SIGKILL");
    expect(await terminal.text()).toContain("Still here?");
    server = await the.wsh.server();
    terminal.type("yes\r");
    expect(await the.wait(listed?.ask_id)).toMatchObject({ ask: { answer: "yes" } });
  });

  test("queues behind another; ends when it expires, or when it is cancelled", async () => {
    const the = await usualScene();
    const { terminal } = the;
    const first = the.ask({ question: "First?" });
    await terminal.sees((text) => READY.test(text) && text.includes("First?"));
    const second = the.ask({ question: "Second?", max_wait_ms: 20_000 });
    await terminal.sees("(1 of 2)");
    terminal.type("one\r");
    expect(await first).toMatchObject({ answer: "one" });
    await terminal.sees("Second?");
    const [open] = (await the.http.get("/sessions/usual/ask")).body as { ask_id: string }[];
    await wsh.ok("ask", "--cancel", open?.ask_id ?? "");
    expect(await second).toMatchObject({ state: "closed", decided_by: "cancelled" });
    expect(await wsh.run("ask", "--cancel", open?.ask_id ?? "")).toMatchObject({ code: 1 });
    expect(await the.ask({ question: "Short?", timeout_ms: 500 })).toMatchObject({ decided_by: "timeout" });
    await terminal.sees((text) => !text.includes("Short?"));
  });

  test("opens only after the person pauses: earlier input reaches the program", async () => {
    await using the = await scene();
    const { terminal } = the;
    terminal.type("echo one");
    await terminal.sees("echo one");
    const asked = the.ask({ question: "Now?", kind: "confirm", default: true });
    terminal.type(" two\r");
    await terminal.sees(/^one two$/m);
    await terminal.sees(READY);
    terminal.type("y");
    expect(await asked).toMatchObject({ answer: true });
  });

  test("is not answered by a person who keeps typing while it opens, however long", async () => {
    await using the = await scene();
    const { terminal } = the;
    const asking = async (): Promise<boolean | null> => {
      const asked = the.ask({ question: "Now?", kind: "confirm" });
      await terminal.sees("Now?");
      // Twice the guard, and a key every tenth of it.
      for (let typed = 0; typed < 20; typed++) {
        terminal.type("y");
        await Bun.sleep(30);
      }
      const [open] = (await the.http.get("/sessions/s/ask")).body as { state: string }[];
      if (open === undefined) return null;
      await terminal.sees(READY);
      terminal.type("n");
      return (await asked).answer as boolean;
    };
    // A stalled machine makes a pause in the typing: it spoils one attempt, a defect all.
    let answer: boolean | null = null;
    for (let attempt = 0; attempt < 5 && answer === null; attempt++) answer = await asking();
    expect(answer).toBe(false);
  });

  test("passes no input to the program that is typed as it ends", async () => {
    await using the = await scene();
    const { terminal, http } = the;
    const ending = async (attempt: number): Promise<boolean> => {
      const asked = the.ask({ question: "Name?" });
      await terminal.sees((text) => READY.test(text) && text.includes("Name?"));
      const [open] = (await http.get("/sessions/s/ask")).body as { ask_id: string }[];
      let cancelled: Promise<unknown> | null = null;
      for (let typed = 0; typed < 30; typed++) {
        terminal.type("w");
        if (typed === 10) cancelled = http.delete(`/sessions/s/ask/${open?.ask_id}`);
        await Bun.sleep(30);
      }
      await cancelled;
      expect(await asked).toMatchObject({ decided_by: "cancelled" });
      // The pause after which keys reach the program again. On a stalled machine it may end later: then none does.
      await Bun.sleep(400);
      terminal.type(`echo at''tempt ${attempt}\r`);
      const shown = await terminal.sees((text) => text.includes(`at''tempt ${attempt}`)).catch(() => "");
      return new RegExp(`^\\$ echo at''tempt ${attempt}$`, "m").test(shown);
    };
    let ended = false;
    for (let attempt = 0; attempt < 5 && !ended; attempt++) ended = await ending(attempt);
    expect(ended).toBe(true);
  });

  test("is refused with the reason when it is invalid", async () => {
    const the = await usualScene();
    const refuse = async (input: object): Promise<unknown> => (await the.http.post("/sessions/usual/ask", input)).body;
    expect(await refuse({ question: "?", kind: "choice" })).toMatchObject({
      error: { code: "invalid_request", field: "choices" },
    });
    expect(await refuse({ question: "?", choices: ["a"], default: "b" })).toMatchObject({
      error: { field: "default" },
    });
    expect(await refuse({ question: "?", kind: "confirm", default: "yes" })).toMatchObject({
      error: { field: "default" },
    });
    expect(await refuse({ question: "?", kind: "secret" })).toMatchObject({ error: { code: "no_password_prompt" } });
    expect(
      (await the.http.post("/sessions/usual/wait", { any_of: [{ type: "answer", ask_id: "x" }] })).body,
    ).toMatchObject({
      error: { code: "question_not_found" },
    });
  });
});

describe("a dialog", () => {
  test("fits a terminal of 20 by 6, with all choices", async () => {
    await using the = await scene([{ rows: 6, cols: 20 }]);
    const { terminal } = the;
    const asked = the.ask({ question: "Which of these long things?", choices: ["one", "two", "three", "four"] });
    await terminal.sees(/1 > one[\s\S]*4 {3}four/);
    await until("the guard", async () => (await terminal.text()).includes("Enter"));
    terminal.type("\x1b[B\x1b[B\x1b[B");
    await terminal.sees("4 > four");
    terminal.type("\r");
    expect(await asked).toMatchObject({ answer: "four" });
  });

  test("covers a full-screen program, which is restored afterwards and gets no key", async () => {
    const the = await usualScene();
    const { terminal } = the;
    await wsh.enter("usual", "printf 'l%s\\n' $(seq 1 200) | less");
    await terminal.sees(/^:$/m);
    const before = await terminal.rows();
    const asked = the.ask({ question: "Go on?", kind: "confirm" });
    await terminal.sees((text) => READY.test(text) && text.includes("Go on?"));
    terminal.type("y");
    expect(await asked).toMatchObject({ answer: true });
    await terminal.sees((text) => !text.includes("Go on?"));
    expect(await terminal.rows()).toEqual(before);
    // Not by the person, whose keys reach no program for a moment.
    await wsh.type("usual", "q");
    await wsh.prompt("usual");
  });

  test("stays over a flood, and can be answered there", async () => {
    await using the = await scene();
    const { terminal } = the;
    terminal.type("yes\r");
    await terminal.sees(/^y$/m);
    const asked = the.ask({ question: "Enough?", kind: "confirm" });
    await terminal.sees(READY);
    terminal.type("y");
    expect(await asked).toMatchObject({ answer: true });
    terminal.type("\x03");
    await terminal.sees(/\^C/);
  });

  test("needs no colour, dims the cells that it covers, and shows no escape sequence of the question", async () => {
    const the = await usualScene();
    const { terminal } = the;
    const asked = the.ask({ question: "a\x1b[31mb\x1b]0;t\x07c\u202ed" });
    await terminal.sees((text) => READY.test(text) && text.includes("abcd"));
    terminal.type("\r");
    expect(await asked).toMatchObject({ answer: "" });
  });
});

describe("a hand-over", () => {
  test("is accepted, worked on and handed back by one press of the prefix key; the answer has the program's state", async () => {
    await using the = await scene();
    const { terminal } = the;
    const asked = the.ask({ question: "Please log in", kind: "hand_over", timeout_ms: 60_000 });
    await terminal.sees(/Enter takes over/);
    terminal.type("\r");
    await terminal.sees("Ctrl+\\ hands back: Please log in");
    terminal.type("cat\r");
    const state = async () => (await the.http.get("/sessions/s/status")).body as { state?: string };
    await until("cat", async () => (await state()).state === "waiting_for_input");
    terminal.type("\x1c");
    expect(await asked).toMatchObject({
      state: "answered",
      answered_by: "terminal",
      program_state: "waiting_for_input",
    });
    terminal.type("typed\r");
    expect(await terminal.sees(/^typed$/m)).not.toContain("hands back");
  });
});

describe("the command line", () => {
  // It would find this terminal, too.
  beforeAll(endUsual);

  test("asks at any terminal with a person, prints the answer, and exits by it", async () => {
    await using the = await scene();
    const { terminal, wsh } = the;
    await wsh.session("other");
    const yes = wsh.run("ask", "Deploy?", "--kind", "confirm");
    await terminal.sees(READY);
    terminal.type("y");
    expect(await yes).toMatchObject({ code: 0, stdout: "yes\n" });
    const no = wsh.run("ask", "Sure?", "--kind", "confirm");
    await terminal.sees((text) => READY.test(text) && text.includes("Sure?"));
    terminal.type("n");
    expect(await no).toMatchObject({ code: 1, stdout: "no\n" });
    expect(await wsh.run("ask", "Anybody?", "--session", "other")).toMatchObject({ code: 1, stdout: "" });
    const later = await wsh.run("ask", "Later?", "--wait", "0", "--json");
    expect(later.code).toBe(124);
    const { ask_id } = JSON.parse(later.stdout) as { ask_id: string };
    expect(await wsh.ok("ask", "--list")).toContain(ask_id);
    await terminal.sees((text) => READY.test(text) && text.includes("Later?"));
    terminal.type("now\r");
    expect(await wsh.ok("wait", "s", "--answer", ask_id)).toBe("now\n");
  });
});
