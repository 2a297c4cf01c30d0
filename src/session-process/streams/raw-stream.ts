/**
 * A session's output as bytes, for programs: parsed output is sent, received bytes are typed. Such a client decides no
 * size. One that does not keep up gets nothing until it has read everything sent, then a repaint of the newest screen;
 * one whose input the program does not accept gets an error and is closed, since bytes are lost.
 */
import * as v from "valibot";
import type { Pane } from "../../pane/pane.ts";
import { WshError } from "../../protocol/errors.ts";
import { messageTypes, type WireMessage } from "../../protocol/messages.ts";
import type { Owner } from "../../protocol/owner.ts";
import { BEHIND_BYTES } from "../../wire/outbox.ts";
import type { Peer } from "../../wire/peer.ts";
import type { ClientEnd } from "./client-end.ts";

/** Soft reset, normal screen, home and clear: the start of a repaint. */
const REPAINT_START = new TextEncoder().encode("\x1b[!p\x1b[?6l\x1b[r\x1b[?1049l\x1b[0m\x1b[H\x1b[2J");

export const RawSchema = v.object({
  /** A repaint of the current screen comes first. */
  snapshot: v.optional(v.boolean(), false),
  /** Input is refused. */
  read_only: v.boolean(),
});

export class RawStream {
  private isBehind = false;
  private isOver = false;
  private readonly unsubscribe: () => void;

  private constructor(
    private readonly pane: Pane,
    private readonly peer: Peer,
    private readonly readOnly: boolean,
    /** Null: its client is no AI agent. */
    private readonly agent: Owner | null,
    private readonly endStream: (end: ClientEnd) => void,
  ) {
    this.unsubscribe = pane.events.on("chunk", ({ bytes }) => this.send(bytes));
  }

  /** Begins between two chunks, so that nothing is lost or repeated after the snapshot. */
  static open(
    pane: Pane,
    peer: Peer,
    options: v.InferOutput<typeof RawSchema>,
    agent: Owner | null,
    end: (end: ClientEnd) => void,
  ): Promise<RawStream> {
    return pane.terminal.whenAtRest(() => {
      const stream = new RawStream(pane, peer, options.read_only, agent, end);
      if (options.snapshot) stream.repaint();
      return stream;
    });
  }

  receive(message: WireMessage): void {
    if (this.isOver || message.type !== messageTypes.input) return;
    if (this.readOnly) {
      this.endStream({ reason: "access_denied" });
      return;
    }
    // Does not count as activity, and ignores the input mode (docs/protocol.md, Raw bytes).
    this.pane.sendRaw(message.payload, this.agent).catch((thrown) => {
      if (WshError.from(thrown).code !== "session_ended") this.endStream({ reason: "input_refused" });
    });
  }

  drained(): void {
    if (!this.isBehind || this.isOver) return;
    void this.pane.terminal.whenAtRest(() => {
      if (this.isOver) return;
      this.isBehind = false;
      this.repaint();
    });
  }

  /** The program has ended: sends its last screen if the reader missed something. */
  finish(): void {
    if (this.isBehind && !this.isOver) this.repaint();
    this.close();
  }

  close(): void {
    this.isOver = true;
    this.unsubscribe();
  }

  private repaint(): void {
    this.peer.sendBytes(messageTypes.output, REPAINT_START);
    this.peer.sendBytes(messageTypes.output, this.pane.terminal.serialize({ history: 0 }));
  }

  private send(bytes: Uint8Array): void {
    if (this.isBehind || this.isOver || bytes.length === 0) return;
    this.peer.sendBytes(messageTypes.output, bytes);
    this.isBehind = this.peer.outbox.pending > BEHIND_BYTES;
  }
}
