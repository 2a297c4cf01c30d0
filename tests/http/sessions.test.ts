/** Sessions over HTTP: made, listed, renamed, tagged, ended; refusals, which leave nothing behind. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { contentOf } from "../support/content-of.ts";
import { failure, Http } from "../support/http.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const LONGEST_NAME = "n".repeat(64);

const wsh = shared(
  new Wsh({ config: "kill_grace_ms = 300\n", env: { SECRET_OF_MINE: "kept out?", COLORTERM: "truecolor" } }),
);
const http = new Http({ unix: wsh.instance.httpSocket });

describe("the server", () => {
  test("is healthy, and describes itself", async () => {
    expect(await http.get("/health")).toMatchObject({ status: 200, body: { status: "ok" } });
    const info = await http.get("/server/info");
    expect(info).toMatchObject({
      status: 200,
      body: {
        version: "0.1.0",
        hostname: expect.stringMatching(/./),
        server_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/),
        persistent: true,
        addresses: [],
        limits: { max_sessions: 256, max_clients: 64 },
      },
    });
  });

  test("is persistent or not, by PUT or POST", async () => {
    expect((await http.get("/server/persist")).body).toEqual({ persistent: true });
    expect(await http.json("PUT", "/server/persist", { persistent: true })).toMatchObject({ status: 200 });
    expect((await http.post("/server/persist", { persistent: true })).body).toEqual({ persistent: true });
    for (const wrong of [{}, { persistent: "yes" }, { persistent: null }]) {
      const answer = await http.json("PUT", "/server/persist", wrong);
      expect(answer).toMatchObject({ status: 422, body: failure("invalid_request", /persistent/) });
    }
  });

  test("sends the security headers with every answer, including errors", async () => {
    for (const path of ["/health", "/sessions", "/sessions/nobody", "/no/such/path"]) {
      const { headers } = await http.get(path);
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("permissions-policy")).toMatch(/geolocation=\(\).*microphone=\(\).*camera=\(\)/);
      const policy = headers.get("content-security-policy") ?? "";
      for (const part of ["default-src 'self'", "img-src 'self' data:", "frame-ancestors 'none'"]) {
        expect(policy).toContain(part);
      }
    }
  });

  test("an unknown path is 404 without a body, a wrong method 405 with those allowed", async () => {
    expect(await http.get("/no/such/path")).toMatchObject({ status: 404, text: "" });
    const refused = await http.send("PUT", "/sessions");
    expect(refused).toMatchObject({ status: 405, text: "" });
    expect(refused.headers.get("allow")?.split(", ").sort()).toEqual(["GET", "POST"]);
    const one = await http.send("POST", "/sessions/x");
    expect(one.status).toBe(405);
    expect(one.headers.get("allow")?.split(", ").sort()).toEqual(["DELETE", "GET", "PATCH"]);
    expect((await http.send("DELETE", "/health")).headers.get("allow")).toBe("GET");
    expect((await http.send("GET", "/sessions/x/input")).headers.get("allow")).toBe("POST");
  });
});

describe("a new session", () => {
  test("of nothing but {} is a shell of 24 x 80, named by the next number", async () => {
    const first = await http.create({});
    const second = await http.create({});
    expect(Number(second.name)).toBeGreaterThan(Number(first.name));
    expect(first).toMatchObject({
      id: expect.stringMatching(/^@s\d+$/),
      pane_id: expect.stringMatching(/^@\d+$/),
      rows: 24,
      cols: 80,
      command: "/bin/bash",
      tags: [],
      clients: 0,
      attached: 0,
      running: true,
      exit_code: null,
      signal: null,
    });
    await http.kill(first.name);
    await http.kill(second.name);
    const third = await http.create({ name: null, command: null, cwd: null, env: null, shell: null });
    expect(Number(third.name)).toBeGreaterThan(Number(second.name));
    await http.kill(third.name);
  });

  test("has every field of its request", async () => {
    const dir = fs.realpathSync(fs.mkdtempSync(join(wsh.dir, "dir with spaces ")));
    const made = await http.create({
      name: LONGEST_NAME,
      command: "cat; pwd; stty size </dev/tty; echo $MINE/$SECRET_OF_MINE/$TERM/$COLORTERM; exec sleep 1000",
      rows: 10,
      cols: 120,
      cwd: dir,
      env: { MINE: "a=b ü", SECRET_OF_MINE: "" },
      tags: ["z", "a", "z", "t".repeat(64)],
      stdin: "typed before\n",
      unknown_key: "is ignored",
    });
    const { server, id, pane_id } = made;
    expect(made).toMatchObject({ name: LONGEST_NAME, rows: 10, cols: 120, cwd: dir, tags: ["a", "t".repeat(64), "z"] });
    const screen = await http.shows(LONGEST_NAME, "truecolor");
    expect(screen.lines.slice(0, 4)).toEqual(["typed before", dir, "10 120", "a=b ü//xterm-256color/truecolor"]);
    const { idle_ms, last_activity_ms, created_at, ...info } = await until("its last program", async () => {
      const session = await http.session(LONGEST_NAME);
      return session.windows[0]?.panes[0]?.program === "sleep" && session;
    });
    expect(idle_ms).toBe(last_activity_ms);
    expect(Math.abs(Date.now() - created_at)).toBeLessThan(60_000);
    const command = info.command;
    expect(info as unknown).toEqual({
      id,
      pane_id,
      name: LONGEST_NAME,
      server,
      pid: expect.any(Number),
      command,
      rows: 10,
      cols: 120,
      clients: 0,
      attached: 0,
      tags: ["a", "t".repeat(64), "z"],
      running: true,
      state: expect.any(String),
      cwd: dir,
      title: "",
      exit_code: null,
      signal: null,
      owner: { kind: "program", name: "an HTTP client" },
      windows: [
        {
          id: expect.stringMatching(/^@w\d+$/),
          index: 0,
          name: expect.any(String),
          active: true,
          rows: 10,
          cols: 120,
          panes: [
            {
              id: pane_id,
              index: 0,
              active: true,
              pid: info.pid,
              command,
              program: "sleep",
              row: 0,
              col: 0,
              rows: 10,
              cols: 120,
              cwd: dir,
              title: "",
              state: expect.any(String),
            },
          ],
        },
      ],
    });
    expect(fs.readlinkSync(`/proc/${info.pid}/cwd`)).toBe(dir);
    await http.kill(LONGEST_NAME);
  });

  test("is addressed by name, window, pane and id only", async () => {
    const { id } = await http.create({ name: "addressed", command: "sleep 1000" });
    for (const target of ["addressed", "addressed:0", "addressed:0.0", id, encodeURIComponent(id), "%61ddressed"]) {
      expect(await http.session(target)).toMatchObject({ id, name: "addressed" });
    }
    for (const target of [
      "addressed:1",
      "addressed:0.1",
      "Addressed",
      "@99999",
      "@s99999",
      "@w99999",
      "addresse",
      "addressed%00",
      "%F0%9F%92%A9",
    ]) {
      expect({ target, ...(await http.get(`/sessions/${target}`)) }).toMatchObject({
        target,
        status: 404,
        body: failure("session_not_found"),
      });
    }
    await http.kill("addressed");
  });

  test("has a size of 1 to 1000, whatever the request", async () => {
    const small = await http.create({ rows: 0, cols: 0, command: "sleep 1000" });
    expect(small).toMatchObject({ rows: 1, cols: 1 });
    // A terminal of one column cannot be kept: the program gets the minimum of three.
    await http.create({ name: "narrow", rows: 2, cols: 1, command: "stty size | tr ' ' x > narrow; sleep 1000" });
    const narrow = join(wsh.env.HOME ?? "", "narrow");
    await until("its size", () => contentOf(narrow) !== "");
    expect(fs.readFileSync(narrow, "utf8")).toBe("2x4\n");
    expect((await http.session("narrow")).windows[0]?.panes[0]).toMatchObject({ rows: 2, cols: 4 });
    expect((await http.get("/sessions/narrow/screen")).body).toMatchObject({ rows: 2, cols: 4 });
    await http.kill("narrow");
    const large = await http.create({ rows: 65_535, cols: 1001, command: "sleep 1000" });
    expect(large).toMatchObject({ rows: 1000, cols: 1000 });
    await http.kill(small.name);
    await http.kill(large.name);
  });

  test("has its program's environment: wsh's own, the caller's terminal, the request's variables", async () => {
    await http.create({ name: "env", command: "env -0; sleep 1000", env: { GIVEN: "1" }, rows: 200, cols: 300 });
    const info = await http.session("env");
    // Until the program has started, its process has the environment of its parent.
    const env = await until("its environment", () => {
      const all = fs.readFileSync(`/proc/${info.pid}/environ`, "utf8").split("\0");
      return all.includes("WSH_SESSION=env") && all;
    });
    expect(env).toContain(`WSH_PANE=${info.pane_id}`);
    expect(env).toContain("WSH_SERVER_NAME=t");
    expect(env).toContain(`WSH_SOCKET=${wsh.instance.httpSocket}`);
    expect(env).toContain("TERM=xterm-256color");
    expect(env).toContain("COLORTERM=truecolor");
    expect(env).toContain("GIVEN=1");
    const names = env.map((entry) => entry.split("=")[0] ?? "");
    for (const name of ["WSH_TOKEN", "WSH_NOFILE", "WSH_NOFILE_SOFT", "BUN_OPTIONS", "TMUX"]) {
      expect(names).not.toContain(name);
    }
    await http.kill("env");
  });

  test.each([
    ["bash", "bash"],
    ["BASH", "bash"],
    ["/bin/sh", "sh"],
    ["sh", "sh"],
  ])("has the shell that was asked for: %s", async (shell, name) => {
    const { name: session, pid } = await http.create({ shell });
    await http.type(session, "echo is:$0\r");
    await http.shows(session, new RegExp(`(^|[#$] )is:-?(\\S*/)?${name}$`, "m"));
    expect(pid).toBeNumber();
    await http.kill(session);
  });

  test("with a name in use is a conflict, or selects the session that has it", async () => {
    const { id } = await http.create({ name: "twice", command: "sleep 1000" });
    expect(await http.post("/sessions", { name: "twice" })).toMatchObject({
      status: 409,
      body: failure("session_name_conflict", /twice/),
    });
    expect(await http.create({ name: "twice", if_exists: "attach" })).toMatchObject({ id });
    expect((await http.list()).filter(({ name }) => name === "twice")).toHaveLength(1);
    await http.kill("twice");
    const fresh = await http.create({ name: "twice", if_exists: "attach", command: "sleep 1000" });
    expect(fresh.id).not.toBe(id);
    await http.kill("twice");
  });

  test("with a prefix gets its number behind it", async () => {
    const { name, id } = await http.create({ name_prefix: "job-", command: "sleep 1000" });
    expect(name).toBe(`job-${id.slice(2)}`);
    await http.kill(name);
  });

  test("a missing command ends with 127 and reports it on its screen", async () => {
    await http.create({ name: "missing", command: "no-such-command-anywhere" });
    expect(await http.ended("missing")).toMatchObject({ exit_code: 127, signal: null });
    await http.shows("missing", "no-such-command-anywhere");
    await http.kill("missing");
  });
});

describe("a refusal leaves nothing behind", () => {
  const refusals: readonly [object, number, string, RegExp][] = [
    [{ name: "" }, 400, "invalid_session_name", /./],
    [{ name: "n".repeat(65) }, 400, "invalid_session_name", /nnn/],
    [{ name: " b" }, 400, "invalid_session_name", / b/],
    [{ name: "a/../b" }, 400, "invalid_session_name", /./],
    [{ name: "a:b" }, 400, "invalid_session_name", /a:b/],
    [{ name: "@7" }, 400, "invalid_session_name", /@7/],
    [{ tags: [""] }, 400, "invalid_tag", /./],
    [{ tags: ["ok", "t".repeat(65)] }, 400, "invalid_tag", /ttt/],
    [{ tags: ["a,b"] }, 400, "invalid_tag", /a,b/],
    [{ cwd: "/no/such/directory" }, 400, "cwd_not_found", /no.such.directory/],
    [{ cwd: "/etc/passwd" }, 400, "cwd_not_found", /passwd' is not a directory/],
    [{ cwd: `/${"x".repeat(5000)}` }, 400, "cwd_not_found", /xxx…' cannot be read: ENAMETOOLONG/],
    [{ cwd: "not/there" }, 400, "cwd_not_found", /not.there/],
    [{ cwd: "" }, 400, "cwd_not_found", /''/],
    [{ cwd: "/tmp\0" }, 400, "cwd_not_found", /./],
    [{ command: "" }, 400, "invalid_request", /command/],
    [{ command: " \n" }, 400, "invalid_request", /command/],
    [{ command: "echo \0" }, 400, "invalid_request", /NUL/],
    [{ env: { "A=B": "c" } }, 400, "invalid_request", /A=B/],
    [{ env: { A: "b\0" } }, 400, "invalid_request", /"A"/],
    [{ env: { "": "b" } }, 400, "invalid_request", /env/],
    [{ stdin: "for nobody" }, 400, "invalid_request", /stdin/],
    [{ shell: "powerfish" }, 400, "unknown_shell", /powerfish/],
    [{ shell: "/no/such/shell" }, 400, "shell_not_found", /no.such.shell/],
    [{ shell: "/etc/passwd" }, 400, "shell_not_found", /passwd/],
    [{ shell: `/${"x".repeat(5000)}` }, 400, "shell_not_found", /xxx/],
    [{ server: "elsewhere" }, 404, "server_not_found", /elsewhere/],
    [{ name: 7 }, 422, "invalid_request", /name/],
    [{ rows: "24" }, 422, "invalid_request", /rows/],
    [{ rows: -1 }, 422, "invalid_request", /rows/],
    [{ cols: 65_536 }, 422, "invalid_request", /cols/],
    [{ rows: 1.5 }, 422, "invalid_request", /rows/],
    [{ tags: "a" }, 422, "invalid_request", /tags/],
    [{ env: { A: 1 } }, 422, "invalid_request", /env/],
    [{ env: [] }, 422, "invalid_request", /env.*Array/],
    [{ env: ["A=b"] }, 422, "invalid_request", /env.*Array/],
    [{ env: { A: "x".repeat(131_070) } }, 413, "payload_too_large", /env.A.*131072 bytes.*131071/],
    [{ if_exists: "replace" }, 422, "invalid_request", /if_exists/],
    [{ name_prefix: "a b" }, 422, "invalid_request", /name_prefix/],
  ];

  test("no process, no entry, no number of a session", async () => {
    for (const [body, status, code, message] of refusals) {
      const answer = await http.post("/sessions", body);
      expect({ sent: body, ...answer }).toMatchObject({ sent: body, body: failure(code, message), status });
    }
    expect(await http.list("?all=1")).toEqual([]);
    await until("hosts of refused sessions to be gone", () => wsh.hosts().length === 0);
    expect(fs.readdirSync(join(wsh.dir, "run/wsh/t"))).not.toContain(expect.stringMatching(/sock/));
  });

  test("a body that is not a JSON object is refused with the reason", async () => {
    const json = { "content-type": "application/json" };
    const post = (body: string, headers: Record<string, string> = json) =>
      http.send("POST", "/sessions", { body, headers });
    expect(await post("{")).toMatchObject({ status: 400, body: failure("invalid_request", /JSON/) });
    expect(await post("[]")).toMatchObject({ status: 422, body: failure("invalid_request") });
    expect(await post("null")).toMatchObject({ status: 422, body: failure("invalid_request") });
    expect(await post("{}", { "content-type": "text/plain" })).toMatchObject({
      status: 415,
      body: failure("invalid_request", /text.plain/),
    });
    expect(await post("x".repeat(1024 * 1024 + 1))).toMatchObject({ status: 413, body: failure("payload_too_large") });
    const { name } = await http.expect<SessionInfo>(
      201,
      post(JSON.stringify({ command: "sleep 1000" }), { "content-type": "application/vnd.api+json; charset=utf-8" }),
    );
    await http.kill(name);
  });

  test("the limit of sessions applies before anything starts", async () => {
    await using small = new Wsh({ config: "max_sessions = 1\n" });
    await small.server();
    const api = new Http({ unix: small.instance.httpSocket });
    await api.create({ name: "one", command: "sleep 1000" });
    expect(await api.post("/sessions", {})).toMatchObject({ status: 503, body: failure("max_sessions_reached", /1/) });
    await until("the refused host to be gone", () => small.hosts().length === 1);
    await api.kill("one");
    await api.create({ name: "two", command: "sleep 1000" });
  });
});

describe("an existing session", () => {
  test("is listed with the others in order, by tag on request", async () => {
    await http.create({ name: "l1", command: "sleep 1000", tags: ["red", "all"] });
    await http.create({ name: "l2", command: "sleep 1000", tags: ["blue", "all"] });
    await http.create({ name: "l3", command: "sleep 1000" });
    const names = async (query: string) => (await http.list(query)).map(({ name }) => name);
    expect(await names("")).toEqual(["l1", "l2", "l3"]);
    expect(await names("?tag=all")).toEqual(["l1", "l2"]);
    expect(await names("?tag=blue,%20red%20,,")).toEqual(["l1", "l2"]);
    expect(await names("?tag=blue")).toEqual(["l2"]);
    expect(await names("?tag=none")).toEqual([]);
    expect(await names("?tag=")).toEqual(["l1", "l2", "l3"]);
    expect(await names("?unknown=1")).toEqual(["l1", "l2", "l3"]);
    const { hostname } = (await http.get("/server/info")).body as { hostname: string };
    expect(await names(`?server=${hostname}`)).toHaveLength(3);
    expect(await http.get("/sessions?server=elsewhere")).toMatchObject({
      status: 404,
      body: failure("server_not_found"),
    });
    expect(await http.get("/sessions?all=perhaps")).toMatchObject({
      status: 400,
      body: failure("invalid_request", /all/),
    });
    for (const name of ["l1", "l2", "l3"]) await http.kill(name);
  });

  test("is renamed and tagged at once, or not at all", async () => {
    const { id } = await http.create({ name: "old", command: "sleep 1000", tags: ["a", "b"] });
    await http.create({ name: "other", command: "sleep 1000" });
    const patch = (body: object, target = "old") => http.json("PATCH", `/sessions/${target}`, body);

    expect(await patch({})).toMatchObject({ status: 200, body: { name: "old", tags: ["a", "b"] } });
    expect(await patch({ name: "old" })).toMatchObject({ status: 200, body: { name: "old" } });
    const refusals: readonly [object, number, string][] = [
      [{ name: "other", add_tags: ["c"] }, 409, "session_name_conflict"],
      [{ name: "new", add_tags: ["c", "d e"] }, 400, "invalid_tag"],
      [{ name: "no: good", add_tags: ["c"], remove_tags: ["a"] }, 400, "invalid_session_name"],
      [{ name: "", add_tags: ["c"] }, 400, "invalid_session_name"],
      [{ name: "new", add_tags: "c" }, 422, "invalid_request"],
      [{ name: null }, 422, "invalid_request"],
    ];
    for (const [body, status, code] of refusals) {
      expect({ sent: body, ...(await patch(body)) }).toMatchObject({ sent: body, status, body: failure(code) });
      expect(await http.session("old")).toMatchObject({ id, name: "old", tags: ["a", "b"] });
    }
    const changed = await patch({ name: "new", add_tags: ["c", "a"], remove_tags: ["b", "not there", "not a tag!"] });
    expect(changed).toMatchObject({ status: 200, body: { id, name: "new", tags: ["a", "c"] } });
    expect(await http.get("/sessions/old")).toMatchObject({ status: 404 });
    expect(await http.session("new")).toMatchObject({ id, tags: ["a", "c"] });
    expect(await patch({ add_tags: ["x"] }, "nobody")).toMatchObject({
      status: 404,
      body: failure("session_not_found"),
    });
    await http.create({ name: "old", command: "sleep 1000" });
    for (const name of ["old", "new", "other"]) await http.kill(name);
  });

  test("is resized; the program sees it", async () => {
    await http.create({ name: "sized", command: "trap 'stty size' WINCH; echo ready; while :; do sleep 0.02; done" });
    await http.shows("sized", "ready");
    const answer = await http.post("/sessions/sized/resize", { rows: 11, cols: 77 });
    expect(answer).toMatchObject({ status: 200, body: { rows: 11, cols: 77 } });
    await http.shows("sized", "11 77");
    expect(await http.session("sized")).toMatchObject({
      rows: 11,
      cols: 77,
      windows: [{ panes: [{ rows: 11, cols: 77 }] }],
    });
    expect(await http.post("/sessions/sized/resize", { rows: 11 })).toMatchObject({ status: 422 });
    await http.kill("sized");
  });

  test("detaching without viewers succeeds, and detaches nobody else", async () => {
    await http.create({ name: "lonely", command: "sleep 1000" });
    expect(await http.send("POST", "/sessions/lonely/detach")).toMatchObject({ status: 204, text: "" });
    expect(await http.send("POST", "/sessions/nobody/detach")).toMatchObject({ status: 404 });
    await http.kill("lonely");
  });

  test("gets signals for its foreground program", async () => {
    // A child between its fork and its program would take a signal for its parent's.
    const command = "trap 'echo got USR1' USR1; echo ready; while :; do read -t 0.02 line; done";
    await http.create({ name: "signalled", command, shell: "bash" });
    await http.shows("signalled", "ready");
    await http.post("/sessions/signalled/signal", { signal: "USR1" });
    await http.shows("signalled", "got USR1");
    expect(await http.post("/sessions/signalled/signal", { signal: "NOPE" })).toMatchObject({
      status: 400,
      body: failure("invalid_request", /NOPE/),
    });
    await http.kill("signalled");
  });
});

describe("a killed session", () => {
  test("has had SIGHUP, and is gone with its children when the answer arrives", async () => {
    const proof = join(wsh.dir, "hung-up");
    await http.create({
      name: "polite",
      command: `trap 'echo HUP > ${proof}; exit' HUP; echo ready; while :; do sleep 0.02; done`,
    });
    await http.shows("polite", "ready");
    const { pid } = await http.session("polite");
    await http.kill("polite");
    expect(fs.readFileSync(proof, "utf8")).toBe("HUP\n");
    expect(fs.existsSync(`/proc/${pid}`)).toBe(false);
    expect(await http.get("/sessions/polite")).toMatchObject({ status: 404, body: failure("session_not_found") });
    expect(await http.list("?all=1")).toEqual([]);
    expect(await http.delete("/sessions/polite")).toMatchObject({ status: 404 });
  });

  test("that ignores SIGHUP gets SIGKILL after kill_grace_ms", async () => {
    await http.create({ name: "stubborn", command: "trap '' HUP TERM INT; echo ready; while :; do sleep 0.02; done" });
    await http.shows("stubborn", "ready");
    const { pid } = await http.session("stubborn");
    const started = performance.now();
    await http.kill("stubborn");
    expect(performance.now() - started).toBeGreaterThan(290);
    expect(fs.existsSync(`/proc/${pid}`)).toBe(false);
  });

  test("that is stopped ends all the same", async () => {
    await http.create({ name: "stopped", command: "kill -STOP $$" });
    const { pid } = await http.session("stopped");
    await until("the program to stop", () => / T /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8")));
    await http.kill("stopped");
    expect(fs.existsSync(`/proc/${pid}`)).toBe(false);
  });

  test("leaves its name free at once, and two concurrent kills both succeed", async () => {
    await http.create({ name: "reused", command: "trap '' HUP; echo ready; while :; do sleep 0.02; done" });
    await http.shows("reused", "ready");
    const [first, second] = await Promise.all([http.delete("/sessions/reused"), http.delete("/sessions/reused")]);
    expect([first.status, second.status].filter((status) => status === 200).length).toBeGreaterThanOrEqual(1);
    const { id } = await http.create({ name: "reused", command: "sleep 1000" });
    expect(await http.session("reused")).toMatchObject({ id });
    await http.kill("reused");
  });
});
