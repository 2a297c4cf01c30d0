/**
 * A link over HTTP and WebSocket: over TCP with a token, or over ssh, which ends at a Unix socket here. Before sending
 * a change, the link checks that the machine answers, unless it answered within FRESH_MS.
 */
import * as v from "valibot";
import { errorCode } from "../base/errno.ts";
import type { OperationInput, OperationName, OperationOutput } from "../operations/table.ts";
import { intervals } from "../platform/intervals.ts";
import { defined } from "../protocol/defined.ts";
import { isRefusal, WshError } from "../protocol/errors.ts";
import { type DialedProcess, type LinkHello, LinkHelloSchema, type MachineHealth } from "../protocol/machines.ts";
import { PROTOCOL_VERSION } from "../protocol/messages.ts";
import { ASKING_HEADER, REQUEST_HEADER } from "../protocol/requests.ts";
import { VERSION } from "../protocol/version.ts";
import type { Dial } from "../wire/connection.ts";
import { AnswerSchema, remoteError } from "./checked-answer.ts";
import { openEvents } from "./event-stream.ts";
import {
  CLOCK_MS,
  type Link,
  type LinkCallOptions,
  type LinkEvents,
  type LinkState,
  type LinkStep,
  UNDECIDED,
} from "./link.ts";
import { type CallTransport, type CarriedCall, callOverTransport } from "./link-call.ts";
import { ConnectionLost } from "./repeated-request.ts";
import { openStream } from "./stream.ts";
import { type Base, pathAt, socketUrl, type Transport } from "./transport.ts";
import { transportTrouble } from "./transport-trouble.ts";

/** Age of an answer up to which the machine counts as present, in ms. */
const FRESH_MS = 2_000;
/**
 * Silence after a question, in ms, after which the machine is `stale`: an answer around the world takes a fifth of
 * this.
 */
