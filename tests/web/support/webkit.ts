/** WebKitGTK's MiniBrowser on a separate display, by the W3C's WebDriver. Ends what it started. */
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { pathOf } from "../../support/programs.ts";
import { until } from "../../support/until.ts";
import { PAGE_MS } from "./browser.ts";
import { Display } from "./display.ts";

/** Enter in WebDriver's private code points. */
const ENTER = "\ue007";

export class WebKit implements AsyncDisposable {
  private session = "";

  private constructor(
    private readonly display: Display,
    private readonly driver: Bun.Subprocess,
    private readonly root: string,
  ) {}

  /** @param home where the browser may write */
  static async start(home: string): Promise<WebKit> {
    const display = await Display.start();
    const port = await freePort();
    const driver = Bun.spawn([pathOf("WebKitWebDriver") ?? "", `--port=${port}`, "--host=127.0.0.1"], {
      env: { ...process.env, DISPLAY: display.name, HOME: home, GDK_BACKEND: "x11", LIBGL_ALWAYS_SOFTWARE: "1" },
      stdout: "ignore",
      stderr: "ignore",
    });
    const webkit = new WebKit(display, driver, `http://127.0.0.1:${port}`);
    try {
      await until("WebKit's driver", () =>
        fetch(`${webkit.root}/status`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      const browserOptions = { binary: miniBrowser(), args: ["--automation"] };
      const made = await webkit.call("session", {
        capabilities: { alwaysMatch: { "webkitgtk:browserOptions": browserOptions } },
      });
      webkit.session = `session/${(made as { sessionId: string }).sessionId}/`;
      return webkit;
    } catch (thrown) {
      await webkit[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  async open(url: string): Promise<void> {
    await this.call(`${this.session}url`, { url });
  }

  async evaluate(script: string): Promise<unknown> {
    return this.call(`${this.session}execute/sync`, { script: `return (${script})`, args: [] });
  }

  async type(text: string): Promise<void> {
    const actions = [...text].flatMap((value) => [
      { type: "keyDown", value },
      { type: "keyUp", value },
    ]);
    await this.call(`${this.session}actions`, { actions: [{ type: "key", id: "keys", actions }] });
  }

  enter(): Promise<void> {
    return this.type(ENTER);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.session !== "") {
      await fetch(`${this.root}/${this.session.slice(0, -1)}`, { method: "DELETE" }).catch(() => undefined);
    }
    this.driver.kill();
    await this.driver.exited;
    await this.display[Symbol.asyncDispose]();
  }

  private async call(path: string, body: unknown): Promise<unknown> {
    const response = await fetch(`${this.root}/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json" },
      signal: AbortSignal.timeout(PAGE_MS),
    });
    const { value } = (await response.json()) as { value: unknown };
    if (!response.ok) throw new Error(`WebKit: ${path}: ${JSON.stringify(value)}`);
    return value;
  }
}

/** The browser of the newest installed WebKitGTK; null: none. */
export function miniBrowser(): string | null {
  const base = "/usr/lib";
  const found = readdirSync(base).flatMap((machine) =>
    ["webkit2gtk-4.1", "webkit2gtk-4.0"].map((version) => join(base, machine, version, "MiniBrowser")),
  );
  return found.find((path) => existsSync(path)) ?? null;
}

/** A port without a listener. */
function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const server = createServer().on("error", reject);
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    server.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject()));
  });
  return promise;
}
