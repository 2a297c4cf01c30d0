/** Requests of the page's session list when answers fail, or arrive during a request. */
import { afterAll, beforeAll, expect, jest, test } from "bun:test";
import type { SessionInfo } from "../../../src/protocol/session.ts";
import type { ControlEvent, ControlSocket } from "../../../src/web/connection/control-socket.ts";
import { Refusal } from "../../../src/web/connection/server.ts";
import { lastCommands, questions, SessionList, type SessionUpdate, sessions } from "../../../src/web/page/sessions.ts";

const document = { hidden: true, addEventListener: () => undefined };
beforeAll(() => {
  Object.assign(globalThis, { document });
  jest.useFakeTimers();
});
afterAll(() => {
  jest.useRealTimers();
  Reflect.deleteProperty(globalThis, "document");
});

interface Call {
  readonly method: string;
  readonly session: string | undefined;
  answer(result: unknown): Promise<void>;
  refuse(): Promise<void>;
}

/** A list whose server answers when a test says so. */
class Asked {
  readonly calls: Call[] = [];
  readonly told: string[] = [];
  readonly list: SessionList;

  constructor() {
    sessions.value = [];
    questions.value = new Map();
    lastCommands.value = new Map();
    const control = {
      isOpen: true,
      call: (method: string, _params: object, session?: string) => {
        const { promise, resolve, reject } = Promise.withResolvers<unknown>();
        const settled = async (settle: () => void): Promise<void> => {
          this.calls.splice(this.calls.indexOf(call), 1);
          settle();
          // Its waiters continue.
          for (let turn = 0; turn < 20; turn++) await Promise.resolve();
        };
        const call: Call = {
          ...{ method, session },
          answer: (result) => settled(() => resolve(result)),
          refuse: () => settled(() => reject(new Refusal(0, "resource_limit_reached", "too many", ""))),
        };
        this.calls.push(call);
        return promise;
      },
    } as unknown as ControlSocket;
    this.list = new SessionList(control, (what: SessionUpdate) => {
      if (what.kind === "question") this.told.push(what.question.question);
    });
  }

  of(method: string, session?: string): Call {
    const found = this.calls.find(
      (call) => call.method === method && (session === undefined || call.session === session),
    );
    if (found === undefined) throw new Error(`nobody asked for ${method} of ${session}`);
    return found;
  }

  isAsked(method: string): boolean {
    return this.calls.some((call) => call.method === method);
  }

  /** All requests once the page has waited, except for questions. */
  async listed(...names: readonly string[]): Promise<void> {
    jest.advanceTimersByTime(5_000);
    await this.of("list_sessions").answer(names.map(sessionOf));
    await this.answer("subscribe", {});
    await this.answer("list_commands", []);
  }

  async answer(method: string, result: unknown): Promise<void> {
    while (this.isAsked(method)) await this.of(method).answer(result);
  }
}

const sessionOf = (name: string): SessionInfo =>
  ({ id: name, name, pane_id: name, windows: [] as const }) as unknown as SessionInfo;
const question = (text: string) => ({ ask_id: text, question: text });
const changed = (name: string): ControlEvent => ({
  event: "questions_changed",
  params: { session: sessionOf(name) },
});

test("changes during a request of the list are requested again, though nobody views it", async () => {
  const page = new Asked();
  page.list.connected();
  jest.advanceTimersByTime(5_000);
  const slow = page.of("list_sessions");
  page.list.event({ event: "session_created", params: { session: sessionOf("new") } });
  jest.advanceTimersByTime(5_000);
  await slow.answer([]);
  await page.listed("new");
  expect(sessions.value.map(({ id }) => id)).toEqual(["new"]);
});

test("failed requests for questions are repeated; known questions stay, and are reported once", async () => {
  const page = new Asked();
  page.list.connected();
  await page.listed("dev");
  await page.of("list_asks").answer([question("first?")]);
  page.list.event(changed("dev"));
  await page.of("list_asks").refuse();
  expect([...questions.value.keys()]).toEqual(["dev"]);
  await page.listed("dev");
  await page.of("list_asks").answer([question("first?"), question("second?")]);
  expect(page.told).toEqual(["first?", "second?"]);
});

test("a session that never returns its questions is not asked for ever", async () => {
  const page = new Asked();
  page.list.connected();
  await page.listed("old");
  let asked = 0;
  for (; asked < 100 && page.isAsked("list_asks"); asked++) {
    await page.of("list_asks").refuse();
    jest.advanceTimersByTime(60_000);
    if (page.isAsked("list_sessions")) await page.listed("old");
  }
  expect(asked).toBeGreaterThan(1);
  expect(asked).toBeLessThan(100);
});

test("a command's end that comes before an older answer stays, and a refused subscription is repeated", async () => {
  const page = new Asked();
  const command = (state: string) => ({ id: 1, state });
  page.list.connected();
  jest.advanceTimersByTime(5_000);
  await page.of("list_sessions").answer([sessionOf("dev")]);
  await page.answer("list_asks", []);
  await page.of("subscribe").refuse();
  jest.advanceTimersByTime(5_000);
  await page.of("list_sessions").answer([sessionOf("dev")]);
  await page.of("subscribe").answer({});
  page.list.event({ event: "command_finished", session: "dev", pane: "dev", command: command("finished") });
  await page.of("list_commands").answer([command("running")]);
  expect(lastCommands.value.get("dev")?.state).toBe("finished");
});

test("after omitted events everything is requested again", async () => {
  const page = new Asked();
  page.list.connected();
  await page.listed("dev");
  await page.of("list_asks").answer([]);
  page.list.event({ type: "lagged", skipped: 3 });
  await page.listed("dev");
  await page.of("list_asks").answer([question("missed?")]);
  expect(page.told).toEqual(["missed?"]);
});

test("many sessions are requested in parts, which fit the server's queue", async () => {
  const page = new Asked();
  const names = Array.from({ length: 300 }, (_, index) => `s${index}`);
  page.list.connected();
  jest.advanceTimersByTime(5_000);
  await page.of("list_sessions").answer(names.map(sessionOf));
  const asked = new Set<string>();
  while (page.calls.length > 0) {
    expect(page.calls.length).toBeLessThanOrEqual(256);
    const [call] = page.calls;
    if (call?.method === "list_asks") asked.add(call.session ?? "");
    await call?.answer([]);
  }
  expect(asked.size).toBe(names.length);
});
