/** The audit log: every call of any caller is in it once, and no secret. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { sharedLog } from "../../src/log/shared-log.ts";
import { Gateway } from "../support/server.ts";
import { Person } from "../support/terminals/attached-peer.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

interface Line {
  readonly msg: string;
  readonly interface: string;
  readonly token: string;
  readonly target: string | null;
  readonly result: string;
  readonly left_out?: number;
}

function linesOf(wsh: Wsh): Line[] {
  const text = fs.readFileSync(join(wsh.instance.stateDir, "t.audit.log"), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const brief = (lines: readonly Line[]): string[] =>
  lines.map(({ interface: by, msg, target, result }) => `${by} ${msg} ${target ?? "-"} ${result}`);

describe("a call directly to a session process", () => {
  test("is logged by it, while a server runs that records", async () => {
    await using gateway = await Gateway.start({ args: ["--audit"] });
    await gateway.session("s");
    await gateway.shows("s", /^\$/m);
    await gateway.ok("send", "s", "echo the-secret", "--keys", "Enter");
    await gateway.ok("exec", "s", "--", "echo the-secret");
    await gateway.ok("resize", "s", "90x30");
    await gateway.ok("rename", "s", "r");
    await gateway.ok("tag", "r", "--add", "x");
    await gateway.ok("clear", "r");
    await gateway.ok("signal", "r", "INT");
    await gateway.ok("restart", "r");
    await gateway.ok("exec", "--", "echo the-secret");
    expect((await gateway.run("signal", "r", "NOSUCH")).code).toBe(1);
    {
      using person = await Person.attach(gateway.instance, "r");
      person.type("\x1c\x1c");
    }
    await gateway.ok("kill", "r");
    const wanted = [
      "cli sessions.create s ok",
      "cli input.send s ok",
      "cli session.resize s ok",
      "cli session.update s ok",
      "cli session.update r ok",
      "cli session.clear r ok",
      "cli session.signal r ok",
      "cli session.restart r ok",
      "cli sessions.create - ok",
      "cli session.signal r invalid_request",
      "cli peer.attach r ok",
      "cli session.kill r ok",
    ];
    const missing = (): readonly string[] => {
      const said = brief(linesOf(gateway));
      const isRun = said.some((line) => /^cli (exec|host\.follow) s ok$/.test(line));
      return [...wanted.filter((line) => !said.includes(line)), ...(isRun ? [] : ["cli exec s ok"])];
    };
    await until("all to be logged", () => missing().length === 0).catch(() => expect(missing()).toEqual([]));
    expect(JSON.stringify(linesOf(gateway))).not.toContain("secret");
    const file = join(gateway.instance.stateDir, "t.audit.log");
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });

  test("needs no server if the settings record", async () => {
    await using wsh = new Wsh({ config: "audit = true\n" });
    await wsh.session("s");
    await wsh.ok("clear", "s");
    expect((await wsh.run("new", "s")).code).toBe(1);
    await wsh.ok("token", "create", "robot");
    await wsh.ok("token", "revoke", "robot");
    expect((await wsh.run("token", "revoke", "robot")).code).toBe(1);
    expect(brief(linesOf(wsh))).toEqual(
      expect.arrayContaining([
        "cli sessions.create s ok",
        "cli session.clear s ok",
        "cli sessions.create s session_name_conflict",
        "cli token.create - ok",
        "cli token.revoke - ok",
        "cli token.revoke - invalid_request",
      ]),
    );
  });

  test("is not logged by default", async () => {
    await using gateway = await Gateway.start();
    await gateway.session("s");
    await gateway.ok("clear", "s");
    expect(fs.existsSync(join(gateway.instance.stateDir, "t.audit.log"))).toBe(false);
  });
});

describe("a call through the server", () => {
  test("is logged once", async () => {
    await using gateway = await Gateway.start({ args: ["--audit"] });
    await gateway.create({ name: "s" });
    await gateway.unix("/sessions/s/clear", { method: "POST" });
    const exec = { command: "true", max_wait_ms: 5_000 };
    expect((await gateway.tcp("/exec", { json: exec })).status).toBe(200);
    await gateway.unix("/sessions/s", { method: "DELETE" });
    expect(brief(linesOf(gateway))).toEqual([
      "http sessions.create - ok",
      "http session.clear s ok",
      "http exec.fresh - ok",
      "http session.kill s ok",
    ]);
  });

  test("so are tickets, and refused requests", async () => {
    await using gateway = await Gateway.start({ args: ["--audit"] });
    const { ticket } = await (await gateway.tcp("/auth/ws-ticket", { method: "POST" })).json();
    await gateway.tcp("/sessions?ticket=the-secret", { token: "the-secret-token" });
    await gateway.tcp("/sessions", { token: null });
    const upgrade = { token: null, headers: { Upgrade: "websocket" } };
    await gateway.tcp("/ws/json?ticket=the-secret", upgrade);
    await gateway.tcp("/sessions", { headers: { Origin: "https://evil.example" } });
    const lines = linesOf(gateway);
    expect(brief(lines)).toEqual([
      "ws ws.ticket - ok",
      "http refused GET /sessions auth_invalid",
      "http refused GET /sessions auth_required",
      "http refused GET /ws/json auth_required",
      "http refused GET /sessions origin_not_allowed",
    ]);
    expect(lines[1]).toMatchObject({ token: "unknown", peer: "127.0.0.1" });
    expect(JSON.stringify(lines)).not.toMatch(new RegExp(`secret|${ticket}`));
  });

  test("token guesses are logged and erase nothing", async () => {
    await using gateway = await Gateway.start({ args: ["--audit"] });
    await gateway.create({ name: "before" });
    await Promise.all(Array.from({ length: 300 }, () => gateway.tcp("/sessions", { token: "wrong" })));
    const refused = (): Line[] => linesOf(gateway).filter(({ msg }) => msg === "refused");
    expect(refused().length).toBeLessThan(100);
    await until("the count of the others", async () => {
      await gateway.tcp("/sessions", { token: "wrong" });
      return refused().some(({ left_out = 0 }) => left_out > 0);
    });
    expect(brief(linesOf(gateway))[0]).toBe("http sessions.create - ok");
  });
});

describe("a log with several writers", () => {
  test("is rotated once when it is full, and loses no line", async () => {
    await using wsh = new Wsh();
    const file = join(wsh.dir, "shared.log");
    fs.writeFileSync(file, "", { mode: 0o644 });
    const writers = Array.from({ length: 5 }, () => sharedLog(file));
    const pad = "x".repeat(1000);
    // A little more than one file holds.
    const count = 4_600;
    for (let i = 0; i < count; i++) writers[i % writers.length]?.(`${i} ${pad}\n`);
    const read = (path: string): string[] => fs.readFileSync(path, "utf8").trimEnd().split("\n");
    const all = [...read(`${file}.1`), ...read(file)].map((line) => Number(line.split(" ")[0]));
    expect(all).toEqual(Array.from({ length: count }, (_, i) => i));
    expect(fs.existsSync(`${file}.1.1`)).toBe(false);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect(fs.statSync(`${file}.1`).mode & 0o777).toBe(0o600);
    expect(fs.statSync(`${file}.1`).size).toBeLessThan(5 * 1024 * 1024);
  });

  test("continues in a new file when somebody deletes it", async () => {
    await using wsh = new Wsh();
    const file = join(wsh.dir, "deleted.log");
    const write = sharedLog(file);
    write("one\n");
    fs.rmSync(file);
    write("two\n");
    expect(fs.readFileSync(file, "utf8")).toBe("two\n");
  });
});
