/**
 * The test stand of the page: a server of wsh, one headless Chromium, and the peers' pages. A page with xterm.js gets a
 * session's raw bytes; an echo page sends each key over a WebSocket that answers with the same, and so shows the share of
 * browser and loopback.
 */
import fs from "node:fs";
import { join } from "node:path";
import { type Browser, launch, type Page } from "puppeteer-core";
import type { Stage } from "../stage.ts";
import { until } from "../until.ts";
import { Counted } from "./counted.ts";

const TOKEN = "a-token-for-the-bench-of-the-page";
/** History of the session and of xterm.js, in lines. */
export const SCROLLBACK = 30_000;

/** A page that is measured. */
export interface Kind {
  readonly who: string;
  /** Selector of elements that exist with the first picture. */
  readonly ready: string;
  /** Selector of the elements that change with each picture. */
  readonly screen: string;
  /** The address for a session. @param origin of the server or of a proxy before it */
  address(origin: string, session: string): Promise<string>;
}

export class WebStand implements AsyncDisposable {
  readonly ours: Kind = {
    who: "wsh's page",
    ready: ".screen .row",
    screen: ".screen",
    address: (origin, session) => Promise.resolve(`${origin}/#t=${TOKEN}&session=${session}`),
  };
  readonly xterm: Kind = {
    who: "xterm.js fed raw bytes",
    ready: "body[data-shown] .xterm-rows > div",
    screen: ".xterm-rows",
    address: async (origin, session) => `${this.peers.url}#${await rawAddress(origin, session)}`,
  };
  readonly echo: Kind = {
    who: "echo page",
    ready: "body[data-shown] pre",
    screen: "pre",
    address: () => Promise.resolve(new URL("/echo", this.peers.url).href),
  };

  private constructor(
    readonly origin: string,
    readonly serverPid: number,
    private readonly peers: ReturnType<typeof servePeers>,
    readonly browser: Browser,
    /** Counts the bytes between a page and the server. */
    readonly counted: Counted,
    private readonly end: () => void,
  ) {}

  static async start(stage: Stage): Promise<WebStand> {
    const peers = servePeers();
    const folder = join(stage.env.HOME ?? "", ".config/wsh");
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(join(folder, "config.toml"), `scrollback_lines = ${SCROLLBACK}\n`);
    const child = stage.spawn([
      ...[stage.wsh, "server", "--bind", "127.0.0.1:0", "--token", TOKEN],
      ...["--cors-origin", peers.url.origin],
    ]);
    const once = { unix: stage.socket, keepalive: false };
    await until("the server", async () => (await fetch("http://localhost/health", once).catch(() => null))?.ok);
    const info = (await (await stage.get("/server/info")).json()) as { addresses: readonly string[] };
    const origin = info.addresses[0] ?? "";
    const executablePath = Bun.which("chromium") ?? Bun.which("google-chrome") ?? "";
    const args = [
      ...["--no-sandbox", "--disable-dev-shm-usage"],
      // Each page has its own process; no spare one is kept.
      "--disable-features=SpareRendererForSitePerProcess",
    ];
    const browser = await launch({ executablePath, args });
    return new WebStand(origin, child.pid, peers, browser, new Counted(Number(new URL(origin).port)), () => {
      peers.stop(true);
      child.kill();
    });
  }

  /** A page of a browser context of its own, in front, with its first picture. */
  async open(kind: Kind, session: string, origin = this.origin): Promise<Page> {
    const context = await this.browser.createBrowserContext();
    const page = await context.newPage();
    await painted(page, await kind.address(origin, session), kind.ready);
    return page;
  }

  /** Processes of the browser that run pages. */
  async renderers(): Promise<number[]> {
    const session = await this.browser.target().createCDPSession();
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    await session.detach();
    return processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    this.counted.stop();
    this.end();
  }
}

/** @returns time from the navigation until the elements are there, in ms */
export async function painted(page: Page, address: string, ready: string): Promise<number> {
  const began = performance.now();
  await page.goto(address, { waitUntil: "domcontentloaded" });
  await page.waitForSelector(ready);
  return performance.now() - began;
}

async function rawAddress(origin: string, session: string): Promise<string> {
  const response = await fetch(`${origin}/auth/ws-ticket`, {
    method: "POST",
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
  const { ticket } = (await response.json()) as { ticket: string };
  return encodeURIComponent(`${origin.replace("http", "ws")}/sessions/${session}/ws/raw?ticket=${ticket}&snapshot=1`);
}

/** The peers' pages. xterm.js finds the address of its raw WebSocket in the fragment. */
function servePeers() {
  const xterm = `import { Terminal } from "./xterm.mjs";
const terminal = new Terminal({ rows: 30, cols: 100, scrollback: ${SCROLLBACK} });
globalThis.terminal = terminal;
terminal.open(document.body);
const socket = new WebSocket(decodeURIComponent(location.hash.slice(1)));
socket.binaryType = "arraybuffer";
socket.onmessage = ({ data }) => terminal.write(new Uint8Array(data), () => (document.body.dataset.shown = ""));
terminal.onData((text) => socket.send(new TextEncoder().encode(text)));
terminal.focus();`;
  const echo = `const input = document.querySelector("textarea");
const socket = new WebSocket("ws://" + location.host + "/socket");
const text = document.querySelector("pre").appendChild(new Text());
socket.onopen = () => (document.body.dataset.shown = "");
socket.onmessage = ({ data }) => text.appendData(data);
input.onkeydown = (event) => {
  event.preventDefault();
  socket.send(event.key === "Enter" ? "\\n" : event.key);
};
input.focus();`;
  const page = (body: string, script: string) =>
    `<!doctype html><link rel="stylesheet" href="/xterm.css"><body>${body}<script type="module" src="${script}"></script>`;
  const typed = (body: BodyInit, type: string) => new Response(body, { headers: { "Content-Type": type } });
  const file = (name: string, type: string) => typed(Bun.file(Bun.resolveSync(name, import.meta.dir)), type);
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      "/": () => typed(page("", "/page.js"), "text/html"),
      "/echo": () => typed(page("<textarea></textarea><pre></pre>", "/echo.js"), "text/html"),
      "/page.js": () => typed(xterm, "text/javascript"),
      "/echo.js": () => typed(echo, "text/javascript"),
      "/xterm.mjs": () => file("@xterm/xterm/lib/xterm.mjs", "text/javascript"),
      "/xterm.css": () => file("@xterm/xterm/css/xterm.css", "text/css"),
    },
    fetch: (request, server) => (server.upgrade(request) ? undefined : new Response(null, { status: 404 })),
    websocket: { message: (socket, data) => void socket.send(data) },
  });
}
