/**
 * Sends the copies of programs and of the person at one terminal to their destinations. A client that writes the
 * system's clipboard itself and falls behind gets only the newest copy when it reads again.
 */
import { messageTypes } from "../../protocol/messages.ts";
import type { Session } from "../../session/session.ts";
import type { Peer } from "../../wire/peer.ts";

/** Selections of OSC 52 that include the clipboard: none, `c`, `s`; not X11's primary selection alone. */
const CLIPBOARDS = /^$|[cs]/;

interface Copied {
  readonly selection: string;
  readonly base64: string;
}

interface CopiesOptions {
  readonly viewer: number;
  /** Whether the client writes the system's clipboard itself. */
  readonly isWanted: boolean;
  /** Whether programs' clipboard writes reach the terminal. */
  programs(): boolean;
  /** Whether the session stores the person's copies. */
  readonly storesCopies: boolean;
  /** The copy is sent to the terminal with its next picture. */
  rendered(copied: Copied): void;
}

export class Copies {
  private pendingCopy: string | null = null;

  constructor(
    private readonly session: Session,
    private readonly peer: Peer,
    private readonly options: CopiesOptions,
  ) {}

  /** A program has copied something. */
  byProgram(copied: Copied): void {
    const { viewer, programs, rendered } = this.options;
    if (!programs()) return;
    rendered(copied);
    if (this.session.viewers.inUse === viewer && CLIPBOARDS.test(copied.selection)) this.queueForClient(copied.base64);
  }

  /** The person has copied text in copy mode. */
  byPerson(text: string): void {
    const base64 = Buffer.from(text).toString("base64");
    if (this.options.storesCopies) this.session.buffers.tryStore(text);
    this.options.rendered({ selection: "c", base64 });
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
    if (!this.options.isWanted) return;
    this.pendingCopy = base64;
    this.sendPending();
  }
}
