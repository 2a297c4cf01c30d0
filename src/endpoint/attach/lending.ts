/**
 * Who reads an attached person's terminal: this process, or for a while the process of the pane that they type into. That
 * process gives text to its program and writes the echo where the cursor is, so that a key crosses no other process, as
 * in a session of one pane.
 *
 * What must stay true: one process reads at a time, and keys reach the program in the order in which they were typed;
 * nothing else is written to the terminal before it was asked back. It is lent only while a key of text would reach that
 * program unchanged, and an echo would be the whole next picture. The first key that is no text ends the loan and comes
 * back with it. A process that hangs keeps it no longer than twice LOOK_MS and BACK_MS. What it still wrote after it was asked
 * back is painted over.
 */
import type { LentBack, PersonDevice } from "../../protocol/attach.ts";
import type { PersonTerminal } from "./direct-terminal.ts";
import type { Loan, Shown } from "./shown.ts";

/** Time after a picture that is no echo until the terminal is lent, in ms, two frames: while more come, it would come back at once. */
const RESTLESS_MS = 33;
/** Time without a key after which it is asked back, in ms. */
const IDLE_MS = 2_000;
/** How often a lent terminal is looked at, in ms: for keys that nobody has read, and the time of the last one. */
const LOOK_MS = 250;
/** Longest wait for a process that was asked, in ms: then keys are read here. */
const BACK_MS = 250;

export interface LendingPort {
  keys(bytes: Uint8Array): void;
  /** The person's terminal is gone. */
  ended(): void;
  /** Their client no longer holds it. */
  lost(): void;
  /** Whether a key of text would go to the program of the active pane, and nowhere else. */
  isPlain(): boolean;
  /** The person has typed, and the pane's process has read it. */
  typed(): void;
  /** Nobody knows what the terminal shows. */
  unknown(): void;
}

let nextLoan = 1;

export class Lending {
  private loan: Loan | null = null;
  private id = 0;
  /** Loans that did not come back in time: what is still written there is a surprise. */
  private readonly missing = new Set<number>();
  private isAskedBack = false;
  /** The client has left the keys to us. */
  private reads = false;
  private isRefused = false;
  private restlessAt = Number.NEGATIVE_INFINITY;
  private typedAt = Number.NEGATIVE_INFINITY;
  private timer: Timer | null = null;
  private hadInput = false;

  constructor(
    private readonly terminal: Pick<PersonTerminal, "read" | "stopReading" | "hasInput">,
    private readonly device: PersonDevice,
    private readonly shown: Pick<Shown, "lend">,
    private readonly port: LendingPort,
  ) {}

  /** The client has stopped reading keys. */
  begin(): void {
    this.reads = true;
    if (this.loan === null) this.read();
  }

  /** Nothing is read any more, here or elsewhere, until the next `begin`. */
  end(): void {
    this.reads = false;
    this.recall();
  }

  /** Another process may be writing to the terminal. */
  get isLent(): boolean {
    return this.loan !== null;
  }

  /** An echo was the whole picture: it may be that more follow. */
  echoed(): void {
    const now = performance.now();
    if (this.loan !== null || !this.reads || this.isRefused || now < this.restlessAt + RESTLESS_MS) return;
    if (now > this.typedAt + LOOK_MS || !this.port.isPlain()) return;
    const id = nextLoan++;
    const loan = this.shown.lend?.({ loan: id, terminal: this.device }, () => this.typed()) ?? null;
    if (loan === null) return;
    this.terminal.stopReading();
    this.loan = loan;
    this.id = id;
    this.hadInput = false;
    this.timer = setInterval(() => this.look(), LOOK_MS);
    void loan.over.then((back) => this.returned(loan, back));
  }

  /** Something else is about to be written to the terminal, or a key of text may mean something else now. */
  recall(): void {
    const { loan } = this;
    this.restlessAt = performance.now();
    if (loan === null || this.isAskedBack) return;
    this.isAskedBack = true;
    loan.recall();
    clearInterval(this.timer ?? undefined);
    this.timer = setTimeout(() => {
      this.missing.add(this.id);
      this.returned(loan, null);
    }, BACK_MS);
  }

  /**
   * What the process of a pane says that it has written to a terminal.
   * @returns null: not to this one; whether that was to be expected
   */
  wrote(loan: number): "expected" | "surprise" | null {
    if (this.missing.has(loan)) return "surprise";
    if (loan !== this.id || this.loan === null) return null;
    return this.isAskedBack ? "surprise" : "expected";
  }

  private read(): void {
    const { port } = this;
    const keys = (bytes: Uint8Array): void => {
      this.typedAt = performance.now();
      port.keys(bytes);
    };
    void this.terminal.read(keys, port.ended, port.lost);
  }

  private typed(): void {
    this.typedAt = performance.now();
    this.port.typed();
  }

  private look(): void {
    const hasInput = this.terminal.hasInput;
    const isLeft = hasInput && this.hadInput;
    this.hadInput = hasInput;
    if (isLeft || performance.now() > this.typedAt + IDLE_MS) this.recall();
  }

  private returned(loan: Loan, back: LentBack | null): void {
    if (this.loan === loan) this.settle(back);
    // Even from one that comes too late: nobody else has them.
    if (back === null || back.keys.length === 0) return;
    this.typedAt = performance.now();
    this.port.keys(Uint8Array.from(back.keys));
  }

  private settle(back: LentBack | null): void {
    this.loan = null;
    this.isAskedBack = false;
    clearInterval(this.timer ?? undefined);
    this.timer = null;
    this.isRefused ||= back?.refused === true;
    if (back === null || back.torn === true) this.port.unknown();
    if (this.reads) this.read();
  }
}
