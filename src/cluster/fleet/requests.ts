/**
 * Requests of this process over the fleet's NATS servers, and their answers, which may arrive in pieces. A
 * request ends with its answer, for lack of a receiver (nothing was executed), with the loss of its machine or of
 * the connection (it may have been executed), or when its caller cancels it, of which the machine is notified. An
 * answer is authentic because the NATS servers let only the asked machine write it.
 */
import { defined } from "../../protocol/defined.ts";
import { headerNames, MAX_PARTS, parsePart } from "../../protocol/fleet-messages.ts";
import { ASKING_HEADER } from "../../protocol/requests.ts";
import type { FleetConnection, FleetMessage } from "./connection.ts";

/** Largest answer that is read, in bytes, as on every other link. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Interval between liveness checks of the asked machine, in ms. */
const LIVENESS_CHECK_MS = 1_000;
/** Time in which a server reports a message without a receiver, in ms: a round trip, and a busy machine. */
const NO_RECEIVER_MS = 5_000;
/** NATS's status for a message without a receiver. */
const NO_RESPONDERS = 503;

type RequestOutcome =
  | { readonly kind: "answer"; readonly text: string }
  /** Nothing was done: no receiver, the machine was restarted with another incarnation, or the servers refuse it. */
  | { readonly kind: "nobody" | "refused" | "denied" | "too_large" | "not_sent" }
  | { readonly kind: "lost" | "cancelled" | "not_an_answer" };

interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the asked machine is lost; checked while the answer is awaited. */
  readonly isGone?: () => boolean;
  /** The request can be cancelled under this key. */
  readonly key?: string;
  readonly signal?: AbortSignal;
  /** Longest wait, in ms; absent: while the machine is present. */
  readonly patienceMs?: number;
  /** Called when another incarnation than the intended one refuses it. @returns whether the intended one is gone */
  readonly refusedBy?: (boot: string) => Promise<boolean>;
}

interface PendingRequest {
  /** The asked machine. */
  readonly machine: string;
  readonly subject: string;
  readonly boot: string;
  /** By performance.now(), in ms. */
  readonly askedAt: number;
  readonly isGone?: (() => boolean) | undefined;
  readonly refusedBy: AskOptions["refusedBy"];
  readonly parts: Uint8Array[];
  bytes: number;
  missing: number;
  end(outcome: RequestOutcome): void;
}

export class FleetRequests {
  private readonly pending = new Map<string, PendingRequest>();
  /** Checks that the asked machines are still present while answers are missing; one timer for all. */
  private livenessTimer: Timer | null = null;
  private nextReply = 1;
  private readonly askingHeader = { [ASKING_HEADER]: crypto.randomUUID() };

  constructor(private readonly connection: FleetConnection) {
    connection.subscribe(connection.inboxOf("*", "*"), (message) => this.received(message));
  }

  /** @param machine the answering machine, or `$js` */
  async request(machine: string, subject: string, body: string, options: AskOptions = {}): Promise<RequestOutcome> {
    const { headers = {}, isGone, key, signal, patienceMs, refusedBy } = options;
    if (signal?.aborted === true) return { kind: "cancelled" };
    const reply = this.connection.inboxOf(machine, String(this.nextReply++));
    const outcome = Promise.withResolvers<RequestOutcome>();
    let timeout: Timer | null = null;
    const sent = {
      reply,
      headers: { ...headers, ...this.askingHeader, ...defined({ [headerNames.key]: key }) },
    };
    const cancel = (): void => {
      this.connection.publish(subject, "", { reply, headers: { ...sent.headers, [headerNames.control]: "cancel" } });
      outcome.resolve({ kind: "cancelled" });
    };
    this.expect(reply, { machine, subject, isGone, refusedBy, end: outcome.resolve }, headers);
    this.livenessTimer ??= setInterval(() => this.checkLiveness(), LIVENESS_CHECK_MS).unref();
    try {
      if (Buffer.byteLength(body) > this.connection.maxBytes - 4096) {
        return this.connection.isUp ? { kind: "too_large" } : { kind: "not_sent" };
      }
      if (!this.connection.publish(subject, body, sent)) return { kind: "not_sent" };
      signal?.addEventListener("abort", cancel, { once: true });
      if (patienceMs !== undefined) timeout = setTimeout(() => outcome.resolve({ kind: "lost" }), patienceMs);
      return await outcome.promise;
    } finally {
      if (timeout !== null) clearTimeout(timeout);
      signal?.removeEventListener("abort", cancel);
      this.pending.delete(reply);
    }
  }

