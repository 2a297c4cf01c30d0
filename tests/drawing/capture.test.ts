/** Captured keys: an agent's dialog takes them, and the person can always take them back. */
import { describe, expect, test } from "bun:test";
import { Canvas } from "../support/drawing-api.ts";
import { Http } from "../support/http.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh, type WshOptions } from "../support/wsh.ts";

const PREFIX = "\x1c";
const HELD = /keyboard captured by .* takes it back/;

async function scene(options: WshOptions = {}, flags: string[] = []) {
  const wsh = new Wsh(options);
  const [server] = await Promise.all([wsh.server(), wsh.session("s")]);
  const terminal = await EmulatorTerminal.attach(wsh, "s", { flags });
  return {
    wsh,
    server,
    terminal,
    canvas: new Canvas(wsh, "s"),
    async [Symbol.asyncDispose]() {
      await terminal[Symbol.asyncDispose]();
      await wsh[Symbol.asyncDispose]();
    },
  };
}

/** A WebSocket of the session, open. */
async function socketOf(wsh: Wsh): Promise<WebSocket> {
  const socket = new WebSocket(`ws+unix://${wsh.instance.httpSocket}:/sessions/s/ws/json`);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  return socket;
}

describe("the person", () => {
  test("sees who has captured the keyboard; one press of the prefix key takes it back, and the next keys reach the program", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    terminal.type("clear; echo ready; cat -v\r");
    await terminal.sees(/^ready\n\n/);
    const before = await terminal.rows();
    await canvas.capture();
    expect(await terminal.sees(HELD)).toContain("Ctrl+\\ takes it back");
    terminal.type("ab");
    await until("the keys", async () => (await canvas.keys({ since: 0 })).keys.length === 2);
    terminal.type(PREFIX);
    await terminal.sees((text) => !HELD.test(text));
    expect(await canvas.mode()).toMatchObject({ mode: "passthrough" });
    expect(await terminal.rows()).toEqual(before);
    terminal.type("typed\r");
    const text = await terminal.sees(/^typed$/m);
    expect(text).not.toContain("ab");
    expect(text).not.toContain("^\\");
  });

  test("has the default key for it when there is no prefix key, otherwise the one of the settings", async () => {
    await using none = await scene({ config: "prefix_key = 'none'\n" });
    await none.canvas.capture();
    await none.terminal.sees("Ctrl+\\ takes it back");
    none.terminal.type(PREFIX);
    await none.terminal.sees((text) => !HELD.test(text));

    await using other = await scene({ config: "prefix_key = 'Ctrl+G'\n" });
    await other.canvas.capture();
    await other.terminal.sees("Ctrl+G takes it back");
    other.terminal.type("\x07");
    await other.terminal.sees((text) => !HELD.test(text));
  });

  test("with a read-only terminal sees it, takes nothing back, and can leave", async () => {
    await using the = await scene({}, ["--read-only"]);
    await the.canvas.capture();
    await the.terminal.sees(HELD);
    the.terminal.type(PREFIX);
    the.terminal.type(PREFIX);
    expect(await the.terminal.exited).toBe(0);
    expect(await the.canvas.mode()).toMatchObject({ mode: "capture" });
  });

  test("clears the focus by taking the keyboard back", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    const id = await canvas.overlay({ x: 0, y: 0, width: 5, height: 1, focusable: true, spans: [{ text: "F" }] });
    await canvas.capture();
    await canvas.focus(id);
    await terminal.sees(HELD);
    terminal.type("x");
    await until("the key", async () => (await canvas.keys({ since: 0 })).keys[0]?.target === id);
    terminal.type(PREFIX);
    await until("the focus to go", async () => (await canvas.focused()).focused === null);
  });
});

