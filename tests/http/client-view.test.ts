/** The typed client's view: pictures as cells, input across connections, and end reasons. */
import { expect, test } from "bun:test";
import { connect, decodeRows, type Frame, openView, type ViewListener } from "wsh/client";
import { TOKEN } from "../support/server.ts";
import { sharedGateway } from "../support/shared.ts";
import { until } from "../support/until.ts";

const gateway = sharedGateway({ config: "kill_grace_ms = 300\n" });

const size = { rows: 12, cols: 50, size: "fit" } as const;
const to = () => ({ url: gateway.origin, token: TOKEN, ...size });
const textOf = (frame: Frame | null): string =>
  (frame?.lines ?? [])
    .map((row) =>
      row
        .map(({ text }) => text)
        .join("")
        .trimEnd(),
    )
    .join("\n");

async function view(name: string, listener: ViewListener = {}, more: object = {}) {
  const opened = await openView(name, { ...to(), ...more }, listener);
  return {
    view: opened,
    shows: (what: string) => until(`${what} in the picture`, () => textOf(opened.frame).includes(what)),
  };
}

test("shows a session, types, and knows the ids of its lines", async () => {
  await gateway.create({ name: "shown", command: "seq 100; exec cat" });
  const pictures: Frame[] = [];
  const { view: shown, shows } = await view("shown", { frame: (frame) => void pictures.push(frame) });
  expect(await shown.opened).toMatchObject({ type: "opened", name: "shown", access: "admin" });
  await shows("100");
  expect(shown.frame).toMatchObject({ rows: 12, cols: 50 });
  await shown.type("typed text\r");
  await shows("typed text\ntyped text");
  expect(pictures.at(-1)).toBe(shown.frame ?? undefined);
  const pane = await until("the pane's place", () => shown.frame?.places?.panes[0]);
  expect(pane.first_line).toBeGreaterThan(80);
  using client = await connect({ url: gateway.origin, token: TOKEN });
  const page = await client.call("lines.get", { from_line: pane.first_line ?? 0, from_col: pane.first_col }, pane.id);
  const rows = decodeRows(
    page.styles,
    page.rows.map(({ runs }) => runs),
    page.cols,
  );
  expect(textOf(shown.frame)).toStartWith(
    rows
      .map((row) =>
        row
          .map(({ text }) => text)
          .join("")
          .trimEnd(),
      )
      .join("\n"),
  );
  shown.resize({ rows: 14, cols: 60, size: "fit" });
  await until("the new size", () => shown.frame?.cols === 60 && shown.frame.rows === 14);
  shown.close();
  expect(await shown.closed).toBeNull();
});

test("input without a connection is typed once by the view's successor", async () => {
  await gateway.create({ name: "kept", command: "stty -echo; echo ready; exec cat" });
  const before = await view("kept");
  await before.shows("ready");
  await before.view.type("one\r");
  before.view.close();
  await before.view.closed;
  const waits = before.view.type("two\r");
  const after = await view("kept", {}, { instead: before.view });
  await waits;
  await after.view.type("three\r");
  await after.shows("three");
  expect(textOf(after.view.frame).trimEnd()).toBe("ready\none\ntwo\nthree");
  after.view.close();
});

test("reports why it cannot open, that it may not type, and how the session ended", async () => {
  await expect(view("nobody")).rejects.toMatchObject({ code: "session_not_found" });
  await expect(openView("nobody", { ...to(), token: "wrong" }, {})).rejects.toMatchObject({ code: "auth_invalid" });
  await expect(openView("x", { ...size, url: "http://127.0.0.1:1" }, {})).rejects.toMatchObject({
    code: "server_unavailable",
  });
  await gateway.create({ name: "ends", command: "echo ready; read -r code; exit $code" });
  const { view: ends, shows } = await view("ends");
  await shows("ready");
  await ends.type("7\r");
  expect(await ends.closed).toMatchObject({ reason: "exited", exit_code: 7 });
  await gateway.create({ name: "watched", command: "echo ready; exec cat" });
  const token = (await gateway.ok("token", "create", "looks-on", "--access", "observe")).trim();
  const watch = await view("watched", {}, { token });
  await watch.shows("ready");
  await expect(watch.view.type("no")).rejects.toMatchObject({ code: "access_denied" });
});
