/** Notices to people who are elsewhere: by ntfy, webhook, program and terminal, one per event. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { notificationForms, notificationSupport } from "../../src/protocol/attention.ts";
import { bareNotice, type Notify, NotifySchema, noticeFor } from "../../src/protocol/notices.ts";
import type { RecordedEvent } from "../../src/protocol/recorded-events.ts";
import { deliver } from "../../src/server/hooks/deliver.ts";
import { Authority } from "../support/certificates.ts";
import { Http } from "../support/http.ts";
import { personAt } from "../support/person.ts";
import { isMissing } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

interface Posted {
  readonly path: string;
  readonly token: string | null;
  readonly body: Record<string, unknown>;
}

const posted: Posted[] = [];
let failures = 1;
/** Stands in for ntfy.sh, and for any other service. */
const own = {
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request: Request): Promise<Response> {
    const { pathname: path } = new URL(request.url);
    // The first one fails.
    if (path === "/flaky" && failures-- > 0) return new Response("busy", { status: 503 });
    posted.push({ path, token: request.headers.get("authorization"), body: (await request.json()) as Posted["body"] });
    return new Response("ok");
  },
};
const service = Bun.serve(own);
const origin = `http://127.0.0.1:${service.port}`;
const dir = fs.mkdtempSync("/tmp/wsh-notices-");
const token = join(dir, "token");
const hasOpenssl = !isMissing("openssl");
const authority = hasOpenssl ? new Authority(join(dir, "authority")) : null;
const { cert = "", key = "" } = authority?.sign() ?? {};
/** The same, with a certificate of an authority that only this test has. */
const secure = authority === null ? service : Bun.serve({ ...own, tls: { cert: Bun.file(cert), key: Bun.file(key) } });

