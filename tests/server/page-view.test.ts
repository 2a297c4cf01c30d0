/** A session in a page: its picture, input, whose size counts, and the effect of a lost connection. */
import { describe, expect, test } from "bun:test";
import { sharedGateway } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { TestView } from "../support/view.ts";

const gateway = sharedGateway({
  config: `kill_grace_ms = 300\ndefault_command = "echo by default; PS1='$ ' exec sh"\nword_separators = "-/"\n[keys]\n"g" = "popup.open command=ls"\n`,
});

let made = 0;
async function session(fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { name } = await gateway.create({ name: `v${made++}`, ...fields });
  if (fields.command === undefined) await gateway.shows(name, "$");
  return name;
}

async function viewOf(name: string, open: Parameters<typeof TestView.open>[1] = {}, typed = 0): Promise<TestView> {
  return TestView.open(await gateway.ws(`/sessions/${name}/ws/view`), open, typed);
}

async function sizeOf(name: string): Promise<string> {
  const { rows, cols } = await (await gateway.unix(`/sessions/${name}`)).json();
  return `${cols}x${rows}`;
}

describe("a session in a page", () => {
  test("is shown completely, then by changes; keys reach the program", async () => {
    const name = await session();
    const view = await viewOf(name, { rows: 20, cols: 70 });
    await view.shows("$");
    const [first] = view.socket.messages.filter(({ type }) => type === "frame");
    expect(first).toMatchObject({ n: 1, full: true });
    expect(view.socket.socket.extensions).toContain("permessage-deflate");
    expect(view.opened).toMatchObject({ name, access: "admin", took: 0 });
    const number = view.type("echo page-$((40 + 2))\r");
    await view.took(number);
    await view.shows("\npage-42\n");
    const last = view.socket.messages.findLast(({ type }) => type === "frame");
    expect(last.full).toBe(false);
    expect(await sizeOf(name)).toBe("70x20");
    expect(view.frame?.places).toMatchObject({
      window: expect.stringMatching(/^@w\d+$/),
      panes: [{ row: 0, col: 0, rows: 20, cols: 70, active: true, alternate: false, first_line: 0, wrapped: [] }],
    });
  });

  test("rows report which of them are one line, and its number", async () => {
    const name = await session();
    const view = await viewOf(name, { rows: 10, cols: 40 });
    view.type(`printf '%0100d\\n' 7; seq 30; printf '%050d\\n' 8; echo end\r`);
    await view.shows(/\nend\n/);
    await view.when("the wrapped row", () => view.frame?.places?.panes[0]?.wrapped.length === 1);
    const [pane] = view.frame?.places?.panes ?? [];
    const row = view.text.split("\n").findIndex((line) => /^0{40}$/.test(line));
    expect(pane?.wrapped).toEqual([row]);
    const history = await (await gateway.unix(`/sessions/${name}/scrollback?offset=0&limit=1000&format=plain`)).json();
    expect(pane?.history).toBe(history.total_lines - 10);
    expect(pane?.first_line).toBeGreaterThan(0);
  });

  test("panes are placed by the frame, also after a split, with input in order", async () => {
    const name = await session();
    const view = await viewOf(name);
    await view.shows("$");
    view.type("echo one\r");
    await view.shows("\none\n");
    // The prefix key is read by the session.
    view.type("\x1c%");
    await view.when("two panes", () => view.frame?.places?.panes.length === 2);
    view.type("echo t''wo\r");
    await view.shows("two");
    const panes = view.frame?.places?.panes ?? [];
    const [left, right] = panes.toSorted((a, b) => a.col - b.col);
    expect(left).toMatchObject({ row: 0, col: 0, rows: 24, active: false });
    expect(right).toMatchObject({ row: 0, rows: 24, active: true });
    expect(right?.col).toBe((left?.cols ?? 0) + 1);
    const cells = (view.frame?.lines ?? []).map((line) =>
      line
        .slice(right?.col)
        .map(({ text }) => text)
        .join("")
        .trimEnd(),
    );
    // Input before the first prompt is answered after it.
    expect(cells.map((line) => line.replace(/^\$ /, ""))).toContain("two");
  });

  test("an overlay is in the picture, and removed without a trace; a captured keyboard is reported and can be taken back", async () => {
    const name = await session();
    const view = await viewOf(name);
    await view.shows("$");
    const before = view.text;
    const post = async (path: string, json: unknown): Promise<{ id: string }> =>
      (await gateway.unix(`/sessions/${name}${path}`, { json })).json();
    const spans = [{ id: "a", text: "drawn here" }];
    const { id } = await post("/overlay", { x: 5, y: 5, width: 12, height: 1, spans });
    await view.shows("drawn here");
    await gateway.unix(`/sessions/${name}/overlay/${id}`, { method: "DELETE" });
    await view.when("the overlay to go", () => view.text === before);
    await gateway.unix(`/sessions/${name}/input/capture`, { method: "POST" });
    await view.socket.next("the capture", ({ type, captured }) => type === "keyboard" && captured === true);
    view.socket.send({ type: "release" });
    await view.socket.next("its end", ({ type, captured }) => type === "keyboard" && captured === false, 4);
  });

  test("requests of its own dialogs are sent to the page", async () => {
    const view = await viewOf(await session());
    await view.shows("$");
    view.type("\x1cs");
    await view.socket.next("sessions", ({ type, operation }) => type === "wanted" && operation === "view.sessions");
    view.type("\x1cd");
    await view.socket.next("detach", ({ type, operation }) => type === "wanted" && operation === "view.detach");
    view.type("echo still-$((1 + 1))\r");
    await view.shows("still-2");
  });

  test("a page that reads the prefix key itself passes it on", async () => {
    const view = await viewOf(await session({ command: "cat -v" }), { prefix: false });
    view.type("\x16\x1cx\r");
    await view.shows("^\\x");
  });
});

