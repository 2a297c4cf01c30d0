/**
 * The connection to another machine's gateway over ssh: one master (ControlMaster) with our own control socket,
 * which all of our processes share; a server that is started there; and a Unix socket here that the master
 * forwards to that server's. If sshd refuses such forwarding, `wsh proxy` on standard input and output replaces
 * it (relay.ts).
 *
 * Processes take turns by a lock, so that two without a connection make one. The forwarded socket counts only
 * when it answers. A master that died leaves its files, which are removed before new ones are created.
 */
import fs from "node:fs";
import * as v from "valibot";
import { withLock } from "../../instance/lock.ts";
import type { Instance } from "../../instance/paths.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import type { SshAddress } from "../../protocol/machines.ts";
import type { LinkStep } from "../link.ts";
import type { Base, Transport } from "../transport.ts";
import { ensureScript, forwardArgs, masterArgs, parsedHello, runArgs, type SshProgram } from "./command.ts";
import { type SshPaths, socketsOf, sshPlaces } from "./paths.ts";
import { StdioRelay } from "./relay.ts";
import { runSsh } from "./run.ts";

/**
 * Longest time for a login and a server's start there, in ms: without a person, and with one who may type a passphrase.
 */
const LOGIN_MS = 30_000;
const ASKED_LOGIN_MS = 180_000;
/** Longest wait for the master here, in ms. */
const MASTER_MS = 5_000;
/** Longest wait for an answer through a socket that may be dead, in ms. */
const ANSWER_MS = 5_000;

const EnsuredSchema = v.looseObject({ socket: v.string(), version: v.optional(v.string()) });

export interface SshOptions {
  readonly instance: Instance;
  readonly program: SshProgram;
  /** The person at the terminal of this process; without one, ssh asks nothing. */
  readonly person?: {
    /** Runs a login in which ssh may ask the person, while nothing else does. */
    login<T>(host: string, run: () => Promise<T>): Promise<T>;
    /** Installs the program there if it is missing. @returns whether it was installed */
    install(system: string, transport: SshTransport): Promise<boolean>;
  };
}

/** ssh's messages about a login that a person's answer could complete. */
const needsPerson = /permission denied|host key verification failed|no more authentication methods/i;
const changedKey = /REMOTE HOST IDENTIFICATION HAS CHANGED/;

export class SshTransport implements Transport {
  base: Base | null = null;
  private readonly sshPaths: SshPaths;
  private relay: StdioRelay | null = null;

  constructor(
    private readonly address: SshAddress,
    private readonly options: SshOptions,
  ) {
    const { user, host, port, instance } = address;
    this.sshPaths = sshPlaces(options.instance, JSON.stringify([options.program.argv, user, host, port, instance]));
    this.base = fs.existsSync(this.sshPaths.forwarded) ? baseAt(this.sshPaths.forwarded) : null;
  }

  get host(): string {
    return this.address.host;
  }

  async open(): Promise<Base> {
    const { sshPaths } = this;
    const timeoutMs = this.options.person === undefined ? LOGIN_MS * 2 : ASKED_LOGIN_MS * 2;
    return withLock(
      sshPaths.lock,
      async () => {
        // Another process may have made it meanwhile.
        if (fs.existsSync(sshPaths.forwarded) && (await answers(sshPaths.forwarded)))
          return this.baseAt(sshPaths.forwarded);
        const there = await this.ensure();
        await this.forward(there);
        if (await answers(sshPaths.forwarded)) return this.baseAt(sshPaths.forwarded);
        fs.rmSync(sshPaths.forwarded, { force: true });
        return this.baseAt(await this.relayed());
      },
      { timeoutMs },
    );
  }

  connectionLost(): void {
    this.base = null;
  }

  /** Does not end the master: others may use it. */
  async close(): Promise<void> {
    this.relay?.stop();
    this.relay = null;
    this.base = null;
  }

  /** Ends the master, and all connections over it. */
  async end(): Promise<void> {
    await this.close();
    await endMasters(this.options, this.sshPaths.control);
  }

