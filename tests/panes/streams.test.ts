/** Events of windows and panes, streams of whole windows, and streams of single panes. */
import { describe, expect, test } from "bun:test";
import { connect, type LifecycleEvent, type SubscribedEvent, type SubscribedWindowEvent } from "wsh/client";
import { splitServer } from "../support/panes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

/** A window composed from its frames. */
class Picture {
  readonly events: SubscribedWindowEvent[] = [];
  private lines: string[] = [];

  readonly hear = (event: SubscribedWindowEvent): void => {
    this.events.push(event);
    if (!("event" in event) || event.event !== "frame") return;
    if (event.whole) this.lines = Array.from({ length: event.rows }, () => "");
    for (const { index, line } of event.lines) this.lines[index] = String(line);
  };

  get text(): string {
    return this.lines.join("\n");
  }

  get names(): string[] {
    return this.events.map((event) => ("event" in event ? event.event : event.type));
  }

  get numbers(): number[] {
    return this.events.flatMap((event) => ("event" in event && event.seq > 0 ? [event.seq] : []));
  }
}

async function connected() {
  const all = await splitServer();
  const client = await connect({ socket: all.wsh.instance.httpSocket });
  return {
    ...all,
    client,
    [Symbol.asyncDispose]: async () => {
      client.close();
      await all[Symbol.asyncDispose]();
    },
  };
}

describe("events", () => {
  test("every connection to the server gets events of windows and panes, from the first split on", async () => {
    await using all = await connected();
    const { wsh, http, client } = all;
    const life: LifecycleEvent[] = [];
    using _life = client.onLifecycle((event) => void life.push(event));
    type Params<E> = Extract<LifecycleEvent, { event: E }>["params"];
    const told = <E extends LifecycleEvent["event"]>(event: E) =>
      life.flatMap((each) => (each.event === event ? [each.params as Params<E>] : []));
    const before = await wsh.session("dev");
    const own = before.windows[0]?.id;
    const made = (await http.post("/sessions/dev/panes", { command: "exit 4", keep_after_exit: true })).body as {
      pane: string;
    };
    await until("the split", () => told("pane_created").length === 1 && told("layout_changed").length > 0);
    expect(told("pane_created")).toMatchObject([{ name: "dev", pane: made.pane, window: own }]);
    expect(told("pane_created")[0]?.session.windows[0]?.panes).toHaveLength(2);
    await until("its end", () => told("pane_exited").length > 0);
    expect(told("pane_exited")).toMatchObject([{ pane: made.pane, exit_code: 4, signal: null, kept: true }]);

    const second = (await http.post("/sessions/dev/windows", { command: "sleep 1000" })).body as { window: string };
    await until("its name", () =>
      [...told("window_renamed"), ...told("window_created")].some(
        ({ window, window_name }) => window === second.window && window_name === "sleep",
      ),
    );
    await http.json("PATCH", `/sessions/${second.window}/window`, { name: "logs" });
    await until("the rename", () => told("window_renamed").some(({ window_name }) => window_name === "logs"));
    await http.post(`/sessions/${second.window}/window/select`, {});
    await until("the focus", () => told("focus_changed").length === 1);
    expect(told("focus_changed")).toMatchObject([{ window: second.window }]);
    expect(await http.post(`/sessions/${made.pane}/pane/move`, { to: second.window })).toMatchObject({ status: 200 });
    await until("the move", () => told("pane_moved").length === 1);
    expect(told("pane_moved")).toMatchObject([{ pane: made.pane, window: second.window }]);
    await http.send("DELETE", `/sessions/${second.window}/window`);
    await until("the end of the window", () => told("window_closed").length === 1);
    await until("the end of its panes", () => told("pane_closed").length === 2);
    expect(told("session_created")).toHaveLength(1);
    expect(told("session_destroyed")).toHaveLength(0);
  });

  test("a pane that is closed at once is reported as created, and as closed", async () => {
    await using all = await connected();
    const { wsh, http, client } = all;
    await wsh.session("dev");
    const told: LifecycleEvent[] = [];
    using _life = client.onLifecycle((event) => void told.push(event));
    const split = async (command: string): Promise<string> =>
      ((await http.post("/sessions/dev/panes", { command })).body as { pane: string }).pane;
    const about = (pane: string): string[] =>
      told.flatMap(({ event, params }) => ("pane" in params && params.pane === pane ? [event] : []));
    const lasting = await split("sleep 1000");
    await until("the watching server", () => about(lasting).includes("pane_created"));
    for (const command of ["true", "sleep 1000"]) {
      const pane = await split(command);
      if (command !== "true") await http.send("DELETE", `/sessions/${pane}/pane`);
      await until(`the end of ${command}`, () => about(pane).includes("pane_exited"));
      expect(about(pane).filter((event) => event !== "focus_changed")).toEqual([
        "pane_created",
        "pane_closed",
        "pane_exited",
      ]);
    }
  });

  test("a pane that a new layout has no place for is reported like one that is closed", async () => {
    await using all = await connected();
    const { wsh, http, client } = all;
    const { pane_id: own } = await wsh.session("dev");
    const told: LifecycleEvent[] = [];
    using _life = client.onLifecycle((event) => void told.push(event));
    const about = (pane: string): string[] =>
      told.flatMap(({ event, params }) => ("pane" in params && params.pane === pane ? [event] : []));
    const { pane } = (await http.post("/sessions/dev/panes", { command: "sleep 1000" })).body as { pane: string };
    await until("the split", () => about(pane).includes("pane_created"));
    await http.expect(200, http.json("PUT", "/sessions/dev/layout", { tree: { pane: own }, close_others: true }));
    await until("its end", () => about(pane).includes("pane_exited"));
    expect(
      about(pane)
        .filter((event) => event !== "focus_changed")
        .slice(1),
    ).toEqual(["pane_closed", "pane_exited"]);
  });

  test("a window is named after the foreground program until it is given a name", async () => {
    await using all = await connected();
    const { wsh, http } = all;
    await wsh.session("dev");
    const name = async () => (await wsh.list())[0]?.windows[0]?.name;
    await until("the shell's name", async () => (await name()) === "bash");
    await http.post("/sessions/dev/panes", {});
    await wsh.enter("dev:0.0", "sleep 1000");
    await until("the program's name", async () => (await name()) === "sleep");
    await wsh.call("dev:0.0", "input.send", { keys: ["Ctrl+C"] });
    await until("the shell's name", async () => (await name()) === "bash");
    await http.json("PATCH", "/sessions/dev/window", { name: "work" });
    await wsh.enter("dev:0.0", "sleep 1000");
    await until("the program", async () => (await wsh.list())[0]?.windows[0]?.panes[0]?.program === "sleep");
    expect(await name()).toBe("work");
    await http.json("PATCH", "/sessions/dev/window", { name: null });
    expect(await name()).toBe("sleep");
  });

  test("a program that silently replaces another gives the window its name", async () => {
    await using all = await connected();
    const { wsh, http, client } = all;
    const names: string[] = [];
    using _life = client.onLifecycle(({ event, params }) => {
      if (event === "window_renamed") names.push(params.window_name);
    });
    await wsh.session("dev");
    // The second program starts later than the check after the start, and prints nothing.
    await http.post("/sessions/dev/windows", { command: "sleep 1.2; exec tail -f /dev/null" });
    await until("the event", () => names.at(-1) === "tail");
    expect((await wsh.list())[0]?.windows[1]).toMatchObject({ name: "tail", panes: [{ program: "tail" }] });
  });
});

