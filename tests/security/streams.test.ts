/** Streams, and the effect of keys, clicks and lines at a terminal of another machine: limited by its token. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { HttpLink } from "../../src/cluster/http-link.ts";
import { TcpTransport } from "../../src/cluster/tcp-transport.ts";
import { StreamEndSchema } from "../../src/protocol/control.ts";
import { parseAddress } from "../../src/protocol/machines.ts";
import { messageJson, messageTypes } from "../../src/protocol/messages.ts";
import { Connection } from "../../src/wire/connection.ts";
import { sharedGateway } from "../support/shared.ts";
import { attachment, personContext } from "../support/terminals/attached-peer.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

const tokens: Record<string, string> = {};

const gateway = sharedGateway({ args: ["--audit"], env: { WSH_STATUS: "on" } });
beforeAll(async () => {
  for (const name of ["pub", "hidden"]) await gateway.create({ name });
  for (const access of ["observe", "operate"]) {
    tokens[access] = (await gateway.ok("token", "create", access, "--access", access)).trim();
    tokens[`one-${access}`] = (
      await gateway.ok("token", "create", `one-${access}`, "--access", access, "--session", "pub")
    ).trim();
  }
});

/** A terminal of another machine, as seen from there. */
class RemoteTerminal implements Disposable {
  private text = "";
  end: string | null = null;

  private constructor(readonly connection: Connection) {
    connection.listen({
      message: (message) => {
        if (message.type === messageTypes.end) this.end = v.parse(StreamEndSchema, messageJson(message)).reason;
        else this.text += Buffer.from(message.payload).toString();
      },
      close: () => {
        this.end ??= "closed";
      },
    });
  }

  static async open(token: string, target: string): Promise<RemoteTerminal> {
    const address = parseAddress(gateway.origin);
    if (address.kind !== "http") throw new Error(gateway.origin);
    const link = new HttpLink("remote", new TcpTransport(address, tokens[token] ?? "", null));
    const { connection } = await Connection.open(link.dial(target), "attach");
    return new RemoteTerminal(connection);
  }

  static async attach(token: string, target: string, asked: object = {}): Promise<RemoteTerminal> {
    const terminal = await RemoteTerminal.open(token, target);
    await terminal.ask("peer.attach", {
      ...attachment,
      prefix: "Ctrl+\\",
      render_only: true,
      pass_through: false,
      ...asked,
    });
    return terminal;
  }

  /** It claims to be permitted everything. @returns the answer, or the error's code */
  ask(op: string, input: unknown): Promise<unknown> {
    return this.connection.request(op, input, personContext).catch((thrown) => thrown.code);
  }

  type(keys: string): void {
    this.connection.sendBytes(messageTypes.input, new TextEncoder().encode(keys));
  }

  /** Everything that it has received so far. */
  get shown(): string {
    return this.text;
  }

  async sees(text: string): Promise<void> {
    await until(`'${text}' at the remote terminal`, () => this.text.includes(text));
  }

  async line(line: string): Promise<void> {
    // An answer or an error of the line before is closed first.
    this.type("\x03\x03");
    await this.ask("peer.command", { key: ":" });
    this.type(`${line}\r`);
  }

  [Symbol.dispose](): void {
    this.connection.close();
  }
}

async function names(): Promise<string[]> {
  return (await (await gateway.unix("/sessions")).json()).map(({ name }: { name: string }) => name).sort();
}

