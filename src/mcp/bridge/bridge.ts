/**
 * `wsh mcp`: a pipe between an AI host's stdio and the server's MCP socket, which starts a server if none runs and
 * survives its restart. Invariants: stdout carries only JSON-RPC lines; every accepted request is answered once, by the
 * server or with an error from here; what was sent to a server that died is never sent again; nothing is buffered
 * without limit. It imports no SDK, so that the first answer is fast.
 */

import type { Instance } from "../../instance/paths.ts";
import { startServer } from "../../launch/server.ts";
import { agentAbove } from "../../platform/agent-above.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { visible } from "../../protocol/harmless-text.ts";
import { VERSION } from "../../protocol/version.ts";
import { LineSplitter } from "../../wire/lines.ts";
import { MAX_HELLO_BYTES, MAX_LINE_BYTES, MCP_SOCKET_VERSION } from "../socket/hello.ts";
import { type FittedHello, fitHello } from "./hello.ts";
import { answeredId, Link } from "./link.ts";
import { type ClientMessage, errorLine, OpenRequests, parseLine, type RequestId } from "./open-requests.ts";
import { ServerRequests } from "./server-requests.ts";
import { Output } from "./stdout.ts";

/** Longest wait of requests for a server, in ms. */
const SERVER_MS = 5_000;
/** Pause between attempts to reach a server that is starting or stopping, in ms. */
const RETRY_MS = 20;
/** Longest wait for open requests after stdin has ended, in ms. */
const LAST_ANSWERS_MS = 10_000;
/** Longest wait for stdout to take the last lines after a signal, in ms: the total allowed is a second. */
const HASTY_FLUSH_MS = 700;
/** Bytes pending in one direction above which its source is not read. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Characters of an id that a message repeats. */
const SHOWN_ID = 80;

type Environment = Readonly<Record<string, string | undefined>>;

interface BridgeOptions {
  readonly instance: Instance;
  readonly cwd: string | undefined;
  /** The initial environment of the agent's sessions, and of a server started here. Asked for once. */
  readonly environment: (stopped: AbortSignal) => Promise<Environment>;
  readonly tools: "core" | "all" | "machines";
  readonly session?: string | undefined;
  readonly readOnly: boolean;
  /** Address that a server started here also binds. */
  readonly bind?: string | undefined;
  readonly token?: string | undefined;
}

/** Runs until stdin ends, stdout is gone, or a signal comes. The process should then exit with 0. */
export async function runBridge(options: BridgeOptions): Promise<void> {
  await new Bridge(options).run();
}

/** The environment without our own variables, which describe this process and not the agent's environment. */
function helloOf({ cwd, tools, session, readOnly }: BridgeOptions, env: Environment): FittedHello {
  const passed = Object.entries(env).filter((entry): entry is [string, string] => {
    return entry[1] !== undefined && !entry[0].startsWith("WSH_");
  });
  return fitHello({
    wsh_mcp: MCP_SOCKET_VERSION,
    version: VERSION,
    ...defined({ cwd }),
    env: Object.fromEntries(passed),
    tools,
    ...defined({ session, agent: agentAbove(process.ppid) ?? undefined }),
    read_only: readOnly,
  });
}

/** An id in the form for messages. */
function shownId(id: RequestId): string {
  const text = JSON.stringify(id);
  return text.length > SHOWN_ID ? `${text.slice(0, SHOWN_ID)}…` : text;
}

class Bridge {
  private readonly open = new OpenRequests();
  private readonly serverRequests = new ServerRequests();
  private readonly stopped = new AbortController();
  private readonly stdoutGone = Promise.withResolvers<void>();
  private readonly output = new Output(MAX_WAITING_BYTES, {
    full: () => this.link?.pause(),
    room: () => this.link?.resume(),
    gone: () => this.stdoutGone.resolve(),
  });
  private environment: Promise<Environment> | null = null;
  private link: Link | null = null;
  private connecting: Promise<void> | null = null;
  /** Lines waiting for a link, in order. */
  private queue: ClientMessage[] = [];
  private queued = 0;
  private spaceInQueue: PromiseWithResolvers<void> | null = null;
  /** Sent again to a new server, since the client does not repeat it. */
  private initialize: ClientMessage | null = null;
  private isInitialized = false;
  private initialized: string | null = null;
  private readonly subscriptions = new Map<unknown, ClientMessage>();
  private readonly replays = new Map<RequestId, () => void>();
  private replayCount = 0;
  private isInputEnded = false;
  private isOmissionReported = false;
  private flushMs = LAST_ANSWERS_MS;
  private idle: PromiseWithResolvers<void> | null = null;

