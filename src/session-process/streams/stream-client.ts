/**
 * A session's streaming client that is not a terminal: a WebSocket, in the session process. It counts as a client while
 * its connection lives, has at most one subscription or raw stream, and is notified of the session's end.
 */

import * as v from "valibot";
import { requireMayHear } from "../../operations/rights.ts";
import { type Access, accessCovers } from "../../protocol/caller.ts";
import type { StreamEnd } from "../../protocol/control.ts";
import { SubscriptionSchema } from "../../protocol/events.ts";
import { messageTypes, type WireMessage } from "../../protocol/messages.ts";
import type { Owner } from "../../protocol/owner.ts";
import { parse } from "../../protocol/parse.ts";
import type { Peer } from "../../wire/peer.ts";
import type { LocalPane } from "../panes/local-pane.ts";
import type { ClientEnd } from "./client-end.ts";
import { RawSchema, RawStream } from "./raw-stream.ts";
import { SessionSubscription } from "./subscription.ts";

export class StreamClient {
  private stream: SessionSubscription | RawStream | null = null;
  private isOver = false;
  private readonly unsubscribers: (() => void)[];

  constructor(
    readonly local: LocalPane,
    private readonly peer: Peer,
  ) {
    const { ownSession, session } = local;
    peer.onDrain = () => this.stream?.drained();
    this.unsubscribers = [
      session.openStream(),
      ownSession.events.on("exited", (exit) => {
        if (ownSession.lifetime.isEnding) this.stream?.close();
        else this.programExited(exit);
      }),
      ownSession.events.on("destroyed", ({ reason, exit }) => {
        this.end({ reason, exit_code: exit.code, signal: exit.signal });
      }),
    ];
  }

  /**
   * Replaces the earlier subscription. A message `{event: "subscribed", call}` marks the start of the new one, so that
   * the gateway can answer before the first event.
   * @throws WshError invalid_request, access_denied
   */
  async subscribe(input: unknown, access: Access): Promise<void> {
    const { call, ...options } = parse(v.object({ ...SubscriptionSchema.entries, call: v.number() }), input);
    requireMayHear({ access }, options.events);
    const earlierStream = this.stream;
    const onBegun = (): void => {
      earlierStream?.close();
      this.peer.send(messageTypes.event, { event: "subscribed", call });
    };
    if (options.events.length === 0) {
      this.stream = null;
      onBegun();
      return;
    }
    this.stream = await SessionSubscription.open(this.local, this.peer, options, onBegun);
    if (this.isOver) this.stream.close();
  }

  /** @param agent null: the caller is no AI agent @throws WshError invalid_request */
  async openRaw(input: unknown, access: Access, agent: Owner | null): Promise<void> {
    const rawOptions = parse(RawSchema, input);
    const options = { ...rawOptions, read_only: rawOptions.read_only || !accessCovers(access, "operate") };
    this.stream?.close();
    this.stream = await RawStream.open(this.local.pane, this.peer, options, agent, (end) => this.end(end));
    if (this.isOver) this.stream.close();
  }

  receive(message: WireMessage): void {
    if (message.type === messageTypes.end) {
      this.close();
      this.peer.finish();
    } else if (this.stream instanceof RawStream) this.stream.receive(message);
  }

  /** The connection is gone. */
  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.stream?.close();
    for (const unsubscribe of this.unsubscribers) unsubscribe();
  }

  private programExited(exit: { readonly code: number | null; readonly signal: string | null }): void {
    this.stream?.finish(exit);
    this.end({ reason: "exited", exit_code: exit.code, signal: exit.signal });
  }

  private end(end: ClientEnd): void {
    if (this.isOver) return;
    this.close();
    this.peer.send(messageTypes.end, { ...end, name: this.local.session.name } satisfies StreamEnd);
    this.peer.finish();
  }
}
