/**
 * One command's output for the command line: rendered text, complete and in order, then how the command ended. A slow
 * reader holds up the program of a session without other viewers, as a pipe would. In a shared session nothing is
 * delayed: output that exceeds the queue is dropped and counted. The session remains until the reader has everything.
 */

import * as v from "valibot";
import type { CommandFollower } from "../../pane/commands/command-follower.ts";
import { messageTypes } from "../../protocol/messages.ts";
import { parse } from "../../protocol/parse.ts";
import { BEHIND_BYTES } from "../../wire/outbox.ts";
import type { Peer } from "../../wire/peer.ts";
import type { LocalPane } from "../panes/local-pane.ts";

/** Maximum pending bytes when the program must not be held. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;

const FollowSchema = v.object({
  /** Null: the next command that starts. */
  id: v.nullable(v.number()),
});

const encoder = new TextEncoder();

export class CommandStream {
  private follower: CommandFollower | null = null;
  private outputHold: Disposable | null = null;
  private isDropping = false;
  private omittedLines = 0;
  private readonly unsubscribers: (() => void)[];

  constructor(
    private readonly local: LocalPane,
    private readonly peer: Peer,
  ) {
    peer.onDrain = () => this.drained();
    const { ownSession, session } = local;
    this.unsubscribers = [
      session.events.on("info", () => this.releaseOutputForOthers()),
      ownSession.lifetime.delayEnd(),
      session.lifetime.delayEnd(),
      // The end of the whole session includes the reason.
      ownSession.events.on("destroyed", () => session.lifetime.isEnding || peer.finish()),
    ];
  }

  /**
   * Begins, or begins again with another command; output before an event `following` belongs to another command.
   * @throws WshError invalid_request, command_not_found, invalid_cursor
   */
  follow(input: unknown): Record<string, never> {
    const { id } = parse(FollowSchema, input);
    const { local, peer } = this;
    const { pane, ownSession } = local;
    if (id === null || this.follower?.id !== id) {
      this.follower?.close();
      this.omittedLines = 0;
      peer.send(messageTypes.event, { event: "following", id });
      this.follower = pane.commands.follow(id, {
        text: (text) => this.send(text),
        omitted: (lines) => {
          this.omittedLines += lines;
        },
        ended: (record) => {
          // When the session is ending, the end of the connection reports it.
          if (ownSession.lifetime.isEnding) return;
          peer.send(messageTypes.event, { event: "command_ended", record, omitted_lines: this.omittedLines });
        },
      });
    }
    if (id !== null) pane.lifetime.releaseFollowerHold();
    return {};
  }

  receive(): void {}

  /** The connection is gone. */
  close(): void {
    this.follower?.close();
    this.releaseOutput();
    for (const unsubscribe of this.unsubscribers) unsubscribe();
  }

  private send(text: string): void {
    const { peer, local } = this;
    if (this.isDropping) {
      for (let index = text.indexOf("\n"); index >= 0; index = text.indexOf("\n", index + 1)) this.omittedLines++;
      return;
    }
    peer.sendBytes(messageTypes.output, encoder.encode(text));
    const { pending } = peer.outbox;
    if (pending > BEHIND_BYTES && this.mayHold) this.outputHold ??= local.pane.holdOutput();
    this.isDropping = pending > MAX_PENDING_BYTES;
  }

  private drained(): void {
    this.isDropping = false;
    this.releaseOutput();
  }

  /** Whether output may be held: the program is one command, and no other client follows the session. */
  private get mayHold(): boolean {
    const { session, ownSession, pane } = this.local;
    return (
      !ownSession.lifetime.isHangingUp &&
      pane.runsOneCommand &&
      session.viewers.count === 0 &&
      session.streamCount === 0
    );
  }

  private releaseOutputForOthers(): void {
    if (this.outputHold !== null && !this.mayHold) this.releaseOutput();
  }

  private releaseOutput(): void {
    this.outputHold?.[Symbol.dispose]();
    this.outputHold = null;
  }
}