describe("the stream of a window", () => {
  test("shows people's picture, through the first split, and reports events", async () => {
    await using all = await connected();
    const { wsh, http, client } = all;
    await wsh.session("dev");
    const picture = new Picture();
    const options = { format: "plain", interval_ms: 1 } as const;
    await using _window = await client.subscribeWindow("dev", options, picture.hear);
    await wsh.exec("dev", "echo left");
    await until("the program", () => /^left/m.test(picture.text));
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    const made = (await http.post("/sessions/dev/panes", { title: "tests" })).body as { pane: string };
    await until("the split", () => /[│┃]/.test(picture.text));
    await wsh.exec(made.pane, "echo right");
    await until("the other pane", () => /[│┃]right/.test(picture.text));
    await until("what the person sees", async () => (await person.text()).trimEnd() === picture.text.trimEnd());
    const frame = picture.events.findLast((event) => "event" in event && event.event === "frame");
    expect(frame).toMatchObject({
      session: "dev",
      rows: 24,
      cols: 80,
      panes: [
        { col: 0, cols: 40, active: true },
        { id: made.pane, col: 41, cols: 39, title: "tests", active: false },
      ],
    });
    expect(picture.names[0]).toBe("windows");
    expect(picture.names).toContain("pane_created");
    const { numbers } = picture;
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });

  test("includes drawings: of the session over and beside everything, of a pane within it; and a question", async () => {
    await using all = await connected();
    const { wsh, http, client } = all;
    await wsh.session("dev");
    const { pane } = (await http.post("/sessions/dev/panes", {})).body as { pane: string };
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    const [picture, alone] = [new Picture(), new Picture()];
    const options = { format: "plain", interval_ms: 1 } as const;
    await using _window = await client.subscribeWindow("dev", options, picture.hear);
    await using other = await connect({ socket: wsh.instance.httpSocket });
    await using _alone = await other.subscribeWindow("dev", { ...options, elements: false }, alone.hear);
    const spans = (text: string) => [{ text }];
    await http.post("/sessions/dev:/panel", { position: "top", height: 2, spans: spans("above all") });
    await http.post("/sessions/dev:/overlay", { x: 30, y: 10, width: 12, height: 1, spans: spans("over the mid") });
    await http.post(`/sessions/${pane}/overlay`, { x: 1, y: 1, width: 9, height: 1, spans: spans("in a pane") });
    const same = async (): Promise<boolean> => (await person.text()).trimEnd() === picture.text.trimEnd();
    const all3 = () => ["above all", "over the mid", "in a pane"].every((text) => picture.text.includes(text));
    await until("what the person sees", async () => all3() && (await same()));
    const frame = picture.events.findLast((event) => "event" in event && event.event === "frame");
    expect(frame).toMatchObject({
      rows: 24,
      cols: 80,
      panes: [
        { row: 2, rows: 22 },
        { row: 2, rows: 22 },
      ],
    });
    await until("the panes alone", () => alone.text.includes("in a pane"));
    expect(alone.text).not.toMatch(/above all|over the mid/);
    const asked = http.post("/sessions/dev/ask", { question: "Deploy now?", options: ["yes", "no"] });
    await until("the question", async () => picture.text.includes("Deploy now?") && (await same()));
    // For a moment keys do not reach a new dialog.
    await until("the windows again", async () => {
      person.type("\x1b");
      return !picture.text.includes("Deploy now?") && (await same());
    });
    await asked;
  });

  test("of a window out of view: its own picture; no focus or size changes", async () => {
    await using all = await connected();
    const { wsh, http, client, panes } = all;
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev", { rows: 30, cols: 100 });
    const { pane } = (await http.post("/sessions/dev/windows", { name: "logs" })).body as { pane: string };
    const before = JSON.stringify(await panes("dev"));
    const picture = new Picture();
    const options = { window: "logs", format: "plain", interval_ms: 1 } as const;
    await using _window = await client.subscribeWindow("dev", options, picture.hear);
    await wsh.exec(pane, "echo hidden");
    await until("the hidden window", () => picture.text.includes("hidden"));
    expect(await person.text()).not.toContain("hidden");
    const places = (text: string) =>
      JSON.parse(text).map((each: object) => ({ ...each, state: "", program: "", last_exit_code: null }));
    expect(places(JSON.stringify(await panes("dev")))).toEqual(places(before));
    await http.send("DELETE", `/sessions/${pane}/pane`);
    await until("its end", () => picture.names.includes("window_closed"));
    person.type("echo other\r");
    await person.sees(/^other/m);
    expect(picture.text).not.toContain("other");
    await expect(client.subscribeWindow("dev", { window: "nowhere" }, () => {})).rejects.toMatchObject({
      code: "pane_not_found",
    });
  });
});

test("the streams of two panes are separate: each has its own program alone", async () => {
  await using all = await connected();
  const { wsh, http, client } = all;
  await wsh.session("dev");
  const { pane } = (await http.post("/sessions/dev/panes", {})).body as { pane: string };
  const heard: Record<string, SubscribedEvent[]> = { one: [], two: [] };
  const socket = new WebSocket(`ws+unix://${wsh.instance.httpSocket}:/sessions/${pane}/ws/raw`);
  socket.binaryType = "arraybuffer";
  let raw = "";
  socket.onmessage = ({ data }) => {
    raw += Buffer.from(data as ArrayBuffer).toString();
  };
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  const options = { events: ["lines"], format: "plain" } as const;
  await using _one = await client.subscribe("dev", options, (event) => void heard.one?.push(event));
  await wsh.exec("dev:0.0", "echo first");
  await wsh.exec(pane, "echo second");
  await until("the first pane's line", () => JSON.stringify(heard.one).includes('"first"'));
  expect(JSON.stringify(heard.one)).not.toContain('"second"');
  await until("the second pane's bytes", () => raw.includes("second"));
  expect(raw).not.toContain("first");
  socket.send("echo typed here\r");
  await wsh.shows(pane, /^typed here/m);
  socket.close();
});
