/**
 * The one way to a program's input. Writers (people, calls, answers to queries, reports) take turns; a holder
 * keeps all other bytes back for a moment, in order, and writes alone. What was kept back goes out behind the
 * holder's own when the last hold ends. It is bounded as all waiting input is: more is refused with an error.
 */
import { WshError } from "../protocol/errors.ts";
import { INPUT_LIMIT_BYTES } from "../pty/input-queue.ts";

const PASTE_BEGIN = "\x1b[200~";
const PASTE_END = "\x1b[201~";
/** Characters of a paste marker that may stand at the end of one write, its rest in the next. */
const MARKER_TAIL = PASTE_BEGIN.length - 1;

export interface InputHold extends Disposable {
  /** @throws WshError session_ended, input_send_failed */
  write(bytes: Uint8Array): Promise<void>;
}

interface Kept {
  readonly bytes: Uint8Array;
  readonly done: PromiseWithResolvers<void>;
}

export class InputGate {
  private holder: InputHold | null = null;
  private kept: Kept[] = [];
  private keptBytes = 0;
  /** End of what was written last, as far as a paste marker may begin there. */
  private tail = "";
  private pastes = false;
  /** Writes that the kernel has not taken yet. */
  private writing = 0;

  constructor(private readonly write: (bytes: Uint8Array) => Promise<void>) {}

  /** A bracketed paste has begun, and its end was not written yet. */
  get isPasting(): boolean {
    return this.pastes;
  }

  /** Bytes of earlier writes are still on their way to the kernel. */
  get isWriting(): boolean {
    return this.writing > 0;
  }

  /** Resolves when the kernel has the bytes. @throws WshError session_ended, input_send_failed */
  send(bytes: Uint8Array): Promise<void> {
    if (this.holder === null) return this.pass(bytes);
    if (this.keptBytes + bytes.length > INPUT_LIMIT_BYTES) {
      const message = `input was not sent: ${this.keptBytes} bytes wait already, the limit is ${INPUT_LIMIT_BYTES}`;
      return Promise.reject(new WshError("input_send_failed", message));
    }
    const done = Promise.withResolvers<void>();
    this.kept.push({ bytes: new Uint8Array(bytes), done });
    this.keptBytes += bytes.length;
    return done.promise;
  }

  /** Keeps all other input back until disposed. One at a time. */
  hold(): InputHold {
    if (this.holder !== null) throw new Error("the input is held already");
    const hold: InputHold = {
      write: (bytes) => this.deliver(bytes),
      [Symbol.dispose]: () => {
        if (this.holder !== hold) return;
        this.holder = null;
        this.release();
      },
    };
    this.holder = hold;
    return hold;
  }

  /** Another program reads from here on. */
  reset(): void {
    this.tail = "";
    this.pastes = false;
  }

  private release(): void {
    const { kept } = this;
    this.kept = [];
    this.keptBytes = 0;
    // The queue of the terminal keeps the order: no write has to wait for the one before.
    for (const { bytes, done } of kept) void this.pass(bytes).then(done.resolve, done.reject);
  }

  private pass(bytes: Uint8Array): Promise<void> {
    this.notePaste(bytes);
    return this.deliver(bytes);
  }

  private deliver(bytes: Uint8Array): Promise<void> {
    this.writing++;
    return this.write(bytes).finally(() => this.writing--);
  }

  /** Runs per input. */
  private notePaste(bytes: Uint8Array): void {
    const { tail } = this;
    if (tail === "" && !bytes.includes(0x1b)) return;
    const text = tail + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    const begin = text.lastIndexOf(PASTE_BEGIN);
    const end = text.lastIndexOf(PASTE_END);
    if (begin !== end) this.pastes = begin > end;
    const start = text.lastIndexOf("\x1b");
    this.tail = start >= 0 && text.length - start <= MARKER_TAIL ? text.slice(start) : "";
  }
}
