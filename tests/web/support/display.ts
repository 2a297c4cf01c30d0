/** A separate X server, and real keys for the focused window (`xdotool`). Ends what it started. */
import { pathOf } from "../../support/programs.ts";

export class Display implements AsyncDisposable {
  private constructor(
    private readonly server: Bun.Subprocess,
    /** `:7` */
    readonly name: string,
  ) {}

  static async start(): Promise<Display> {
    const server = Bun.spawn(
      [pathOf("Xvfb") ?? "", "-displayfd", "1", "-screen", "0", "1200x800x24", "-nolisten", "tcp"],
      { stdout: "pipe", stderr: "ignore" },
    );
    const { value } = await server.stdout.getReader().read();
    return new Display(server, `:${new TextDecoder().decode(value).trim()}`);
  }

  /** Presses keys by their X names: `ctrl+shift+v`. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.tool("key", "--delay", "20", ...keys);
  }

  /** Gives the keyboard to the window, since there is no window manager. */
  async focus(title: string): Promise<void> {
    await this.tool("search", "--sync", "--onlyvisible", "--name", title, "windowfocus", "--sync");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.kill();
    await this.server.exited;
  }

  private async tool(...args: readonly string[]): Promise<void> {
    const child = Bun.spawn([pathOf("xdotool") ?? "", ...args], {
      env: { ...process.env, DISPLAY: this.name },
      stdout: "ignore",
      stderr: "pipe",
    });
    if ((await child.exited) !== 0)
      throw new Error(`xdotool ${args.join(" ")}: ${await new Response(child.stderr).text()}`);
  }
}