const STALE_MS = 2_000;
/** Longest wait for the gateway to identify itself, in ms: a round trip around the world, and a busy machine. */
const HELLO_MS = 5_000;
/** Longest time that a server which cuts connections may take to end, in ms: as long as a busy machine needs. */
const ENDING_MS = 2_000;
const ENDING_POLL_MS = 50;
/** How many pings may stay unanswered during a call. */
const MISSED_PINGS = 2;
/** Largest answer that is read, in bytes: many times the maximum result of an operation. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export class HttpLink implements Link, CallTransport {
  private readonly id = crypto.randomUUID();
  private lastHello: LinkHello | null = null;
  private lastAnswer: { readonly at: number; readonly tick: number } | null = null;
  private lastError: WshError | null = null;
  private connecting: Promise<LinkHello> | null = null;
  /** Time of the oldest question without an answer, as performance.now(). */
  private askedAt: number | null = null;
  /**
   * Least amount by which that machine's clock is ahead of ours, in ms: a deadline there is never later than the
   * one given here.
   */
  private clockAhead = 0;

  constructor(
    readonly machine: string,
    private readonly transport: Transport,
  ) {}

  get state(): LinkState {
    return {
      health: this.health,
      hello: this.lastHello,
      answeredAt: this.lastAnswer?.at ?? null,
      error: this.lastError?.message ?? null,
    };
  }

  hello(): Promise<LinkHello> {
    this.connecting ??= this.connect().finally(() => {
      this.connecting = null;
    });
    return this.connecting;
  }

  call<N extends OperationName>(
    name: N,
    input: OperationInput<N>,
    options: LinkCallOptions,
  ): Promise<OperationOutput<N>> {
    return callOverTransport(this, name, input, options);
  }

  async events(sink: LinkEvents): Promise<Disposable> {
    // A recent answer may have come over an old connection, which is checked first.
    await this.hello();
    const base = await this.ready();
    return openEvents(socketUrl(base, "/ws/json"), base, this.machine, sink);
  }

  toRemoteTime(time: number): number {
    return time + this.clockAhead;
  }

  /**
   * Sends a call and awaits its answer, as long as the machine can be reached.
   * @throws ConnectionLost; WshError machine_unreachable when nothing was sent, outcome_unknown when the answer
   * is too long
   */
  async send(body: string, { access, signal, headers }: CarriedCall): Promise<string> {
    const base = await this.ready();
    const silenceAbort = new AbortController();
    using _watch = this.watch(base, silenceAbort);
    try {
      const response = await this.fetch(base, "/link/call", {
        method: "POST",
        body,
        headers: { "Content-Type": "application/json", ...(access === "observe" ? {} : headers()) },
        signal: signal === undefined ? silenceAbort.signal : AbortSignal.any([signal, silenceAbort.signal]),
      });
      const text = await readLimited(response);
      this.noteAnswer();
      return text;
    } catch (thrown) {
      // A repeated request would get the same answer.
      if (thrown instanceof TooLong) {
        throw new WshError("outcome_unknown", `machine '${this.machine}' answered, but ${thrown.message}`);
      }
      if (signal?.aborted !== true) this.connectionLost(thrown);
      throw new ConnectionLost("the connection was lost", { cause: thrown });
    }
  }

  /** Whether it answers a short question now. */
  async isReachable(): Promise<boolean> {
    const { base } = this.transport;
    if (base === null) return false;
    return this.askHello(base, STALE_MS).then(
      () => true,
      () => false,
    );
  }

  /** A call may take minutes; meanwhile the machine is asked whether it is present. */
  private watch(base: Base, silenceAbort: AbortController): Disposable {
    let unanswered = 0;
    const timer = setInterval(() => {
      if (unanswered++ >= MISSED_PINGS) {
        silenceAbort.abort(new Error("no answer"));
        return;
      }
      this.askHello(base).then(
        () => {
          unanswered = 0;
          this.noteAnswer();
        },
        () => {}, // counted as not answered
      );
    }, intervals.peerPing);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  /** The caller no longer wants an answer, and the machine need not wait for a repetition. */
  cancel(id: string): void {
    const { base } = this.transport;
    if (base === null) return;
    const init = { method: "DELETE", headers: { [REQUEST_HEADER]: id }, signal: AbortSignal.timeout(HELLO_MS) };
    // If it does not arrive, the machine aborts on its own.
    void this.fetch(base, "/link/call", init).catch(() => {});
  }

  dial(target: string, process: DialedProcess = "session"): Dial {
    const called = `${this.machine}/${target}`;
    return {
      called,
      open: async (events) => {
        const path = `/link/stream?${new URLSearchParams({ target, process })}`;
        const again = this.transport.base !== null;
        try {
          const base = await this.ready();
          return await openStream(socketUrl(base, path), base, this.machine, events);
        } catch (thrown) {
          const error = WshError.from(thrown);
          if (error.code !== "machine_unreachable" || !again) throw error;
          // Nothing was sent: the connection was stale.
          this.transport.connectionLost();
          this.lastAnswer = null;
          const base = await this.ready();
          return await openStream(socketUrl(base, path), base, this.machine, events);
        }
      },
    };
  }

  async *examine(): AsyncIterable<LinkStep> {
    for await (const step of this.transport.examine()) {
      yield step;
      if (!step.ok) return;
    }
    try {
      const { version, hostname } = await this.hello();
      yield { step: "version", ok: true, text: `wsh ${version} on ${hostname}, protocol ${PROTOCOL_VERSION}` };
      // A fleet's machine reports its clock with its heartbeats.
      if (this.transport.base?.machine === undefined && this.lastHello?.now !== undefined) yield this.clockStep();
    } catch (thrown) {
      const error = WshError.from(thrown);
      const { step, advice } = failedAt(error);
      yield { step, ok: false, text: error.message, advice };
    }
  }

  private clockStep(): LinkStep {
    const seconds = Math.round(Math.abs(this.clockAhead) / 1_000);
    if (Math.abs(this.clockAhead) <= CLOCK_MS) return { step: "clock", ok: true, text: "agrees with the one here" };
    const text = `${seconds} s ${this.clockAhead > 0 ? "ahead of" : "behind"} the one here`;
    return { step: "clock", ok: true, text, advice: `${UNDECIDED}: certificates depend on them.` };
  }

  async close(): Promise<void> {
    await this.transport.close();
  }

  private get health(): MachineHealth {
    const { lastError } = this;
    if (lastError === null && this.lastHello === null) return "connecting";
    const silentMs = this.askedAt === null ? 0 : performance.now() - this.askedAt;
    if (lastError === null) return silentMs > STALE_MS ? "stale" : "healthy";
    if (lastError.code === "version_mismatch") return "version";
    return isRefusal(lastError.status) ? "rejected" : "unreachable";
  }

  /** The address at which the machine answers. @throws WshError machine_unreachable and others: nothing was sent */
  private async ready(): Promise<Base> {
    const { base } = this.transport;
    const isFresh = this.lastAnswer !== null && performance.now() - this.lastAnswer.tick < FRESH_MS;
    if (base !== null && this.lastHello !== null && isFresh) return base;
    await this.hello();
    const made = this.transport.base;
    if (made === null) throw this.unreachable(null);
    return made;
  }

  private async connect(): Promise<LinkHello> {
    try {
      const before = this.transport.base;
      const hello = before === null ? null : await this.askHello(before).catch(() => null);
      this.lastHello = hello ?? (await this.askReopened());
      this.lastError = null;
      this.noteAnswer();
      return this.lastHello;
    } catch (thrown) {
      this.lastError = WshError.from(thrown);
      this.askedAt = null;
      throw this.lastError;
    }
  }

  /** Asks again while it meets a server that is just ending, after which another one is started. */
  private async askReopened(): Promise<LinkHello> {
    const until = performance.now() + ENDING_MS;
    for (;;) {
      try {
        return await this.askHello(await this.reopened());
      } catch (thrown) {
        const isEnding = thrown instanceof WshError && errorCode(thrown.cause) === "ECONNRESET";
        if (!isEnding || performance.now() > until) throw thrown;
        await Bun.sleep(ENDING_POLL_MS);
      }
    }
  }

  private reopened(): Promise<Base> {
    this.transport.connectionLost();
    return this.transport.open();
  }

  /** @throws WshError */
  private async askHello(base: Base, patienceMs = HELLO_MS): Promise<LinkHello> {
    this.askedAt ??= performance.now();
    let response: Response;
    let text: string;
    try {
      response = await this.fetch(base, "/link", { signal: AbortSignal.timeout(patienceMs) });
      text = await readLimited(response);
    } catch (thrown) {
      throw this.unreachable(thrown);
    }
    if (!response.ok) {
      const error = v.safeParse(v.pipe(v.string(), v.parseJson(), AnswerSchema), text);
      if (error.success && "error" in error.output) throw remoteError(this.machine, error.output.error);
      throw this.notLinkable(`it answered ${response.status}`);
    }
    const hello = v.safeParse(v.pipe(v.string(), v.parseJson(), LinkHelloSchema), text);
    if (!hello.success) throw this.notLinkable("the other end is not a wsh server that can be linked");
    const { wsh, version, now } = hello.output;
    // Read before the answer travelled: the clock there is ahead by at least the time of the way back.
    if (now !== undefined) this.clockAhead = now - Date.now();
    if (wsh === PROTOCOL_VERSION) return hello.output;
    throw new WshError(
      "version_mismatch",
      `machine '${this.machine}' is wsh ${version} and speaks protocol ${wsh}; this is wsh ${VERSION} with protocol ${PROTOCOL_VERSION}`,
      { hint: "Install the same version on both; its sessions keep running." },
    );
  }

  private fetch(base: Base, path: string, init: RequestInit): Promise<Response> {
    const { url, unix, headers, tls } = base;
    return fetch(`${url}${pathAt(base, path)}`, {
      ...init,
      redirect: "error",
      headers: { ...headers, [ASKING_HEADER]: this.id, ...Object(init.headers) },
      ...defined({ unix, tls }),
    });
  }

  private noteAnswer(): void {
    this.askedAt = null;
    this.lastError = null;
    this.lastAnswer = { at: Date.now(), tick: performance.now() };
  }

  private connectionLost(cause: unknown): void {
    this.askedAt = null;
    this.lastError = this.unreachable(cause);
    this.transport.connectionLost();
    if (this.lastAnswer !== null) this.lastAnswer = { ...this.lastAnswer, tick: Number.NEGATIVE_INFINITY };
  }

  unreachable(cause: unknown): WshError {
    const why = cause instanceof Error ? `: ${transportTrouble(cause)}` : "";
    return new WshError(
      "machine_unreachable",
      `machine '${this.machine}' does not answer${why}`,
      { machine: this.machine },
      { cause },
    );
  }

  private notLinkable(why: string): WshError {
    return new WshError("machine_unreachable", `machine '${this.machine}' cannot be used: ${why}`, {
      machine: this.machine,
      hint: "Start wsh of this version there, and check the address.",
    });
  }
}

/** The failed step of the connection, and the way out. */
function failedAt(error: WshError): { readonly step: string; readonly advice: string } {
  switch (error.code) {
    case "version_mismatch":
      return { step: "version", advice: error.hintAt("cli") };
    case "auth_required":
    case "auth_invalid":
    case "access_denied": {
      const advice =
        "There: wsh token create NAME. Here: remove the machine with wsh servers remove, and add it again with that token.";
      return { step: "token", advice };
    }
    case "machine_unreachable":
      return {
        step: "server",
        advice: "There: wsh server --ensure, and wsh doctor; wsh service keeps a server running.",
      };
    default:
      return { step: "server", advice: error.hintAt("cli") };
  }
}

class TooLong extends Error {}

/** @throws TooLong when the answer exceeds the maximum */
async function readLimited(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const { body } = response;
  if (body === null) return "";
  for await (const part of body) {
    size += part.length;
    if (size > MAX_ANSWER_BYTES) throw new TooLong(`the answer exceeds ${MAX_ANSWER_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