  /** Runs a script there. @throws WshError machine_unreachable with ssh's message */
  async run(script: string, { timeoutMs, input }: { timeoutMs?: number; input?: Bun.BunFile } = {}): Promise<string> {
    const { person } = this.options;
    const { host } = this.address;
    const given = defined({ input });
    await this.dropDeadMaster();
    let result = await runSsh(this.runArgs(script, true), {
      timeoutMs: timeoutMs ?? LOGIN_MS,
      ...given,
      mayAsk: false,
    });
    if (
      person !== undefined &&
      result.code === 255 &&
      needsPerson.test(result.stderr) &&
      !changedKey.test(result.stderr)
    )
      result = await person.login(host, () =>
        runSsh(this.runArgs(script, false), { timeoutMs: timeoutMs ?? ASKED_LOGIN_MS, ...given }),
      );
    const { code, stdout, stderr, isEndless } = result;
    if (isEndless) throw this.unreachable("its startup files, or its wsh, print endlessly");
    // 255 is ssh's own failure.
    if (code === 0 || (code !== 255 && code !== null && parsedHello(stdout) !== null)) return stdout;
    throw this.unreachable(stderr === "" ? `ssh exited with ${code ?? "no code"}` : printable(stderr));
  }

  async *examine(): AsyncIterable<LinkStep> {
    const { host, user, port } = this.address;
    let stdout: string;
    try {
      stdout = await this.run("echo; echo wsh-link-1 here $(uname -s) $(uname -m)");
    } catch (thrown) {
      const { argv } = this.options.program;
      const to = user === null ? host : `${user}@${host}`;
      const login = [...argv, ...(port === null ? [] : ["-p", String(port)]), to].join(" ");
      yield {
        step: "ssh",
        ok: false,
        text: WshError.from(thrown).message,
        advice: `${this.options.person === undefined ? "Log in once by hand" : "Try"}: ${login}`,
      };
      return;
    }
    const hello = parsedHello(stdout);
    if (hello === null) {
      yield {
        step: "ssh",
        ok: false,
        text: `the login shell of ${host} does not run 'sh -c'`,
        advice: "Check its shell.",
      };
      return;
    }
    yield { step: "ssh", ok: true, text: `logged in to ${host} (${hello.rest})` };
    let remoteSocket: string;
    try {
      remoteSocket = await this.ensure();
    } catch (thrown) {
      const error = WshError.from(thrown);
      yield { step: "binary", ok: false, text: error.message, advice: error.hintAt("cli") };
      return;
    }
    yield { step: "binary", ok: true, text: `the remote wsh listens at ${remoteSocket}` };
    await this.forward(remoteSocket);
    const isForwarded = await answers(this.sshPaths.forwarded);
    if (isForwarded) yield { step: "socket", ok: true, text: "forwarded" };
    else {
      const text = "the remote sshd does not forward Unix sockets: each request uses `wsh proxy`";
      yield { step: "socket", ok: true, text, advice: "AllowStreamLocalForwarding yes in sshd_config is faster." };
    }
    const linger = parsedHello(await this.run(LINGER).catch(() => ""));
    if (linger?.word === "no") {
      const advice = "There: loginctl enable-linger, or KillUserProcesses=no.";
      yield { step: "logout", ok: true, text: "systemd may end sessions there when the last login ends", advice };
    }
  }

  /** Ensures that a server runs there. @returns the path of its socket */
  private async ensure(isAgain = false): Promise<string> {
    const answer = parsedHello(await this.run(ensureScript(this.address)));
    if (answer?.word === "missing") {
      if (!isAgain && (await this.options.person?.install(answer.rest, this)) === true) return this.ensure(true);
      throw new WshError("machine_unreachable", `${this.address.host} has no wsh (${answer.rest})`, {
        hint: "`wsh servers add` offers to copy it there; or install it, as ~/.local/bin/wsh or in PATH.",
      });
    }
    const text = answer?.after ?? "";
    const json = text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
    const ensured = v.safeParse(v.pipe(v.string(), v.parseJson(), EnsuredSchema), json);
    if (ensured.success) return ensured.output.socket;
    throw this.unreachable(`its wsh did not start a server${text.trim() === "" ? "" : `: ${printable(text)}`}`);
  }

