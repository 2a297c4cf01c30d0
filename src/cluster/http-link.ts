/**
 * A link over HTTP and WebSocket: over TCP with a token, or over ssh, whose end is a Unix socket here. Before something
 * is sent that changes anything, the connection is known to answer: it did within FRESH_MS, or is asked.
 */
import * as v from "valibot";
import { getOperation, type OperationInput, type OperationName, type OperationOutput } from "../operations/table.ts";
import type { Caller } from "../protocol/caller.ts";
import { WshError } from "../protocol/errors.ts";
import { type LinkHello, LinkHelloSchema, type MachineHealth } from "../protocol/machines.ts";
import { PROTOCOL_VERSION } from "../protocol/messages.ts";
import { VERSION } from "../protocol/version.ts";
import type { Dial } from "../wire/connection.ts";
import type { Link, LinkCallOptions, LinkState, LinkStep } from "./link.ts";
import { openStream } from "./stream.ts";
import { type Base, socketUrl, type Way } from "./way.ts";

/** Age of an answer up to which the machine is taken to be there, in ms. */
const FRESH_MS = 2_000;
/** Longest wait for the gateway to say who it is, in ms: a round trip around the world, and a busy machine. */
const HELLO_MS = 5_000;
/** Largest answer that is read, in bytes: what an operation returns at most, many times over. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

const AnswerSchema = v.union([
  v.object({ result: v.unknown() }),
  v.object({ error: v.looseObject({ code: v.string(), message: v.string() }) }),
]);

export class HttpLink implements Link {
  private known: LinkHello | null = null;
  private answered: { readonly at: number; readonly tick: number } | null = null;
  private trouble: WshError | null = null;
  private connecting: Promise<LinkHello> | null = null;

  constructor(
    readonly machine: string,
    private readonly way: Way,
  ) {}

  get state(): LinkState {
    return {
      health: this.health,
      hello: this.known,
      answeredAt: this.answered?.at ?? null,
      error: this.trouble?.message ?? null,
    };
  }

  hello(): Promise<LinkHello> {
    this.connecting ??= this.connect().finally(() => {
      this.connecting = null;
    });
    return this.connecting;
  }

  async call<N extends OperationName>(
    name: N,
    input: OperationInput<N>,
    { session, caller, signal }: LinkCallOptions,
  ): Promise<OperationOutput<N>> {
    const operation = getOperation(name);
    const base = await this.ready();
    const body = JSON.stringify({
      op: name,
      input,
      caller: sent(caller),
      ...(session === undefined ? {} : { session }),
    });
    let response: Response;
    let text: string;
    try {
      response = await this.fetch(base, "/link/call", {
        method: "POST",
        body,
        headers: { "Content-Type": "application/json" },
        ...(signal === undefined ? {} : { signal }),
      });
      text = await readLimited(response);
    } catch (thrown) {
      if (signal?.aborted === true) throw new WshError("cancelled", "the caller ended the request");
      this.lost(thrown);
      // Nothing changes there, whether it was done or not.
      if (operation.access === "observe") throw this.unreachable(thrown);
      throw new WshError("outcome_unknown", `machine '${this.machine}' was asked for '${name}' and did not answer`, {
        machine: this.machine,
      });
    }
    this.heard();
    const answer = v.safeParse(v.pipe(v.string(), v.parseJson(), AnswerSchema), text);
    if (!answer.success) throw this.notAnAnswer(name);
    if ("error" in answer.output) {
      const body: Readonly<Record<string, unknown>> = { ...answer.output.error, machine: this.machine };
      throw WshError.fromBody(body);
    }
    const { result } = answer.output;
    if (!v.is(operation.output, result)) throw this.notAnAnswer(name);
    return result as OperationOutput<N>;
  }

  dial(target: string): Dial {
    const called = `${this.machine}/${target}`;
    return {
      called,
      open: async (events) => {
        const path = `/link/stream?target=${encodeURIComponent(target)}`;
        const again = this.way.base !== null;
        try {
          const base = await this.ready();
          return await openStream(socketUrl(base, path), base, this.machine, events);
        } catch (thrown) {
          const error = WshError.from(thrown);
          if (error.code !== "machine_unreachable" || !again) throw error;
          // Nothing was sent: the way was an old one.
          this.way.lost();
          this.answered = null;
          const base = await this.ready();
          return await openStream(socketUrl(base, path), base, this.machine, events);
        }
      },
    };
  }

  async *examine(): AsyncIterable<LinkStep> {
    for await (const step of this.way.examine()) {
      yield step;
      if (!step.ok) return;
    }
    try {
      const { version, hostname } = await this.hello();
      yield { step: "server", ok: true, text: `wsh ${version} on ${hostname}, protocol ${PROTOCOL_VERSION}` };
    } catch (thrown) {
      const error = WshError.from(thrown);
      yield { step: "server", ok: false, text: error.message, advice: error.hintAt("cli") };
    }
  }

  async close(): Promise<void> {
    await this.way.close();
  }

  private get health(): MachineHealth {
    const { trouble } = this;
    if (trouble === null) return this.known === null ? "connecting" : "healthy";
    if (trouble.code === "host_version") return "version";
    return trouble.status === 401 || trouble.status === 403 ? "rejected" : "unreachable";
  }

  /** Where the machine answers. @throws WshError machine_unreachable and others: nothing was sent */
  private async ready(): Promise<Base> {
    const { base } = this.way;
    const isFresh = this.answered !== null && performance.now() - this.answered.tick < FRESH_MS;
    if (base !== null && this.known !== null && isFresh) return base;
    await this.hello();
    const made = this.way.base;
    if (made === null) throw this.unreachable(null);
    return made;
  }

  private async connect(): Promise<LinkHello> {
    try {
      const before = this.way.base;
      const hello = before === null ? null : await this.ask(before).catch(() => null);
      this.known = hello ?? (await this.ask(await this.reopened()));
      this.trouble = null;
      this.heard();
      return this.known;
    } catch (thrown) {
      this.trouble = WshError.from(thrown);
      throw this.trouble;
    }
  }

  private reopened(): Promise<Base> {
    this.way.lost();
    return this.way.open();
  }

  /** @throws WshError */
  private async ask(base: Base): Promise<LinkHello> {
    let response: Response;
    let text: string;
    try {
      response = await this.fetch(base, "/link", { signal: AbortSignal.timeout(HELLO_MS) });
      text = await readLimited(response);
    } catch (thrown) {
      throw this.unreachable(thrown);
    }
    if (!response.ok) {
      const error = v.safeParse(v.pipe(v.string(), v.parseJson(), AnswerSchema), text);
      if (error.success && "error" in error.output) throw WshError.fromBody(error.output.error);
      throw this.foreign(`it answered ${response.status}`);
    }
    const hello = v.safeParse(v.pipe(v.string(), v.parseJson(), LinkHelloSchema), text);
    if (!hello.success) throw this.foreign("what answers is no wsh that can be linked");
    const { wsh, version } = hello.output;
    if (wsh === PROTOCOL_VERSION) return hello.output;
    throw new WshError(
      "host_version",
      `machine '${this.machine}' is wsh ${version} and speaks protocol ${wsh}; this is wsh ${VERSION} with protocol ${PROTOCOL_VERSION}`,
      { hint: "Install the same version on both; its sessions go on meanwhile." },
    );
  }

  private fetch(base: Base, path: string, init: RequestInit): Promise<Response> {
    const { url, unix, headers, tls } = base;
    return fetch(`${url}${path}`, {
      ...init,
      redirect: "error",
      headers: { ...headers, ...Object(init.headers) },
      ...(unix === undefined ? {} : { unix }),
      ...(tls === undefined ? {} : { tls }),
    });
  }

  private heard(): void {
    this.trouble = null;
    this.answered = { at: Date.now(), tick: performance.now() };
  }

  private lost(cause: unknown): void {
    this.trouble = this.unreachable(cause);
    this.way.lost();
    if (this.answered !== null) this.answered = { ...this.answered, tick: Number.NEGATIVE_INFINITY };
  }

  private unreachable(cause: unknown): WshError {
    const why = cause instanceof Error ? `: ${cause.message}` : "";
    return new WshError(
      "machine_unreachable",
      `machine '${this.machine}' does not answer${why}`,
      { machine: this.machine },
      { cause },
    );
  }

  private foreign(why: string): WshError {
    return new WshError("machine_unreachable", `machine '${this.machine}' cannot be used: ${why}`, {
      machine: this.machine,
      hint: "Start wsh of this version there, and check the address.",
    });
  }

  /** It was carried out there, with whatever result. */
  private notAnAnswer(name: string): WshError {
    return new WshError("outcome_unknown", `machine '${this.machine}' gave no possible answer to '${name}'`, {
      machine: this.machine,
    });
  }
}

function sent({ kind, id, name }: Caller): object {
  return { kind, id, ...(name === undefined ? {} : { name }) };
}

/** @throws Error when there is more than an answer can be */
async function readLimited(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const { body } = response;
  if (body === null) return "";
  for await (const part of body) {
    size += part.length;
    if (size > MAX_ANSWER_BYTES) throw new Error(`the answer has over ${MAX_ANSWER_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
