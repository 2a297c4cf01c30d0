/** Every operation takes every form of a target; the environment of a new pane's program; kept panes. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "../../src/client/client.ts";
import { type OperationName, operations } from "../../src/operations/table.ts";
import { splitServer } from "../support/panes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

/** Parameters of an operation besides its target. */
const inputs: Readonly<Record<string, object>> = {
  "idle.await": { timeout_ms: 1 },
  wait: { any_of: ["prompt"] },
  "commands.get": { id: 1 },
  "commands.output": { id: 1 },
  "commands.receipt": { id: 1 },
  "lines.search": { query: "a" },
};

/** Codes of a target that does not exist. */
const unreached = new Set([
  ...["session_not_found", "pane_not_found", "session_required", "moved", "unknown_method"],
  ...["invalid_request", "internal_error", "session_unavailable"],
]);

describe("every read operation", () => {
  test("takes each form of a target", async () => {
    await using all = await splitServer();
    const { wsh } = all;
    const { id } = await wsh.session("dev");
    using client = await connect({ socket: wsh.instance.httpSocket });
    const first = (await client.call("session.get", {}, "dev")).pane_id;
    const { pane, window } = await client.call("pane.split", { focus: true }, "dev");
    await client.call("window.update", { name: "main" }, window);
    const forms = ["dev", id, window, first, pane, "dev:", "dev:0", "dev:main", "dev:0.0", "dev:main.1"];
    for (const target of new Set([first, pane])) await client.call("exec", { command: "true" }, target);
    const looking = operations.filter(
      ({ scope, access, ws }) => scope !== "server" && access === "observe" && ws.length > 0,
    );
    expect(looking.length).toBeGreaterThan(20);
    for (const { name } of looking) {
      // One element or question by its id, which no other target has.
      if (name === "overlay.get" || name === "panel.get" || name.startsWith("ask")) continue;
      for (const target of forms) {
        const call = client.call as (name: OperationName, input: object, target: string) => Promise<unknown>;
        const code = await call.call(client, name, inputs[name] ?? {}, target).then(
          () => "ok",
          (error) => error.code,
        );
        // Where there is nothing yet, such as a buffer, that is an answer, too.
        expect(unreached.has(code) ? [name, target, code] : "reached").toBe("reached");
      }
    }
  });

  test("reads the right pane, and names it where the target left that open", async () => {
    await using all = await splitServer();
    const { wsh, http } = all;
    const { id, pane_id: first } = await wsh.session("dev");
    const { pane, window } = (await http.post("/sessions/dev/panes", { focus: true })).body as {
      pane: string;
      window: string;
    };
    for (const [target, meant, isOpen] of [
      ["dev", first, true],
      [id, first, true],
      [window, pane, true],
      ["dev:", pane, true],
      [pane, pane, false],
      ["dev:0.0", first, false],
    ] as const) {
      const { status, body, headers } = await http.send("POST", `/sessions/${target}/input`, { body: "" });
      expect([target, status, headers.get("wsh-pane")]).toEqual([target, 204, isOpen ? meant : null]);
      const exec = await http.post(`/sessions/${target}/exec`, { command: "echo $WSH_PANE $WSH_SESSION" });
      expect(exec.body).toMatchObject({ output: `${meant} dev`, ...(isOpen ? { pane: meant } : {}) });
      expect(isOpen || !("pane" in (exec.body as object))).toBe(true);
      for (const command of ["status", "screen"]) {
        const { pane: named } = JSON.parse(await wsh.ok(command, target, "--json")) as { pane?: string };
        expect([command, target, named]).toEqual([command, target, isOpen ? meant : undefined]);
      }
      expect(body).not.toEqual(expect.objectContaining({ error: expect.anything() }));
    }
  });
});

describe("a new pane's program", () => {
  test("has the session's variables, its own ids, and those of the newest terminal", async () => {
    await using all = await splitServer();
    const { wsh, http } = all;
    await wsh.session("dev", "--env", "OF_SESSION=yes");
    const env = { SSH_AUTH_SOCK: "/tmp/agent.of.person", DISPLAY: ":7" };
    await using person = await EmulatorTerminal.attach(wsh, "dev", { env });
    const { pane } = (await http.post("/sessions/dev/panes", { env: { OF_PANE: "own" } })).body as { pane: string };
    const ask = 'echo "$WSH_SESSION $WSH_PANE $WSH_SERVER_NAME $OF_SESSION $OF_PANE $SSH_AUTH_SOCK $DISPLAY"';
    expect(await wsh.exec(pane, ask)).toBe(`dev ${pane} t yes own /tmp/agent.of.person :7\n`);
    expect(await wsh.exec(pane, 'echo "$WSH_SOCKET"')).toBe(`${wsh.instance.httpSocket}\n`);
    // A child finds its own pane.
    const cli = wsh
      .command()
      .map((word) => `'${word}'`)
      .join(" ");
    const split = (await wsh.exec(pane, `${cli} split -- cat`)).trim();
    expect(split).toMatch(/^@\d+$/);
    await person.sees(/│/);
  });
});

describe("keep_after_exit", () => {
  test("as a setting keeps every pane, except those that override it", async () => {
    await using all = await splitServer({ config: "keep_after_exit = true\n" });
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    const made = async (body: object): Promise<string> =>
      ((await http.post("/sessions/dev/panes", body)).body as { pane: string }).pane;
    const kept = await made({ command: "echo kept; exit 4" });
    const gone = await made({ command: "exit 5", keep_after_exit: false });
    await until("one to stay and one to go", async () => {
      const now = await panes("dev");
      return now.some(({ id, exit_code }) => id === kept && exit_code === 4) && now.every(({ id }) => id !== gone);
    });
    expect(await wsh.ok("output", kept)).toContain("kept");
    await wsh.ok("pane", "respawn", kept, "--", "sleep 60");
    await until("the program in its place", async () =>
      (await panes("dev")).some(({ command }) => command === "sleep 60"),
    );
    expect(await panes("dev")).toHaveLength(2);
  });

  test("is changed for one pane while its program runs", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    const { pane } = (await http.post("/sessions/dev/panes", { command: "cat" })).body as { pane: string };
    await wsh.ok("pane", "keep", pane, "on");
    await wsh.call(pane, "input.send", { keys: ["Ctrl+D"] });
    await until("its end", async () =>
      (await panes("dev")).some(({ id, exit_code }) => id === pane && exit_code === 0),
    );
    expect(await wsh.ok("pane", "close", pane)).toBe(`Pane ${pane} closed.\n`);
    expect(await panes("dev")).toHaveLength(1);
  });
});