  private async forward(remote: string): Promise<void> {
    const { program } = this.options;
    const { control, forwarded: local } = this.sshPaths;
    // The master assumes that a deleted socket still exists.
    await runSsh(forwardArgs(program, this.address, control, "cancel", { local, remote }), {
      timeoutMs: MASTER_MS,
    });
    fs.rmSync(local, { force: true });
    await runSsh(forwardArgs(program, this.address, control, "forward", { local, remote }), {
      timeoutMs: MASTER_MS,
    });
  }

  private async relayed(): Promise<string> {
    this.relay?.stop();
    this.relay = new StdioRelay(this.sshPaths.relay, this.options.program, this.address, this.sshPaths.control);
    this.relay.listen();
    if (await answers(this.sshPaths.relay)) return this.sshPaths.relay;
    throw this.unreachable("its server cannot be reached by a forwarded socket or by `wsh proxy`");
  }

  /** A killed master leaves its socket behind, and ssh would then connect without a master. */
  private async dropDeadMaster(): Promise<void> {
    if (!fs.existsSync(this.sshPaths.control)) return;
    const { code } = await runSsh(this.masterArgs("check"), { timeoutMs: MASTER_MS });
    if (code !== 0) fs.rmSync(this.sshPaths.control, { force: true });
  }

  private runArgs(script: string, batch: boolean): string[] {
    return runArgs(this.options.program, this.address, this.sshPaths.control, { script, batch });
  }

  private masterArgs(action: string): string[] {
    return masterArgs(this.options.program, this.address, this.sshPaths.control, action);
  }

  private baseAt(socket: string): Base {
    this.base = baseAt(socket);
    return this.base;
  }

  private unreachable(why: string): WshError {
    return new WshError("machine_unreachable", `${this.address.host}: ${why}`);
  }
}

/**
 * Ends the instance's masters for all addresses. A master that cannot be ended expires hours later. @param only
 * the only master to end
 */
export async function endMasters(
  { instance, program }: Pick<SshOptions, "instance" | "program">,
  only?: string,
): Promise<void> {
  const { controls, others } = socketsOf(instance, only);
  // The socket identifies the master; the host is arbitrary.
  const to: SshAddress = { kind: "ssh", user: null, host: "master", port: null, instance: null };
  const exits = controls.map((control) => runSsh(masterArgs(program, to, control, "exit"), { timeoutMs: MASTER_MS }));
  await Promise.allSettled(exits);
  for (const path of [...controls, ...others]) fs.rmSync(path, { force: true });
}

/** Whether systemd kills the processes of a closed login; prints yes or no, or nothing without systemd. */
const LINGER =
  'command -v loginctl >/dev/null 2>&1 || exit 0; l=$(loginctl show-user "$(id -un)" --property=Linger --value 2>/dev/null); ' +
  'if [ "$l" = no ]; then echo; echo "wsh-link-1 no"; fi';

function baseAt(unix: string): Base {
  return { url: "http://localhost", unix, headers: {} };
}

async function answers(unix: string): Promise<boolean> {
  try {
    const { ok, body } = await fetch("http://localhost/link", { unix, signal: AbortSignal.timeout(ANSWER_MS) });
    // The body may never end.
    await body?.cancel();
    return ok;
  } catch {
    return false;
  }
}

/** Characters of a message that people are shown: more than the whole warning about a changed host key. */
const SHOWN_CHARS = 2_000;

/** The end of ssh's message, without lines that are only a frame. A message of several lines begins on a new line. */
function printable(text: string): string {
  const lines = text
    .trim()
    .split(/\r?\n/)
    .filter((line) => !/^@[@ ]*@$/.test(line));
  return `${lines.length > 1 ? "\n" : ""}${lines.join("\n").slice(-SHOWN_CHARS)}`;
}