function audited(): Record<string, unknown>[] {
  const text = fs.readFileSync(join(gateway.instance.stateDir, "t.audit.log"), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe("calls from a remote terminal", () => {
  test.each([
    ["sessions.create name=made", "only one of this token"],
    ["server.persist.set persistent=true", "needs the access 'admin'"],
    ["input.send data=typed session=hidden", "no session 'hidden'"],
    ["session.kill session=hidden", "no session 'hidden'"],
    ["session.update name=taken", "cannot rename it"],
    ["pane.split view=hidden", "no session 'hidden'"],
    ["view.go session=hidden", "no session 'hidden'"],
  ])("by a token of one session: '%s' is refused", async (line, description) => {
    using terminal = await RemoteTerminal.attach("one-operate", "pub");
    await terminal.line(line);
    await terminal.sees(description);
    expect(await names()).toEqual(["hidden", "pub"]);
    expect(terminal.shown).not.toContain("hidden$");
  });

  test("keys that the client has bound itself call no more", async () => {
    const bindings = {
      A: { operation: "session.kill", input: { reason: "killed" }, target: "hidden", description: "kills" },
      B: { operation: "server.persist.set", input: { persistent: true }, description: "persists" },
      C: { operation: "session.update", input: { name: "taken" }, description: "renames" },
      D: { operation: "view.run", input: { run: ["touch", join(gateway.dir, "made-by-a-key")] }, description: "runs" },
    };
    using terminal = await RemoteTerminal.attach("one-operate", "pub", { bindings });
    const said = ["no session 'hidden'", "needs the access", "cannot rename it", "may not run programs"];
    for (const [at, key] of Object.keys(bindings).entries()) {
      await terminal.ask("peer.command", { key });
      await terminal.sees(said[at] ?? "");
    }
    expect(await names()).toEqual(["hidden", "pub"]);
    const { persistent } = await (await gateway.unix("/server/persist")).json();
    expect(persistent).toBe(true);
  });

  test("switcher and palette of a token of one session contain that one alone", async () => {
    await gateway.type("hidden", "echo se''cret-text\r");
    await gateway.shows("hidden", /^secret-text$/m);
    using terminal = await RemoteTerminal.attach("one-operate", "pub");
    for (const view of ["view.sessions", "view.windows", "view.agents", "view.command"]) {
      await terminal.line(view);
      await Bun.sleep(100);
      // Keys that would end the chosen session, and switch to the next.
      terminal.type("hidden");
      await Bun.sleep(50);
      terminal.type("\x18");
      terminal.type("y\x1b[B\r\x1b");
      await Bun.sleep(100);
    }
    // Its click on the status line opens the same switcher.
    terminal.type("\x1b[<0;1;24M\x1b[<0;1;24m");
    await Bun.sleep(300);
    expect(terminal.shown.replaceAll("> hidden", "")).not.toMatch(/secret-text|hidden {2}/);
    expect(await names()).toContain("hidden");
    const palette = join(gateway.instance.stateDir, "t.palette");
    expect(fs.existsSync(palette) ? fs.readFileSync(palette, "utf8") : "").not.toContain("view.");
  });

  test("in its own session it has the permissions of its access, recorded with its token's name", async () => {
    using terminal = await RemoteTerminal.attach("one-operate", "pub");
    await terminal.line("session.update add_tags=tagged");
    await until("the tag", async () => {
      const info = await (await gateway.unix("/sessions/pub")).json();
      return info.tags.includes("tagged");
    });
    // An operation is recorded once it has been carried out.
    const recorded = () => audited().findLast(({ msg, token }) => msg === "session.update" && token === "one-operate");
    await until("the record", () => recorded()?.result === "ok");
  });

  test("an operate token reaches all sessions by operate, the server by no more, and is named", async () => {
    using terminal = await RemoteTerminal.attach("operate", "pub");
    await terminal.line("server.persist.set persistent=false");
    await terminal.sees("needs the access 'admin'");
    await terminal.line("sessions.create name=made");
    await until("the session", async () => (await names()).includes("made"));
    await terminal.line("session.update session=made add_tags=by-key");
    await until("the tag", async () => (await (await gateway.unix("/sessions/made")).json()).tags.length === 1);
    const recorded = () => audited().flatMap(({ token, msg }) => (token === "operate" ? [msg] : []));
    await until("the records", () => ["sessions.create", "session.update"].every((msg) => recorded().includes(msg)));
    await gateway.ok("kill", "made");
  });
});

test("a stream may be requested with less access than the token's, and never with more", async () => {
  using terminal = await RemoteTerminal.open("operate", "pub");
  const { connection } = terminal;
  const lesser = { ...personContext, access: "observe" } as const;
  const told = (op: string, input: unknown): Promise<unknown> =>
    connection.request(op, input, lesser).catch((thrown) => thrown.code);
  expect(await told("session.update", { add_tags: ["never"] })).toBe("access_denied");
  expect(await told("peer.subscribe", { events: ["input"], call: 0 })).toBe("access_denied");
  expect(await terminal.ask("ask.answer", { id: "x", value: true })).toBe("access_denied");
  expect(await terminal.ask("constructor", {})).toBe("unknown_method");
});

describe("a read-only terminal", () => {
  test.each(["observe", "one-observe"])("changes nothing, by the token '%s'", async (token) => {
    const own = async (): Promise<string> => JSON.stringify(facts(await (await gateway.unix("/sessions/pub")).json()));
    // The line of the earlier viewer is gone.
    await until("all rows", async () => (await own()).includes("[[24,80]]"));
    const before = await own();
    using terminal = await RemoteTerminal.attach(token, "pub", { rows: 10, cols: 30, copies: true });
    const colors = { foreground: { r: 1, g: 2, b: 3 }, background: { r: 4, g: 5, b: 6 } };
    await terminal.ask("peer.colors", colors);
    terminal.type("echo typed\r\x1b[<0;1;1M");
    terminal.connection.send(messageTypes.resize, { rows: 5, cols: 20 });
    for (const op of ["peer.help", "peer.focus", "peer.give_back", "peer.release", "peer.written"])
      await terminal.ask(op, { shown: true, on: true, bytes: 1, pictures: 1 });
    await terminal.ask("peer.look", { keys: "vi" });
    await terminal.line("session.update add_tags=never");
    terminal.type("Vy");
    expect(await terminal.ask("session.update", { tags: ["never"] })).toBe("access_denied");
    expect(await terminal.ask("buffer.set", { text: "x" })).toBeString();
    await gateway.type("pub", "printf '\\033]11;?\\033\\\\'; read -t 1 -r x; echo\r");
    await terminal.ask("peer.ping", {});
    const screen = await gateway.ok("screen", "pub");
    expect(screen).not.toContain("echo typed");
    expect(screen).not.toContain("0404/0505");
    expect(await own()).toBe(before);
  });

  const facts = ({ rows, cols, tags, windows }: Record<string, unknown>) => ({
    ...{ rows, cols, tags },
    windows: JSON.parse(JSON.stringify(windows), (key, value) =>
      key === "panes" ? value.map(({ rows, cols }: { rows: number; cols: number }) => [rows, cols]) : value,
    ),
  });
});

describe("a pane that moves to another session", () => {
  test("takes no caller of the first along", async () => {
    const made = await gateway.ok("split", "pub", "--json");
    const pane = JSON.parse(made).pane as string;
    const headers = { Authorization: `Bearer ${tokens["one-operate"]}` };
    const path = `/sessions/${encodeURIComponent(pane)}`;
    const raw = await gateway.ws(`${path}/ws/raw`, headers);
    const json = await gateway.ws(`${path}/ws/json`, headers);
    await json.call("subscribe", { events: ["screen"] });
    const server = await gateway.ws("/ws/json", headers);
    await server.call("subscribe", { events: ["screen"] }, { session: pane });
    using terminal = await RemoteTerminal.attach("one-operate", pane);
    using followed = await RemoteTerminal.open("one-operate", pane);
    await followed.ask("peer.raw", { snapshot: false, read_only: false });
    const waits = [
      gateway.tcp(`${path}/wait`, {
        json: { any_of: [{ type: "text", text: "said-there" }] },
        token: tokens["one-operate"] ?? "",
      }),
      gateway.tcp("/link/call", {
        json: {
          op: "wait",
          session: pane,
          input: { any_of: [{ type: "text", text: "said-there" }] },
          caller: { kind: "cli", id: "x" },
        },
        token: tokens["one-operate"] ?? "",
      }),
    ];
    await Bun.sleep(200);
    await gateway.ok("pane", "move", pane, "--to", "hidden");
    for (const answer of waits) expect((await answer).status).toBe(404);
    await Promise.all([raw.closed, json.closed]);
    await until("the streams to end", () => terminal.end !== null && followed.end !== null);
    const heard = server.messages.length;
    await gateway.type(encodeURIComponent(pane), "echo said''-there\r");
    await gateway.shows(pane, /^said-there$/m);
    raw.socket.send("echo by-guest\r");
    expect((await server.call("list_sessions")).error ?? null).toBeNull();
    expect(JSON.stringify(server.messages.slice(heard))).not.toContain("said-there");
    expect(await gateway.ok("screen", pane)).not.toContain("by-guest");
    for (const stream of [raw.text, terminal.shown, JSON.stringify(json.messages)])
      expect(stream).not.toContain("said-there");
  });
});

test("input at a view of another session's pane reaches it only with access to that session", async () => {
  const { pane } = JSON.parse(await gateway.ok("split", "pub", "--view", "hidden", "--focus", "--json"));
  using terminal = await RemoteTerminal.attach("one-operate", "pub");
  terminal.type("echo by''-guest\r\x1b[200~echo pasted\r\x1b[201~");
  await terminal.sees("this pane belongs to another session");
  await terminal.ask("peer.look", { keys: "vi" });
  const api = await gateway.tcp(`/sessions/${encodeURIComponent(pane)}/input`, {
    ...{ method: "POST", body: "echo by-guest\r", token: tokens["one-operate"] ?? "" },
  });
  expect(api.status).toBe(404);
  using owner = await RemoteTerminal.attach("operate", "pub");
  owner.type("echo by''-owner\r");
  await gateway.shows("hidden", /^by-owner$/m);
  expect(await gateway.ok("screen", "hidden")).not.toMatch(/guest|pasted/);
  await gateway.ok("pane", "close", "pub:0.1");
});

test("a token of one session learns nothing of the others from a link to a machine", async () => {
  const ask = async (path: string, token: string) => gateway.tcp(path, { token: tokens[token] ?? "" });
  const own = await (await ask("/link", "one-operate")).json();
  expect(own).not.toHaveProperty("load");
  expect(own).not.toHaveProperty("sessions");
  expect(await (await ask("/link", "observe")).json()).toMatchObject({ sessions: 2 });
  const refused = await ask("/link?machine=m1", "one-operate");
  expect([refused.status, (await refused.json()).error.code]).toEqual([403, "access_denied"]);
});