describe("sizes", () => {
  test("a page that follows leaves the size alone, and shows the session in its own", async () => {
    const name = await session();
    const desk = await viewOf(name, { rows: 30, cols: 100 });
    await desk.shows("$");
    await until("the desk's size", async () => (await sizeOf(name)) === "100x30");
    const phone = await viewOf(name, { rows: 12, cols: 40, size: "follow" });
    await phone.shows("$");
    expect(phone.frame).toMatchObject({ rows: 30, cols: 100 });
    phone.type("stty size\r");
    await phone.shows("\n30 100\n");
    expect(await sizeOf(name)).toBe("100x30");
    desk.socket.send({ type: "size", rows: 26, cols: 90, size: "fit" });
    await phone.when("the new size", () => phone.frame?.rows === 26 && phone.frame.cols === 90);
    phone.socket.send({ type: "size", rows: 12, cols: 40, size: "fit" });
    await until("the phone's size", async () => (await sizeOf(name)) === "40x12");
    phone.socket.send({ type: "size", rows: 12, cols: 40, size: "follow" });
    await until("the desk's size again", async () => (await sizeOf(name)) === "90x26");
  });
});

describe("a page that is slow, or loses its connection", () => {
  test("gets at most a few pictures that it has not confirmed, then the newest", async () => {
    const name = await session();
    const view = await viewOf(name);
    await view.shows("$");
    view.confirms = false;
    const from = view.pictures;
    view.type("for i in $(seq 400); do echo line $i; sleep 0.002; done; echo flood-end\r");
    await gateway.shows(name, "\nflood-end");
    const numbers = view.socket.messages.filter(({ type }) => type === "frame").map(({ n }) => n);
    expect(Math.max(...numbers)).toBeLessThanOrEqual(from + 3);
    view.confirms = true;
    view.socket.send({ type: "shown", n: Math.max(...numbers) });
    await view.shows("line 400\nflood-end");
  });

  test("types nothing twice, and loses nothing, when it repeats unacknowledged input", async () => {
    const name = await session();
    const view = await viewOf(name);
    await view.shows("$");
    const taken = view.type("echo a;");
    await view.took(taken);
    await gateway.end("SIGKILL");
    await gateway.serve();
    const again = await viewOf(name, { client: view.client }, taken);
    expect(again.opened.took).toBe(taken);
    again.send(taken, "echo a;");
    await again.took(again.type("echo b\r"));
    await again.shows("\na\nb\n");
    expect(again.text.match(/echo a/g)).toHaveLength(1);
  });

  test("types nothing twice after another process has taken the session over", async () => {
    const name = await session();
    const view = await viewOf(name);
    await view.shows("$");
    const taken = view.type("echo a;");
    await view.took(taken);
    await gateway.unix(`/sessions/${name}/panes`, { json: { direction: "right", focus: false } });
    await view.when("two panes", () => view.frame?.places?.panes.length === 2);
    view.socket.close();
    const again = await viewOf(name, { client: view.client }, taken);
    expect(again.opened.took).toBe(taken);
    again.send(taken, "echo a;");
    await again.took(again.type("echo b\r"));
    await again.when("both lines", () => /^a +│?/m.test(again.text) && /^b +│?/m.test(again.text));
    expect(again.text.match(/echo a/g)).toHaveLength(1);
  });

  test("input of a client with another name is independent", async () => {
    const name = await session();
    const [one, two] = [await viewOf(name), await viewOf(name)];
    await one.took(one.type("echo on"));
    await two.took(two.type("ly-once\r"));
    await one.shows("\nonly-once\n");
    await two.shows("\nonly-once\n");
  });
});

