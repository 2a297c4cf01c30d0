/**
 * Sends the copies of programs and of the person at one terminal to their destinations. A client that writes the
 * system's clipboard itself and falls behind gets only the newest copy when it reads again.
 */
import type { Caller } from "../../protocol/caller.ts";
import { present } from "../../protocol/defined.ts";
import type { ClipboardCopy } from "../../protocol/frame.ts";
import { messageTypes } from "../../protocol/messages.ts";
import { agentOfCaller } from "../../protocol/owner.ts";
import type { Session } from "../../session/session.ts";
import type { Peer } from "../../wire/peer.ts";

/** Selections of OSC 52 that include the clipboard: none, `c`, `s`; not X11's primary selection alone. */
const clipboardSelections = /^$|[cs]/;

interface CopiesOptions {
  readonly viewer: number;
  /** Whether the client writes the system's clipboard itself. */
  readonly hasClientClipboard: boolean;
  /** Whether programs' clipboard writes reach the terminal. */
  mayProgramsCopy(): boolean;
  /** Whether the session stores copies made in copy mode. */
  readonly storesCopies: boolean;
  /** The copy is sent to the terminal with its next picture. */
  sendWithPicture(copied: ClipboardCopy): void;
}

export class Copies {
  private pendingCopy: string | null = null;

  constructor(
    private readonly session: Session,
    private readonly peer: Peer,
    /** The user of the terminal. */
    private readonly caller: Caller,
    private readonly options: CopiesOptions,
  ) {}

  copyFromProgram(copied: ClipboardCopy): void {
    const { viewer, mayProgramsCopy, sendWithPicture } = this.options;
    if (!mayProgramsCopy()) return;
    sendWithPicture(copied);
    if (this.session.viewers.inUse === viewer && clipboardSelections.test(copied.selection))
      this.queueForClient(copied.base64);
  }

  /** Text was copied in copy mode. */
  copyFromPerson(text: string): void {
    const { storesCopies, sendWithPicture } = this.options;
    const agent = agentOfCaller(this.caller);
    const base64 = Buffer.from(text).toString("base64");
    const copied = { selection: "c", base64, ...present({ agent }) };
    if (storesCopies) this.session.buffers.storeCopy(copied);
    sendWithPicture(copied);
    this.queueForClient(base64);
  }

  /** Sends the pending copy if the client can read again. */
  sendPending(): void {
    const { pendingCopy: base64, peer } = this;
    if (base64 === null || peer.outbox.pending > 0 || peer.isClosed) return;
    this.pendingCopy = null;
    peer.send(messageTypes.event, { event: "copied", base64 });
  }

  private queueForClient(base64: string): void {
    if (!this.options.hasClientClipboard) return;
    this.pendingCopy = base64;
    this.sendPending();
  }
}
