/** `wsh open` and `wsh share`: how a person, and others, reach the page. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import jsQR from "jsqr";
import { contentOf } from "../support/content-of.ts";
import { Browser } from "../support/login.ts";
import { Gateway } from "../support/server.ts";
import { givenTime } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";
import { TestView } from "../support/view.ts";
import { Wsh } from "../support/wsh.ts";

describe("wsh open", () => {
  test("starts a server on loopback, and prints an address that admits one browser", async () => {
    await using wsh = new Wsh({ env: { USER: "" } });
    await wsh.ok("new", "dev");
    const { code, stdout, stderr } = await wsh.run("open", "dev", "--print");
    expect(code).toBe(0);
    const address = new URL(stdout.trim());
    expect(address.hostname).toMatch(/^wsh-[a-z0-9]{16}\.localhost$/);
    expect(address.search).toBe("");
    const fragment = new URLSearchParams(address.hash.slice(1));
    expect(fragment.get("session")).toBe("dev");
    expect(fragment.get("c")).toMatch(/^[A-Za-z0-9]{32}$/);
    // The user's name is unknown: none is made up.
    expect(stderr).toContain(`ssh -N -L ${address.port}:127.0.0.1:${address.port} ${hostname()}\n`);
    const page = await fetch(`http://127.0.0.1:${address.port}/health`, { headers: { Host: address.host } });
    expect(page.status).toBe(200);
    const again = JSON.parse(await wsh.ok("open", "--json"));
    expect(new URL(again.page).origin).toBe(address.origin);
    expect(again.address).not.toContain(fragment.get("c") ?? "-");
  });

  test("gives a server without TCP a port, which stays the same", async () => {
    await using gateway = await Gateway.start({ args: ["--bind", "none"] });
    const first = JSON.parse(await gateway.ok("open", "--json"));
    gateway.origin = new URL(first.page).origin.replace(/wsh-[a-z0-9]+\.localhost/, "127.0.0.1");
    const browser = await Browser.create(gateway);
    const code = new URLSearchParams(new URL(first.address).hash.slice(1)).get("c") ?? "";
    expect((await browser.register(code)).status).toBe(201);
    expect((await gateway.tcp("/sessions", { token: await browser.login() })).status).toBe(200);
    expect(await gateway.ok("info")).toContain(gateway.origin);
    await gateway.end("SIGKILL");
    await gateway.serve();
    expect(JSON.parse(await gateway.ok("open", "--json")).page).toBe(first.page);
  });

  test("opens an app window of a browser that supports it, with the address and nothing else", async () => {
    await using gateway = await Gateway.start();
    const bin = join(gateway.dir, "browsers");
    mkdirSync(bin);
    const browser = join(bin, "chromium");
    writeFileSync(browser, `#!/bin/sh\necho "$@" > ${join(gateway.dir, "shown")}\nsleep 60\n`);
    chmodSync(browser, 0o755);
    const env = { DISPLAY: ":99", PATH: `${bin}:/usr/bin:/bin` };
    const { code, stdout } = await gateway.runWith({ env }, "open");
    expect([code, stdout]).toEqual([0, ""]);
    const shown = await until("the browser", () => contentOf(join(gateway.dir, "shown")) || null);
    expect(shown).toMatch(/^--app=http:\/\/wsh-[a-z0-9]{16}\.localhost:\d+\/#c=[A-Za-z0-9]{32}\n$/);
  });

  test("reports an unknown session", async () => {
    await using wsh = new Wsh();
    const { code, stderr } = await wsh.run("open", "nothing", "--print");
    expect(code).not.toBe(0);
    expect(stderr).toContain("nothing");
  });
});

describe("wsh share", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await Gateway.start({ args: ["--public-url", "https://box.example.net"] });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });

  async function share(...args: readonly string[]): Promise<{ id: string; address: string; code: string }> {
    const { id, address } = JSON.parse(await gateway.ok("share", ...args, "--json"));
    return { id, address, code: new URLSearchParams(new URL(address).hash.slice(1)).get("s") ?? "" };
  }

  async function view(session: string, token: string, open: object = {}): Promise<TestView> {
    return TestView.open(await gateway.ws(`/sessions/${session}/ws/view`, { Authorization: `Bearer ${token}` }), open);
  }

  test("shows one session to a person with the link, who cannot type or change the size", async () => {
    await gateway.create({ name: "shared" });
    await gateway.create({ name: "mine" });
    await gateway.shows("shared", "$");
    const { id, address, code } = await share("shared");
    expect(address).toStartWith("https://box.example.net/#s=");
    expect(await gateway.ok("share", "--list")).toContain("not opened yet");
    const token = await Browser.guest(gateway, code);
    const guest = await view("shared", token, { rows: 9, cols: 30, name: "Anna" });
    await guest.shows("$");
    expect(guest.opened.access).toBe("observe");
    expect(guest.frame).toMatchObject({ rows: 24, cols: 80 });
    await guest.took(guest.type("echo from-a-guest\r"));
    const refused = await gateway.tcp("/sessions/shared/input", { method: "POST", token, body: "x" });
    expect(refused.status).toBe(403);
    for (const path of ["/sessions/mine", "/sessions/mine/screen"]) {
      expect([403, 404]).toContain((await gateway.tcp(path, { token })).status);
    }
    expect(
      (await (await gateway.tcp("/sessions", { token })).json()).map(({ name }: { name: string }) => name),
    ).toEqual(["shared"]);
    const seen = await until("the guest", async () => {
      const [one] = JSON.parse(await gateway.ok("share", "--list", "--json"));
      return one.viewers.length === 1 ? one : null;
    });
    expect(seen).toMatchObject({ id, session: "shared", access: "observe", viewers: [{ name: `${id} (Anna)` }] });
    expect(await gateway.ok("list")).toContain(`${id} (Anna)`);
    expect(await gateway.ok("info")).toContain(`shared: ${id} (Anna)`);
    expect(await gateway.shows("shared", "$")).not.toContain("from-a-guest");
    expect(await gateway.ok("share", "--revoke", id)).toContain(id);
    expect(await guest.socket.closed).toMatchObject({ code: 1008 });
    expect((await gateway.tcp("/sessions/shared", { token })).status).toBe(403);
    expect((await gateway.run("share", "--revoke", id)).stderr).toContain("no link");
  });

  test("carries a code that registers one browser, and opens nothing itself", async () => {
    await gateway.create({ name: "once" });
    const { id, code } = await share("once");
    const asBearer = async (): Promise<number> => (await gateway.tcp("/sessions/once", { token: code })).status;
    expect(await asBearer()).toBe(403);
    const first = await Browser.create(gateway);
    expect((await first.register(code)).status).toBe(201);
    const { device } = first;
    const second = await (await Browser.create(gateway)).register(code);
    expect([second.status, (await second.json()).error.message]).toEqual([403, expect.stringContaining("one")]);
    // The first browser stays admitted, also with the link; on another origin its key is invalid.
    expect((await first.register(code)).status).toBe(201);
    expect(first.device).toBe(device);
    expect((await first.at(gateway.origin).register(code)).status).toBe(403);
    expect((await first.at(gateway.origin).session()).status).toBe(403);
    const token = await first.login();
    const me = await (await gateway.tcp("/auth/me", { token })).json();
    expect(me).toMatchObject({ name: id, access: "observe", session: expect.stringMatching(/^@s/) });
    expect(await asBearer()).toBe(403);
    expect(await gateway.ok("token", "list", "--json")).not.toContain('"key"');
    // A guest that logs in repeatedly ends its own earlier bearers.
    for (let count = 0; count < 16; count++) await first.login();
    expect((await gateway.tcp("/sessions/once", { token })).status).toBe(403);
    await gateway.ok("share", "--revoke", id);
    expect((await first.session()).status).toBe(403);
    expect((await first.register(code)).status).toBe(403);
  });

  test("with --write, lets a person with the link type, and prints what that means", async () => {
    await gateway.create({ name: "together" });
    await gateway.shows("together", "$");
    const { stdout, stderr } = await gateway.run("share", "together", "--write");
    expect(stderr).toContain("types as you");
    const token = await Browser.guest(gateway, stdout.trim().split("#s=")[1] ?? "");
    const guest = await view("together", token, { rows: 9, cols: 30 });
    guest.type("stty size\r");
    await guest.shows("\n24 80\n");
    // A key does no more than its owner may, and leads to no other session.
    guest.type("\x1cs");
    await guest.socket.next("the page's own list", ({ type }) => type === "wanted");
    expect((await gateway.tcp("/server/stop", { method: "POST", token })).status).toBe(403);
  });

  test("ends by itself, together with access through it", async () => {
    await gateway.create({ name: "brief" });
    const { token, guest, expires_at } = await givenTime("the guest", async (ms) => {
      const { code } = await share("brief", "--expires", `${Math.ceil(ms / 1_000) + 1}s`);
      const token = await Browser.guest(gateway, code).catch(() => "none");
      const guest = await view("brief", token).catch(() => null);
      const { expires_at } = await (await gateway.tcp("/auth/me", { token })).json();
      return guest === null || expires_at === undefined ? null : { token, guest, expires_at };
    });
    expect(await guest.socket.closed).toMatchObject({ code: 1008 });
    expect(Date.now()).toBeGreaterThanOrEqual(expires_at - 5);
    expect((await gateway.tcp("/sessions/brief", { token })).status).toBe(403);
  });

  test("prints the link as a QR code that a camera reads", async () => {
    await gateway.create({ name: "coded" });
    const { stdout } = await gateway.run("share", "coded", "--qr");
    const [address = "", ...picture] = stdout.trimEnd().split("\n");
    expect(read(picture)).toBe(address);
  });

  test("is counted by the doctor, which reports when the server does not know its address", async () => {
    await using other = await Gateway.start({ config: 'public_url = "https://box.example.net"\n' });
    await other.create({ name: "x" });
    await other.ok("share", "x", "--write");
    expect((await other.run("doctor")).stdout).toMatch(/browsers +logged in: 0; valid links: 1 \(1 may type\)/);
    await Bun.write(other.instance.configFile, 'public_url = "https://other.example.net"\n');
    expect((await other.run("doctor")).stdout).toContain("does not use public_url");
  });

  test("is reached by its public name only", async () => {
    const ask = async (Host: string): Promise<number> => (await gateway.tcp("/sessions", { headers: { Host } })).status;
    expect([await ask("box.example.net"), await ask("other.example.net")]).toEqual([200, 403]);
  });

  test("refuses without an address for others, and names the alternatives", async () => {
    await using alone = await Gateway.start();
    await alone.create({ name: "x" });
    const { code, stderr } = await alone.run("share", "x");
    expect(code).not.toBe(0);
    for (const way of ["--tls-cert", "tailscale serve", "public_url", "ssh -L"]) expect(stderr).toContain(way);
    expect(await alone.ok("share", "--list")).toContain("No links");
    const { stdout } = await alone.run("share", "x", "--local");
    expect(stdout).toStartWith(`${alone.origin}/#s=`);
    expect((await alone.run("share", "nothing", "--local")).code).not.toBe(0);
    expect((await alone.run("share")).code).toBe(2);
  });
});

/** The camera's reading: each character of the picture is two squares, one above the other. */
function read(lines: readonly string[]): string | undefined {
  const PIXELS = 4;
  const dark = (char: string | undefined, half: 0 | 1): boolean =>
    char === " " || char === undefined ? true : char === "▀" ? half === 1 : char === "▄" ? half === 0 : false;
  const cols = Math.max(...lines.map((line) => line.length));
  const [width, height] = [cols * PIXELS, lines.length * 2 * PIXELS];
  const data = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const row = Math.floor(y / PIXELS);
      const char = lines[Math.floor(row / 2)]?.[Math.floor(x / PIXELS)];
      const value = dark(char, (row % 2) as 0 | 1) ? 0 : 255;
      data.fill(value, (y * width + x) * 4, (y * width + x) * 4 + 3);
    }
  }
  return jsQR(data, width, height)?.data;
}
