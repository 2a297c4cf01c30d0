/**
 * `wsh open`: opens the page of sessions in a browser of this machine, logged in by a single-use code
 * (docs/security.md, Browsers). Without a display, or with --print, it prints the page's address and how to reach it
 * from another machine.
 */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import * as v from "valibot";
import type { Instance } from "../../instance/paths.ts";
import { platform } from "../../platform/platform.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseTarget } from "../../protocol/names.ts";
import { findSession } from "../../registry/registry.ts";
import { askServer } from "../../registry/server-client.ts";
import { instanceOf } from "../instance.ts";
import { complain, print, printJson } from "../print.ts";
import { requirePerson } from "../session/client.ts";
import { tunnelLine } from "../tunnel.ts";

/** Browsers that show a page in a window of its own (`--app`), where the browser binds no keys. */
const appBrowsers = [
  "google-chrome",
  "google-chrome-stable",
  "chromium",
  "chromium-browser",
  "microsoft-edge",
  "brave",
];
const macApps = ["Google Chrome", "Chromium", "Microsoft Edge", "Brave Browser"];
/** Time in which a browser that cannot start fails, in ms. */
const START_MS = 300;

const CodeSchema = v.object({
  code: v.nullable(v.string()),
  expires_in_s: v.nullable(v.number()),
  page: v.string(),
});

interface Options {
  readonly print?: boolean;
  readonly tab?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("open [session]")
    .description(
      "Open the sessions, or one session, in a logged-in browser. Starts a server if none is running. Without a " +
        "display it prints the address, as --print does: the address logs in one browser, within a minute.",
    )
    .option("--print", "print the address instead of opening it")
    .option("--tab", "open a browser tab, not a separate window")
    .option("--json", "with --print: as JSON")
    .action(async (session: string | undefined, options: Options, command: Command) => {
      const instance = instanceOf(command);
      const name = session === undefined ? null : sessionNamed(instance, session);
      const { code, expires_in_s, page } = await requestCode(instance);
      const address = addressOf(page, code, name);
      if (options.print === true || options.json === true || !hasDisplay()) {
        if (options.json === true) return printJson({ address, page: `${page}/`, expires_in_s });
        await print(`${address}\n`);
        return explain(page, expires_in_s);
      }
      if (!(await show(instance, address, options.tab === true))) {
        complain("no browser found: open this address within a minute");
        await print(`${address}\n`);
        explain(page, expires_in_s);
      }
    });
}

/** @throws WshError session_not_found */
function sessionNamed(instance: Instance, target: string): string {
  const { name } = findSession(instance, parseTarget(target));
  return name ?? target;
}

async function requestCode(instance: Instance): Promise<v.InferOutput<typeof CodeSchema>> {
  // A logged-in page has a person's rights.
  await requirePerson(instance, "wsh open");
  const { startServer } = await import("../../launch/server.ts");
  await startServer(instance);
  try {
    return v.parse(CodeSchema, await askServer(instance, "POST", "/auth/code"));
  } catch (thrown) {
    const { message } = WshError.from(thrown);
    if (!/answered 404/.test(message)) throw thrown;
    throw new WshError("server_unavailable", "the running server has no web page: its version is too old", {
      hint: "Kill the server process (sessions keep running) and try again: `wsh info` prints its process id.",
    });
  }
}

/** The code follows `#`: no browser sends that part to a server. */
function addressOf(page: string, code: string | null, session: string | null): string {
  const parts = [
    ...(code === null ? [] : [`c=${code}`]),
    ...(session === null ? [] : [`session=${encodeURIComponent(session)}`]),
  ];
  return `${page}/${parts.length === 0 ? "" : `#${parts.join("&")}`}`;
}

function explain(page: string, seconds: number | null): void {
  const { port } = new URL(page);
  if (seconds !== null) complain(`the address logs in one browser, within ${seconds} s`);
  complain(`from another machine, run first: ${tunnelLine(port)}`);
}

function hasDisplay(): boolean {
  const { env } = process;
  if (isMac()) return env.SSH_CONNECTION === undefined;
  return (env.DISPLAY ?? "") !== "" || (env.WAYLAND_DISPLAY ?? "") !== "";
}

/** @returns whether a browser was started */
async function show(instance: Instance, address: string, tab: boolean): Promise<boolean> {
  // On macOS every user can read arguments, and the owner of a connection is unknown: a private file holds
  // the address.
  const shown = isMac() ? redirectFile(instance, address) : address;
  for (const command of commandsFor(shown, tab)) if (await started(command)) return true;
  return false;
}

/** Commands that open an address, the best first. */
function commandsFor(address: string, tab: boolean): string[][] {
  if (isMac()) {
    const apps = macApps.filter((app) => existsSync(`/Applications/${app}.app`));
    const windows = tab ? [] : apps.map((app) => ["open", "-na", app, "--args", `--app=file://${address}`]);
    return [...windows, ["open", address]];
  }
  const installedBrowsers = appBrowsers.filter((name) => Bun.which(name) !== null);
  const windows = tab ? [] : installedBrowsers.map((name) => [name, `--app=${address}`]);
  const defaultOpener = Bun.which("xdg-open") === null ? [] : [["xdg-open", address]];
  return [...windows, ...defaultOpener, ...(tab ? installedBrowsers.map((name) => [name, address]) : [])];
}

/** A browser keeps running; one that cannot start ends soon, with a failure. */
async function started([program = "", ...args]: readonly string[]): Promise<boolean> {
  try {
    const child = Bun.spawn([program, ...args], { stdio: ["ignore", "ignore", "ignore"], detached: true });
    child.unref();
    const code = await Promise.race([child.exited, Bun.sleep(START_MS)]);
    return code === undefined || code === 0;
  } catch {
    return false;
  }
}

function redirectFile(instance: Instance, address: string): string {
  const path = join(instance.stateDir, `${instance.fileName}.open.html`);
  rmSync(path, { force: true });
  const html = `<!doctype html><meta http-equiv="refresh" content="0;url=${address.replaceAll("&", "&amp;")}">`;
  writeFileSync(path, html, { mode: 0o600, flag: "wx" });
  return path;
}

/** Whether this is the system that does not report a connection's owner. */
function isMac(): boolean {
  return platform().listeners === null;
}
