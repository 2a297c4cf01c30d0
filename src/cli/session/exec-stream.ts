/**
 * A command's complete output as it arrives, over a separate connection. While the reader of the output does not read,
 * this process does not either, and the session process applies its own policy. The stream is opened before the command
 * starts, so that nothing is missed, and then follows the command's id.
 */

import * as v from "valibot";
import { orUntil } from "../../base/deadline.ts";
import type { Instance } from "../../instance/paths.ts";
import { type CommandRecord, CommandRecordSchema } from "../../protocol/commands.ts";
import { EventSchema } from "../../protocol/control.ts";
import { WshError } from "../../protocol/errors.ts";
import { messageJson, messageTypes, type WireMessage } from "../../protocol/messages.ts";
import { cliCaller, SessionClient } from "./client.ts";

/** Bytes not printed yet at which reading stops. */
const ENOUGH_BYTES = 256 * 1024;

const EndedSchema = v.object({ record: CommandRecordSchema, omitted_lines: v.number() });

export class ExecStream implements Disposable {
  /** Number of dropped lines, known when the command has ended. */
  omittedLines = 0;

  private client: SessionClient | null = null;
  private queue: Uint8Array[] = [];
  private queued = 0;
  private printing = false;
  /** Whether the followed command is known. */
  private isFollowing = false;
  private record: CommandRecord | null = null;
  private isLost = false;
  /** Bytes printed, and bytes that arrive again and are skipped. */
  private printed = 0;
  private skipped = 0;
  private ended = Promise.withResolvers<void>();

  private constructor(
    private readonly session: SessionClient,
    private readonly print: (bytes: Uint8Array) => Promise<void>,
  ) {}

  /**
   * Follows the next command.
   * @throws WshError as SessionClient.open; machine_unreachable when the connection there is lost: nothing was started
   */
  static async open(
    instance: Instance,
    session: SessionClient,
    print: (bytes: Uint8Array) => Promise<void>,
  ): Promise<ExecStream> {
    const stream = new ExecStream(session, print);
    for (let isAgain = false; ; isAgain = true) {
      const client = await stream.connect(instance);
      try {
        await stream.requestOutput(null);
        return stream;
      } catch (thrown) {
        const isLost = (): boolean => client.connection.isClosed;
        if (session.machine === null) throw thrown;
        if (isLost() && !isAgain) continue;
        const { throwLost } = await import("./remote-request.ts");
        throwLost(session.machine, thrown, { isLost });
      }
    }
  }

  private async connect(instance: Instance): Promise<SessionClient> {
    this.client?.[Symbol.dispose]();
    const client = await SessionClient.open(instance, this.session.info?.pane_id ?? this.session.name, {
      message: (message) => this.receive(message),
      close: () => this.closed(),
    });
    // The earlier connection's loss no longer counts.
    this.ended = Promise.withResolvers<void>();
    this.isLost = client.connection.isClosed;
    this.client = client;
    return client;
  }

  private closed(): void {
    this.isLost = true;
    this.settle();
  }

  /**
   * Prints the output of command `id` until it has ended.
   * @returns its record: ended, or running when it was aborted
   * @throws WshError session_unavailable when the session or the pane ends meanwhile
   */
  async follow(id: number, signal: AbortSignal): Promise<CommandRecord> {
    await this.requestOutput(id);
    this.isFollowing = true;
    void this.pump();
    this.settle();
    await orUntil(this.ended.promise, { signal }, () => {});
    if (this.record !== null && this.queued === 0) return this.record;
    if (!signal.aborted) throw new WshError("session_unavailable", `${this.session.endSubject} is gone`);
    return this.session.call("commands.get", { id });
  }

  /** Continues after the printed output, over another connection. @throws as `open` and `follow` */
  async followAgain(instance: Instance, id: number, signal: AbortSignal): Promise<CommandRecord> {
    this.isFollowing = false;
    this.record = null;
    this.skipped = this.printed;
    await this.connect(instance);
    return this.follow(id, signal);
  }

  [Symbol.dispose](): void {
    this.client?.[Symbol.dispose]();
  }

  private async requestOutput(id: number | null): Promise<void> {
    const { machine } = this.session;
    const context = { caller: cliCaller, access: "admin", target: this.client?.pane ?? "" } as const;
    await this.client?.connection.request("peer.follow", { id }, context).catch(async (thrown) => {
      if (machine === null || !(thrown instanceof WshError)) throw thrown;
      throw (await import("../../cluster/checked-answer.ts")).remoteError(machine, thrown.toBody());
    });
  }

  private receive(message: WireMessage): void {
    if (message.type === messageTypes.output) {
      this.queue.push(message.payload);
      this.queued += message.payload.length;
      if (this.isFollowing && this.queued > ENOUGH_BYTES) this.client?.connection.pause();
      void this.pump();
      return;
    }
    if (message.type !== messageTypes.event) return;
    const event = messageJson(message);
    const kind = v.parse(EventSchema, event).event;
    if (kind === "following") {
      // Earlier output was another command's.
      this.queue = [];
      this.queued = 0;
      this.record = null;
    } else if (kind === "command_ended") {
      const { record, omitted_lines } = v.parse(EndedSchema, event);
      this.record = record;
      this.omittedLines = omitted_lines;
      this.settle();
    }
  }

  private async pump(): Promise<void> {
    if (this.printing || !this.isFollowing) return;
    this.printing = true;
    while (this.queued > 0) {
      const bytes = Buffer.concat(this.queue);
      this.queue = [];
      const fresh = bytes.subarray(this.skipped);
      this.skipped -= bytes.length - fresh.length;
      if (fresh.length > 0) await this.print(fresh);
      this.printed += fresh.length;
      this.queued -= bytes.length;
      if (this.queued <= ENOUGH_BYTES) this.client?.connection.resume();
    }
    this.printing = false;
    this.settle();
  }

  private settle(): void {
    if (this.isFollowing && this.queued === 0 && (this.record !== null || this.isLost)) this.ended.resolve();
    if (!this.isFollowing && this.isLost) this.ended.resolve();
  }
}
