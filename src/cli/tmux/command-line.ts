/**
 * `wsh tmux ARGS`, parsed as tmux parses its arguments: after the word `tmux` no option of wsh's is recognised.
 * tmux's options select the instance: -L by its name, -S by the path of its socket or of any other file.
 */
import { resolve } from "node:path";
import { type Instance, resolveInstance } from "../../instance/paths.ts";
import { TMUX_VERSION } from "../../tmux/backend.ts";
import { readFront, runTmux } from "../../tmux/main.ts";
import { complain, print } from "../print.ts";

/** Names of instances. */
const plainName = /^[A-Za-z0-9_-]{1,32}$/;

/** @param before global options of wsh before `tmux` @returns the exit status */
export async function tmuxCommandLine(args: readonly string[], before: readonly string[]): Promise<number> {
  const { server, socket, shell, file, request, control, rest, error } = readFront(args);
  if (error !== null) {
    process.stderr.write(`${error}\n`);
    return 1;
  }
  if (request === "version") {
    await print(`tmux ${TMUX_VERSION}\n`);
    return 0;
  }
  if (shell !== null) {
    const child = Bun.spawn(["sh", "-c", shell], { stdin: "inherit", stdout: "inherit", stderr: "inherit" });
    return child.exited;
  }
  let instance: Instance;
  try {
    instance = resolveInstance({ flags: flagsOf(server, socket, before), env: process.env });
  } catch (thrown) {
    complain(thrown instanceof Error ? thrown.message : String(thrown));
    return 1;
  }
  if (control > 0) {
    const { runControl } = await import("./control.ts");
    return runControl(instance, rest, control > 1);
  }
  const { localBackend } = await import("./client.ts");
  using backend = localBackend(instance);
  return await runTmux(backend, rest, file);
}

type Flags = NonNullable<Parameters<typeof resolveInstance>[0]["flags"]>;

function flagsOf(server: string | null, socket: string | null, before: readonly string[]): Flags {
  if (socket !== null) {
    const path = resolve(socket);
    // The form in TMUX: the socket of the instance of DIR/NAME.http.sock is below DIR/NAME/7.tmux.
    const [, own] = /^(.+)\/\d+\.tmux\/tmux-\d+\/default$/.exec(path) ?? [];
    if (own !== undefined) return { socket: `${own}.http.sock` };
    return path.endsWith(".http.sock") ? { socket: path } : { serverName: standIn(path) };
  }
  if (server !== null) return { serverName: plainName.test(server) ? server : standIn(server) };
  const [name, value = ""] = before[0]?.split(/=(.*)/s) ?? [];
  const given = value === "" ? (before[1] ?? "") : value;
  if (name === "--socket") return { socket: given };
  if (name === "-L" || name === "--server-name") return { serverName: given };
  return name?.startsWith("-L") === true ? { serverName: name.slice(2) } : {};
}

/** An instance for a text that is not a valid name. */
function standIn(text: string): string {
  return `tmux-${Bun.hash(text).toString(36)}`;
}
