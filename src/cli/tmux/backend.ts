/** What the commands of tmux use of wsh: sessions by their processes, as all other subcommands do. */
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import { resolve } from "node:path";
import tty from "node:tty";
import { hostname } from "../../instance/hostname.ts";
import type { Instance } from "../../instance/paths.ts";
import { selfCommand } from "../../launch/launch.ts";
import type { Backend } from "../../tmux/backend.ts";
import { TmuxError } from "../../tmux/error.ts";
import { TMUX_VERSION } from "../../tmux/main.ts";
import { print } from "../print.ts";
import { paneAround } from "../session/around.ts";
import { SessionClient } from "../session/client.ts";
import { endSession } from "../session/end.ts";
import { findAll } from "../session/listed.ts";
import { startSession } from "../session/start.ts";
import { quote, shellText } from "../shell-words.ts";
import { StateFile } from "./state-file.ts";

export function backendOf(instance: Instance): Backend {
  const state = new StateFile(instance);
  const at = ["--socket", instance.httpSocket];
  const self = (...args: readonly string[]): string =>
    selfCommand([...args])
      .map(quote)
      .join(" ");
  const { uid, username } = os.userInfo();
  return {
    env: process.env,
    cwd: process.cwd(),
    version: TMUX_VERSION,
    socketPath: instance.httpSocket,
    hostname: hostname(""),
    account: { uid, name: username },
    pid: process.pid,
    pane: paneOf(instance),
    hasTerminal: tty.isatty(0) && tty.isatty(1),

    async sessions() {
      const all = await findAll(instance);
      return all.flatMap((one) =>
        "info" in one && one.info.running && one.info.state !== "crashed" ? [one.info] : [],
      );
    },
    async call(operation, input, target) {
      using session = await SessionClient.open(instance, target);
      return await session.call(operation, input);
    },
    async create({ rows, cols, ...session }) {
      const { info } = await startSession(instance, { ...session, rows, cols, shell: null, tags: [] }, "number");
      return info;
    },
    async kill(target) {
      await endSession(instance, target);
    },
    async attach({ id }, { readOnly }) {
      const { fullProgram } = await import("../parser.ts");
      const program = await fullProgram("attach");
      await program.parseAsync(["attach", ...at, ...(readOnly ? ["--read-only"] : []), id], { from: "user" });
      return typeof process.exitCode === "number" ? process.exitCode : 0;
    },

    readState: () => state.read(),
    changeState: (change) => state.change(change),
    stateChange: () => state.changed(),

    async shell(command) {
      const child = Bun.spawn(["sh", "-c", command], { stdin: "ignore", stdout: "pipe", stderr: "ignore" });
      const output = await new Response(child.stdout).text();
      return { code: await child.exited, output };
    },
    shellLine(command) {
      const { stdout } = Bun.spawnSync(["sh", "-c", command], { stdin: "ignore", stderr: "ignore" });
      return stdout.toString().split("\n")[0] ?? "";
    },
    spawn: (command) => void background(command),
    self: `${self(...at, "tmux")}`,
    shellText,
    isAlive(pid) {
      try {
        process.kill(pid, 0);
        return true;
      } catch {
        return false;
      }
    },
    end(pid) {
      try {
        // The whole group: what reads the pane, and the command.
        process.kill(-pid, "SIGTERM");
      } catch {
        // It has ended.
      }
    },
    pipe: (pane, command) => background(`${self("output", ...at, "--lines", "0", "--follow", pane)} | (${command})`),
    sleep: (ms) => Bun.sleep(ms),
    async readFile(path) {
      if (path === "-") return Bun.stdin.bytes();
      try {
        return fs.readFileSync(resolve(path));
      } catch (thrown) {
        throw fileFault(path, thrown);
      }
    },
    async writeFile(path, data, append) {
      try {
        fs.writeFileSync(resolve(path), data, { flag: append ? "a" : "w" });
      } catch (thrown) {
        throw fileFault(path, thrown);
      }
    },
    print,
  };
}

/** The pane around this process, where it is one of the instance. */
function paneOf(instance: Instance): string | null {
  const around = paneAround(process.env);
  return around !== null && around.instance.httpSocket === instance.httpSocket ? around.pane : null;
}

/** Starts shell text that outlives this process. @returns its process, which leads a group */
function background(command: string): number {
  const child = spawn("sh", ["-c", command], { detached: true, stdio: "ignore" });
  child.unref();
  return child.pid ?? 0;
}

function fileFault(path: string, thrown: unknown): TmuxError {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  const said: Readonly<Record<string, string>> = {
    ...{ ENOENT: "No such file or directory", EACCES: "Permission denied", EISDIR: "Is a directory" },
  };
  return new TmuxError(`${path}: ${said[code] ?? code}`);
}