describe("permissions", () => {
  test("a read-only page types nothing, changes no size, and takes no keyboard back", async () => {
    const name = await session();
    const token = (await gateway.run("token", "create", `look-${name}`, "--access", "observe")).stdout.trim();
    const socket = await gateway.ws(`/sessions/${name}/ws/view`, { Authorization: `Bearer ${token}` });
    const view = await TestView.open(socket, { rows: 11, cols: 33 });
    expect(view.opened.access).toBe("observe");
    const before = await sizeOf(name);
    await view.took(view.type("echo looked\r"));
    const other = await viewOf(name);
    await other.took(other.type("echo typed\r"));
    await view.shows("typed");
    await other.shows("\ntyped\n");
    expect(other.text).not.toContain("looked");
    expect(before).toBe("80x24");
  });

  test("errors in the first message, and input without a number, are reported", async () => {
    const name = await session();
    const wrong = await gateway.ws(`/sessions/${name}/ws/view`);
    wrong.send({ type: "open", client: "x", rows: 10, cols: 10, size: "fit" });
    expect((await wrong.next("the error", ({ type }) => type === "error")).error.code).toBe("invalid_request");
    expect((await wrong.closed).code).toBe(1008);
    const early = await gateway.ws(`/sessions/${name}/ws/view`);
    early.socket.send(new Uint8Array([0, 0, 0, 1, 65]));
    expect((await early.next("the error", ({ type }) => type === "error")).error.message).toContain("opened");
    const missing = await gateway.tcp("/sessions/nothing/ws/view", { headers: { upgrade: "websocket" } });
    expect(missing.status).toBe(404);
  });

  test("a session that the page makes for its person runs the default command, another caller's a shell", async () => {
    const { name } = await gateway.create({ name: "opened", opened: true, shell: null });
    const view = await viewOf(name);
    await view.shows("by default");
    const other = await viewOf(await session());
    expect(await other.shows("$")).not.toContain("by default");
  });

  test("a page that asks gets the keys in force, and the word separators", async () => {
    const view = await viewOf(await session(), { keys: true });
    const told = await view.socket.next("the keys", ({ type }) => type === "keys");
    expect(told).toMatchObject({ prefix: "Ctrl+\\", word_separators: "-/" });
    const [prefix] = told.tables as { name: string; rows: { keys: string[]; description: string }[] }[];
    expect(prefix?.name).toBe("prefix");
    expect(prefix?.rows.find(({ keys }) => keys.includes("g"))?.description).toContain("popup.open");
  });

  test("the end of the program is reported", async () => {
    const view = await viewOf(await session());
    await view.shows("$");
    view.type("exit 3\r");
    const end = await view.socket.next("the end", ({ type }) => type === "end");
    expect(end).toMatchObject({ reason: "exited", exit_code: 3 });
    expect((await view.socket.closed).code).toBe(1000);
  });
});