  constructor(private readonly options: BridgeOptions) {}

  async run(): Promise<void> {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => this.stop(signal));
    void this.connect();
    void this.readInput()
      .catch((error) => this.complain(`stdin: ${error}`))
      .then(() => this.finish());
    await this.stdoutGone.promise;
    this.stopped.abort();
    this.link?.close();
    await Promise.race([this.output.flushed(), Bun.sleep(this.flushMs)]);
  }

  private async readInput(): Promise<void> {
    const lines = new LineSplitter(
      MAX_LINE_BYTES,
      (line) => this.receiveClientLine(line),
      () => this.print(errorLine(null, -32600, `Invalid Request: a line is at most ${MAX_LINE_BYTES} bytes`)),
    );
    for await (const bytes of Bun.stdin.stream()) {
      lines.push(bytes);
      await this.link?.waitForRoom(MAX_WAITING_BYTES);
      while (this.queued > MAX_LINE_BYTES) {
        this.spaceInQueue ??= Promise.withResolvers<void>();
        await this.spaceInQueue.promise;
      }
    }
    lines.end();
  }

  private receiveClientLine(line: string): void {
    const parsed = parseLine(line);
    if (!parsed.ok) {
      this.print(errorLine(parsed.id, parsed.code, parsed.reason));
      return;
    }
    const { message } = parsed;
    if (message.method === null) {
      const answer = message.id === null ? null : this.serverRequests.answer(message.id, line);
      if (answer !== null) this.link?.write(`${answer}\n`);
      return;
    }
    if (message.method === "notifications/cancelled") this.forget(message.params.requestId);
    if (message.id !== null && this.open.has(message.id)) {
      // The client would take an error with this id for the other request's answer.
      this.print(
        errorLine(null, -32600, `Invalid Request: the id ${shownId(message.id)} is in use by an open request`),
      );
      return;
    }
    this.open.add(message);
    if (this.link !== null) {
      this.send(this.link, message);
      return;
    }
    this.queue.push(message);
    this.queued += line.length;
    void this.connect();
  }

  /** A cancelled request gets no answer; one that was not sent yet is not sent at all. */
  private forget(id: unknown): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    this.open.close(id);
    this.queue = this.queue.filter((message) => message.id !== id || message.method === null);
    this.resolveIfIdle();
  }

  private send(link: Link, message: ClientMessage): void {
    link.write(`${message.line}\n`);
    if (message.id !== null) this.open.sent(message.id);
    if (message.method === "initialize") this.initialize = message;
    else if (message.method === "notifications/initialized") this.initialized = message.line;
    else if (message.method === "resources/subscribe") this.subscriptions.set(message.params.uri, message);
    else if (message.method === "resources/unsubscribe") this.subscriptions.delete(message.params.uri);
  }

  /** Connects, starting a server if needed, and sends what waits. One attempt at a time. */
  private connect(): Promise<void> {
    this.connecting ??= this.reach()
      .then((link) => {
        this.link = link;
        for (const message of this.takeQueue()) this.send(link, message);
      })
      .catch((thrown) => {
        const error = WshError.from(thrown);
        if (!this.stopped.signal.aborted) this.complain(error.message);
        this.takeQueue();
        const { code, message, hint } = error.bodyAt("mcp");
        for (const line of this.open.fail("all", { code, message, hint })) this.print(line);
        this.resolveIfIdle();
      })
      .finally(() => {
        this.connecting = null;
        if (this.queue.length > 0 && this.link === null) void this.connect();
      });
    return this.connecting;
  }

  private takeQueue(): ClientMessage[] {
    const { queue } = this;
    this.queue = [];
    this.queued = 0;
    this.spaceInQueue?.resolve();
    this.spaceInQueue = null;
    return queue;
  }

  private async reach(): Promise<Link> {
    const { instance, bind, token } = this.options;
    this.environment ??= this.options.environment(this.stopped.signal);
    const env = await this.environment;
    if (this.stopped.signal.aborted) throw new WshError("cancelled", "wsh mcp was terminated");
    const deadline = performance.now() + SERVER_MS;
    const { hello, omitted } = helloOf(this.options, env);
    this.mentionOmitted(omitted);
    for (;;) {
      const remainingMs = deadline - performance.now();
      let missing: WshError;
      try {
        const link = await Link.open(instance, hello, {
          line: (bytes) => this.receiveServerLine(bytes),
          lost: () => this.linkLost(),
        });
        await this.replay(link);
        if (!link.isLost) return link;
        if (remainingMs > 0) continue;
        throw new WshError("server_unavailable", "the server hung up");
      } catch (thrown) {
        missing = WshError.from(thrown);
        if (missing.code !== "server_unavailable" || remainingMs <= 0) throw missing;
      }
      const { started } = await startServer(instance, {
        bind,
        token,
        timeoutMs: Math.max(1, Math.round(remainingMs)),
        env,
      });
      if (!started) {
        if (performance.now() >= deadline) throw missing;
        // The server runs, but its MCP socket is missing: not bound yet, or already removed.
        await Bun.sleep(RETRY_MS);
        await this.mentionBind();
      }
    }
  }

  private mentionOmitted(names: readonly string[]): void {
    if (names.length === 0 || this.isOmissionReported) return;
    this.isOmissionReported = true;
    const limit = MAX_HELLO_BYTES / 1024 / 1024;
    this.complain(`the environment exceeds ${limit} MiB; sessions start without ${names.join(", ")}`);
  }

  /** A running server keeps its addresses. */
  private async mentionBind(): Promise<void> {
    const { instance, bind } = this.options;
    if (bind === undefined || bind === "none") return;
    const { readServerInfo } = await import("../../registry/server-info.ts");
    const addresses = readServerInfo(instance)?.addresses ?? [];
    if (addresses.some((address) => address.endsWith(bind))) return;
    this.complain(`the running server does not listen on ${bind}; kill it first, or omit --bind`);
  }

  /** Sends a new server the old one's knowledge of this client. */
  private async replay(link: Link): Promise<void> {
    const { initialize } = this;
    if (initialize === null || !this.isInitialized) return;
    await this.request(link, initialize);
    if (this.initialized !== null) link.write(`${this.initialized}\n`);
    for (const subscription of this.subscriptions.values()) await this.request(link, subscription);
  }

  /** Sends a request again under our own id; its answer is for us. */
  private request(link: Link, message: ClientMessage): Promise<void> {
    const id = `wsh-replay-${++this.replayCount}`;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.replays.set(id, resolve);
    link.write(`${JSON.stringify({ ...JSON.parse(message.line), id })}\n`);
    return promise;
  }

  private receiveServerLine(line: Uint8Array): void {
    const id = answeredId(line);
    if (id !== null) {
      const answered = this.replays.get(id);
      if (answered !== undefined) {
        this.replays.delete(id);
        answered();
        return;
      }
      const request = this.open.close(id);
      if (request !== null && request === this.initialize) this.isInitialized = true;
    }
    this.print(id === null ? this.serverRequests.passOn(line) : line);
    this.resolveIfIdle();
  }

  private linkLost(): void {
    this.link = null;
    for (const answered of this.replays.values()) answered();
    this.replays.clear();
    const failure = {
      code: "server_unavailable",
      message: "the wsh server ended before it answered",
      hint: "Sessions keep running; the next request connects to or starts a server.",
    };
    for (const line of [...this.serverRequests.cancelAll(), ...this.open.fail("sent", failure)]) this.print(line);
    this.resolveIfIdle();
  }

  /** stdin has ended: open requests are still answered. */
  private async finish(): Promise<void> {
    this.isInputEnded = true;
    this.idle = Promise.withResolvers<void>();
    this.resolveIfIdle();
    await Promise.race([this.idle.promise, Bun.sleep(LAST_ANSWERS_MS)]);
    this.stdoutGone.resolve();
  }

  private resolveIfIdle(): void {
    if (this.isInputEnded && this.open.awaitedCount === 0 && this.queue.length === 0) this.idle?.resolve();
  }

  private stop(signal: string): void {
    const failure = { code: "cancelled", message: `wsh mcp was terminated by ${signal}`, hint: "Start it again." };
    for (const line of this.open.fail("all", failure)) this.print(line);
    this.flushMs = HASTY_FLUSH_MS;
    this.stdoutGone.resolve();
  }

  private print(line: string | Uint8Array): void {
    this.output.print(line);
  }

  private complain(text: string): void {
    process.stderr.write(`wsh mcp: ${visible(text)}\n`);
  }
}