  /** Sends a message without an answer; `nobody` is called if it has no receiver. */
  announce(
    machine: string,
    subject: string,
    body: Uint8Array,
    headers: Readonly<Record<string, string>>,
    nobody: () => void,
  ): boolean {
    const reply = this.connection.inboxOf(machine, String(this.nextReply++));
    const end = (outcome: RequestOutcome): void => {
      clearTimeout(timer);
      this.pending.delete(reply);
      if (outcome.kind !== "lost") nobody();
    };
    const timer = setTimeout(() => this.pending.delete(reply), NO_RECEIVER_MS);
    this.expect(reply, { machine, subject, refusedBy: async () => true, end }, headers);
    return this.connection.publish(subject, body, { reply, headers: { ...headers, ...this.askingHeader } });
  }

  private expect(
    reply: string,
    asked: Pick<PendingRequest, "machine" | "subject" | "isGone" | "refusedBy" | "end">,
    headers: Readonly<Record<string, string>>,
  ): void {
    const boot = headers[headerNames.boot] ?? "";
    this.pending.set(reply, { ...asked, boot, askedAt: performance.now(), parts: [], bytes: 0, missing: 0 });
  }

  private checkLiveness(): void {
    if (this.pending.size === 0) {
      clearInterval(this.livenessTimer ?? undefined);
      this.livenessTimer = null;
    }
    // Recent requests are skipped: a list sends thousands at once.
    const before = performance.now() - LIVENESS_CHECK_MS / 2;
    for (const { askedAt, isGone, end } of [...this.pending.values()]) {
      if (askedAt <= before && isGone?.() === true) end({ kind: "lost" });
    }
  }

  /**
   * The connection is lost, this process's or a machine's: pending requests may have been executed.
   * @param machine the asked machine; absent: all
   */
  connectionLost(machine?: string): void {
    for (const each of [...this.pending.values()]) {
      if (machine === undefined || each.machine === machine) each.end({ kind: "lost" });
    }
  }

  /** The servers refused messages to a subject. */
  denied(subject: string): void {
    for (const each of [...this.pending.values()]) if (each.subject === subject) each.end({ kind: "denied" });
  }

  private received(message: FleetMessage): void {
    const pending = this.pending.get(message.subject);
    if (pending === undefined) return;
    if (message.status === NO_RESPONDERS) {
      pending.end({ kind: "nobody" });
      return;
    }
    if (message.header(headerNames.refused) !== "") {
      const responder = message.header(headerNames.boot);
      // A refusal from the intended incarnation itself does not count: it would have answered.
      if (responder === pending.boot) return;
      void pending.refusedBy?.(responder).then((isGone) => isGone && pending.end({ kind: "refused" }));
      return;
    }
    const part = message.header(headerNames.part);
    const position = part === "" ? { index: 0, of: 1 } : parsePart(part);
    const { data } = message;
    pending.bytes += data.length;
    if (position === null || pending.bytes > MAX_ANSWER_BYTES || pending.parts[position.index] !== undefined) {
      pending.end({ kind: "not_an_answer" });
      return;
    }
    if (position.of === 1) {
      pending.end({ kind: "answer", text: Buffer.from(data.buffer, data.byteOffset, data.length).toString("utf8") });
      return;
    }
    if (pending.missing === 0) pending.missing = position.of;
    pending.parts[position.index] = new Uint8Array(data);
    if (--pending.missing > 0) return;
    pending.end({ kind: "answer", text: Buffer.concat(pending.parts.slice(0, MAX_PARTS)).toString("utf8") });
  }
}