describe("the agent", () => {
  test("asks for approval: a dialog, keys by long poll, an answer, no trace", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    terminal.type("echo work\r");
    await terminal.sees(/^work\n\$/m);
    const before = await terminal.rows();

    const dialog = await canvas.overlay({
      x: 20,
      y: 8,
      width: 30,
      height: 3,
      focusable: true,
      background: "blue",
      spans: [
        { text: "Deploy to production?\n\n" },
        { id: "yes", text: "[ Yes ]", bold: true },
        { text: "  " },
        { id: "no", text: "[ No ]" },
      ],
    });
    await canvas.capture();
    await canvas.focus(dialog);
    await terminal.sees(/Deploy to production\?[\s\S]*\[ Yes \] {2}\[ No \]/);

    let since = 0;
    let choice = "yes";
    // The person reads it for a while; the agent waits without further requests.
    const first = canvas.keys({ since, wait_ms: 10_000 });
    terminal.type("\x1b[C");
    const pressed: string[] = [];
    for (let read = await first; ; read = await canvas.keys({ since, wait_ms: 10_000 })) {
      since = read.seq;
      pressed.push(...read.keys.map(({ parsed }) => parsed?.key ?? "?"));
      if (pressed.at(-1) === "Enter") break;
      choice = choice === "yes" ? "no" : "yes";
      await canvas.post(204, `overlay/${dialog}/spans`, {
        spans: [
          { id: "yes", text: "[ Yes ]", bold: choice === "yes" },
          { id: "no", text: "[ No ]", bold: choice === "no" },
        ],
      });
      if (pressed.length === 1) terminal.type("\t");
      else if (pressed.length === 2) terminal.type("\r");
    }
    expect(pressed).toEqual(["ArrowRight", "Tab", "Enter"]);
    expect(choice).toBe("yes");
    await canvas.release();
    await canvas.delete("overlay", dialog);
    await until("no trace", async () => Bun.deepEquals(await terminal.rows(), before));
    // None of it reached the program.
    terminal.type("echo after\r");
    expect(await terminal.sees(/^after\n\$/m)).toMatch(/^\$ echo work\nwork\n\$ echo after\nafter\n\$$/m);
  });

  test("that dies during a capture releases the keyboard at once", async () => {
    await using the = await scene();
    const { wsh, terminal, canvas } = the;
    const socket = await socketOf(wsh);
    socket.send(JSON.stringify({ id: 1, method: "capture_input" }));
    await terminal.sees(HELD);
    // Another caller cannot capture it meanwhile, and is told the holder.
    const refused = await new Http({ unix: wsh.instance.httpSocket }).post("/sessions/s/input/capture", {});
    expect(refused).toMatchObject({
      status: 409,
      body: { error: { code: "input_captured", owner: "a WebSocket client" } },
    });
    socket.close();
    await terminal.sees((text) => !HELD.test(text));
    expect(await canvas.mode()).toEqual({ mode: "passthrough" });
  });

  test("over HTTP has a lease, which reading renews and which expires", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    await canvas.capture(60_000);
    await terminal.sees(HELD);
    /** Bounds of the time at which the lease ends: the answer tells how much is left at a moment of the call. */
    const end = async (): Promise<{ earliest: number; latest: number }> => {
      const asked = performance.now();
      const { lease_ms = Number.NaN } = await canvas.mode();
      return { earliest: asked + lease_ms, latest: performance.now() + lease_ms };
    };
    const before = await end();
    await until("a reading to have renewed it", async () => {
      await canvas.keys({ wait_ms: 50 });
      return (await end()).earliest > before.latest;
    });
    await canvas.capture(100);
    await terminal.sees((text) => !HELD.test(text));
    expect(await canvas.mode()).toEqual({ mode: "passthrough" });
  });

  test("whose server is killed loses the capture after a while, and regains it by returning in time", async () => {
    await using the = await scene();
    const { wsh, server, terminal } = the;
    const first = await socketOf(wsh);
    first.send(JSON.stringify({ id: 1, method: "capture_input" }));
    await terminal.sees(HELD);
    await server.kill("SIGKILL");
    await wsh.server();
    const second = await socketOf(wsh);
    const answer = new Promise<MessageEvent>((resolve) => {
      second.onmessage = (event) => {
        if (String(event.data).includes('"id":2')) resolve(event);
      };
    });
    second.send(JSON.stringify({ id: 2, method: "capture_input" }));
    expect(JSON.parse(String((await answer).data))).toMatchObject({ id: 2, result: { mode: "capture" } });
    await terminal.sees(HELD);
    second.close();
    await terminal.sees((text) => !HELD.test(text));
  });
});