let wsh: Wsh;
beforeAll(() => {
  wsh = new Wsh({
    intervals: { noticeRetry: 100 },
    env: authority === null ? {} : { NODE_EXTRA_CA_CERTS: authority.ca },
    config: `public_url = "https://box.example"

[[notify]]
way = "ntfy"
for = ["question"]
url = "${origin}/my-topic"
token_file = "${token}"

[[notify]]
way = "webhook"
for = ["command"]
min_seconds = 0
url = "${origin}/flaky"

[[notify]]
way = "ntfy"
for = ["command"]
session = "work"
min_seconds = 0
url = "${authority === null ? `${origin}/secure` : `https://localhost:${secure.port}/secure`}"

[[notify]]
way = "webhook"
for = ["command", "notification"]
min_seconds = 0
url = "${origin}/flaky"

[[notify]]
way = "command"
for = ["notification"]
run = ["/bin/sh", "-c", 'echo "$WSH_NOTICE_TITLE: $WSH_NOTICE_TEXT" >>"$HOME/../notified"']
`,
  });
  fs.writeFileSync(token, "tk_secret\n", { mode: 0o600 });
});
afterAll(async () => {
  await Promise.all([service, secure].map((each) => each.stop(true)));
  await wsh[Symbol.asyncDispose]();
  fs.rmSync(dir, { recursive: true });
});

test("a question reaches ntfy with its answers as buttons, of which one counts, once", async () => {
  await using _server = { server: await wsh.server(), [Symbol.asyncDispose]: async () => {} };
  await wsh.session("asks");
  const ask = wsh.fetch("/sessions/asks/ask", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      question: "Deploy?",
      choices: ["now", "später"],
      // Nobody is attached: it waits, since the notice reaches a person.
      max_wait_ms: 20_000,
    }),
  });
  const { body, token, path } = await until("the notice", () => posted.find(({ body }) => body.topic === "my-topic"));
  expect({ path, token }).toEqual({ path: "/", token: "Bearer tk_secret" });
  expect(body).toMatchObject({ title: "asks: an HTTP client asks", message: "Deploy?" });
  const actions = body.actions as { label: string; url: string; method: string }[];
  expect(actions.map(({ label, method }) => [label, method])).toEqual([
    ["now", "POST"],
    ["später", "POST"],
  ]);
  const [now = "", later = ""] = actions.map(({ url }) => url.replace("https://box.example", ""));
  // Neither a GET nor a guessed link answers.
  expect((await wsh.fetch(later)).status).toBe(405);
  const guessed = await wsh.fetch(`${later.slice(0, -3)}AAA`, { method: "POST" });
  expect(guessed.status).toBe(403);
  expect(await guessed.json()).toMatchObject({
    error: { code: "auth_invalid", hint: expect.stringMatching(/^The address of each button is in its notice/) },
  });
  expect(await (await wsh.fetch(later, { method: "POST" })).json()).toEqual({ state: "answered" });
  expect(await (await ask).json()).toMatchObject({ answer: "später", answered_by: "notice" });
  for (const again of [later, now]) expect((await wsh.fetch(again, { method: "POST" })).status).toBe(404);

  // For an agent that wants to act on it: while nobody is attached, the notice's button is the person's permission.
  const headers = { "Wsh-Agent": "claude" };
  const asNotice = ({ body }: Posted) => body.title === 'asks: "claude" asks';
  const sent = wsh.fetch("/sessions/asks/input", {
    method: "POST",
    headers,
    body: "# by leave",
  });
  const wanted = await until("the leave's notice", () => posted.find(asNotice)?.body);
  expect(wanted.message).toMatch(/^Let the agent "claude" act on session 'asks': input\.send .*# by leave/);
  const [once] = wanted.actions as { label: string; url: string }[];
  expect(once?.label).toBe("Once");
  await wsh.fetch(`${once?.url}`.replace("https://box.example", ""), { method: "POST" });
  expect((await sent).status).toBe(204);
  await until("the input", async () => (await wsh.screen("asks")).includes("# by leave"));
});

test("a question that names no session waits where a notice of it reaches a person", async () => {
  const config = `public_url = "https://box.example"\n[[notify]]\nway = "ntfy"\nfor = ["question"]\nsession = "w*"\nurl = "${origin}/any"\n`;
  await using own = new Wsh({ config });
  await own.server();
  await own.session("other");
  // No session that the table takes runs: the question reaches nobody.
  expect((await own.run("ask", "nobody?")).stderr).toContain("no terminal is attached");
  const kept = await own.run("ask", "nobody?", "--wait-for-person");
  expect(kept).toMatchObject({ code: 2, stderr: expect.stringContaining("with --session") });
  const http = new Http({ unix: own.instance.httpSocket });
  const any = (question: string): Promise<Record<string, unknown>> =>
    http.expect(200, http.post("/ask", { question, kind: "confirm", max_wait_ms: 20_000 }));
  expect(await any("nobody?")).toMatchObject({ session: null, decided_by: "nobody_attached" });
  await own.session("whisper", "--private");
  await own.session("work");

  const byHttp = any("by HTTP?");
  const byCommand = own.run("ask", "by command?", "--wait-for-person", "--kind", "confirm", "--wait", "20");
  for (const question of ["by HTTP?", "by command?"]) {
    const { body } = await until("the notice", () => posted.find(({ body }) => body.message === question));
    expect(body.title).toStartWith("work: ");
    const [yes] = body.actions as { url: string }[];
    expect((await own.fetch(`${yes?.url}`.replace("https://box.example", ""), { method: "POST" })).status).toBe(200);
  }
  expect(await byHttp).toMatchObject({ session: "work", answer: true, answered_by: "notice" });
  expect(await byCommand).toMatchObject({ code: 0, stdout: "yes\n" });
});

test("one channel has one notice per event, however many tables want it; a failure is retried", async () => {
  await wsh.session("work");
  await wsh.run("exec", "work", "--", "printf '\\033]9;all done\\033\\\\'; exit 3");
  const flaky = () => posted.filter(({ path }) => path === "/flaky");
  const found = await until("both", () => (flaky().length >= 2 ? flaky() : null)).catch((error) => {
    throw new Error(`${error.message}; there are: ${JSON.stringify(posted)}`);
  });
  expect(found.map(({ body }) => body.kind).sort()).toEqual(["command", "notification"]);
  expect(found.find(({ body }) => body.kind === "command")?.body).toMatchObject({
    title: "work: failed (3)",
    event: { event: "command_finished", exit_code: 3, session: "work" },
  });
  await until("the one by HTTPS", () => posted.some(({ body }) => body.topic === "secure"));
  const own = join(wsh.dir, "notified");
  await until("the program", () => fs.existsSync(own) && fs.readFileSync(own, "utf8") === "work: all done\n");
});

test.skipIf(!hasOpenssl)("a certificate that is not accepted is said with the way out, and not retried", async () => {
  const at = { notify: notify({ url: `https://localhost:${secure.port}/x` }), notice: bare, actions: [], event: null };
  await expect(deliver(at, [600_000])).rejects.toThrow(/verify.*\. .*NODE_EXTRA_CA_CERTS=FILE/);
  fs.writeFileSync(
    join(wsh.dir, "home/.config/wsh/config.toml"),
    `[[notify]]\nway = "ntfy"\nurl = "${origin}/x"\ntoken_file = "${dir}/none"\n`,
  );
  expect((await wsh.run("config", "check")).stderr).toContain("config.toml:1: [[notify]] token_file: ENOENT");
});

test("an attached terminal without focus gets it in its own form; a person in view gets none", async () => {
  const config = '[[notify]]\nway = "terminals"\nfor = ["question"]\n';
  await using all = await personAt({ config, env: { TERM: "xterm-kitty" } });
  const { person, wsh: own } = all;
  // The terminal has lost the focus.
  person.type("\x1b[O");
  // Its arrival is not visible: an earlier question reaches nobody, and the next one does.
  await until("the notice", async () => {
    expect((await own.run("ask", "really?", "--session", "dev", "--timeout", "1")).code).not.toBe(0);
    return person.bytes.includes("\x1b]99;;wsh dev: wsh asks: really?\x1b\\");
  });
});

test.each([
  ["kitty", { TERM: "xterm-kitty" }, "99;;"],
  ["WezTerm", { TERM: "xterm-256color", TERM_PROGRAM: "WezTerm" }, "9;"],
])(
  "%s shows a program's own notification once; the person's terminals at other sessions learn of it, too",
  async (_terminal, env, form) => {
    const config = '[[notify]]\nway = "terminals"\nfor = ["notification", "command"]\nmin_seconds = 0\n';
    await using all = await personAt({ config, env });
    const { person, wsh: own } = all;
    await own.session("other");
    await using elsewhere = await EmulatorTerminal.attach(own, "other", { env });
    // Both have lost the focus.
    for (const terminal of [person, elsewhere]) terminal.type("\x1b[O");
    const count = ({ bytes }: EmulatorTerminal, text: string) => bytes.split(text).length - 1;
    // Its arrival is not visible: an earlier command reaches nobody, and a later one does.
    await until("the focus to be lost", async () => {
      await own.ok("exec", "dev", "--", "true focus");
      return count(person, "dev: done: true focus") > 0 && count(elsewhere, "dev: done: true focus") > 0;
    });
    await own.ok("exec", "dev", "--", "printf '\\033]777;notify;look;%s\\033\\\\' here");
    await own.ok("exec", "dev", "--", "true after");
    for (const terminal of [person, elsewhere])
      await until("what follows", () => count(terminal, "done: true after") > 0);
    expect([count(person, "]777;notify;look;here"), count(person, "dev: look")]).toEqual([1, 0]);
    expect([count(elsewhere, "]777;notify;look;here"), count(elsewhere, `\x1b]${form}wsh dev: look: here`)]).toEqual([
      0, 1,
    ]);
  },
);

const notify = (fields: object): Notify => v.parse(NotifySchema, { way: "ntfy", url: "https://ntfy.sh/x", ...fields });
const bare = { kind: "question", title: "dev", text: "Deploy?", answers: [] } as const;
const event = (fields: Partial<RecordedEvent>): RecordedEvent => ({
  ...{ event: "command_finished", at: new Date(2026, 0, 1, 23, 30).getTime(), session: "dev", session_id: "@s1" },
  ...{ tags: [], duration_ms: 90_000, exit_code: 0, command: "deploy --token s3cret" },
  ...fields,
});

test("selection, time and text of notices", () => {
  expect(noticeFor(notify({}), event({}))).toMatchObject({
    title: "dev: done",
    text: "deploy --token s3cret, after 90 s",
  });
  expect(noticeFor(notify({}), event({ watched: true }))).toBeNull();
  expect(noticeFor(notify({ min_seconds: 100 }), event({}))).toBeNull();
  expect(noticeFor(notify({ session: "d*", tag: "ci" }), event({}))).toBeNull();
  expect(noticeFor(notify({ quiet: "22:00-07:00" }), event({}))).toBeNull();
  expect(noticeFor(notify({ quiet: "07:00-22:00" }), event({}))).not.toBeNull();
  const password = event({ event: "state_changed", state: "password" });
  expect(noticeFor(notify({}), password)).toBeNull();
  expect(noticeFor(notify({}), { ...password, driven: true })?.kind).toBe("password");
  const question = event({ event: "question_asked", kind: "confirm", question: "s3cret?", asked_by: "s3cret" });
  const whole = noticeFor(notify({}), question);
  expect(whole?.answers).toEqual([true, false]);
  expect(JSON.stringify(whole === null ? null : bareNotice(whole))).not.toContain("s3cret");
  for (const wrong of [{ url: "http://ntfy.sh/x" }, { way: "command" }, { quiet: "22-7" }, { run: ["x"] }])
    expect(() => notify(wrong)).toThrow();
});

test("terminals, their form, and the forms of programs that they show, are recognised by their environment", () => {
  const support = (env: Record<string, string>) => {
    const { notifies, shows } = notificationSupport(env);
    return [notifies, ...shows];
  };
  expect(support({ TERM: "xterm-kitty" })).toEqual(["osc99", ...notificationForms]);
  expect(support({ TERM: "foot" })).toEqual(["osc777", ...notificationForms]);
  expect(support({ TERM: "xterm-256color", VTE_VERSION: "7600" })).toEqual(["osc777", "OSC 777"]);
  expect(support({ TERM: "xterm-ghostty" })).toEqual(["osc9", "OSC 9", "OSC 777"]);
  expect(support({ TERM: "xterm-256color", TERM_PROGRAM: "WezTerm" })).toEqual(["osc9", "OSC 9", "OSC 777"]);
  expect(support({ TERM: "xterm-256color", TERM_PROGRAM: "iTerm.app" })).toEqual(["osc9", "OSC 9"]);
  expect(support({ TERM: "tmux-256color", TERM_PROGRAM: "iTerm.app" })).toEqual(["bell"]);
  expect(support({ TERM: "xterm-256color" })).toEqual(["bell"]);
});
