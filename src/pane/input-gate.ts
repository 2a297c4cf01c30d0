/**
 * The only path to a program's input. Writers (people, calls, answers to queries, reports) take turns; a holder keeps
 * all other bytes back for a moment, in order, and writes alone. Held bytes are written after the holder's own when the
 * last hold ends. They are bounded like all pending input: further input is refused with an error.
 */
import { WshError } from "../protocol/errors.ts";
import { PASTE_END } from "../protocol/pasted-text.ts";
import { INPUT_LIMIT_BYTES } from "../pty/input-queue.ts";
import { EditorInput } from "./editor-input.ts";

const pasteEnd = new TextEncoder().encode(PASTE_END);

export interface InputHold extends Disposable {
  /** @throws WshError session_ended, input_send_failed */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends an open paste. @throws WshError session_ended, input_send_failed */
  endPaste(): Promise<void>;
}

interface HeldInput {
  readonly bytes: Uint8Array;
  readonly done: PromiseWithResolvers<void>;
}

export class InputGate {
  private holder: InputHold | null = null;
  private heldInput: HeldInput[] = [];
  private heldBytes = 0;
  /** The input of everyone except a holder. */
  readonly editor = new EditorInput();
  /** Writes that the kernel has not accepted. */
  private pendingWrites = 0;

  constructor(
    private readonly write: (bytes: Uint8Array) => Promise<void>,
    /** Called when input other than a holder's is written. */
    private readonly onPass: () => void,
  ) {}

  /** Whether bytes of earlier writes have not reached the kernel. */
  get isWriting(): boolean {
    return this.pendingWrites > 0;
  }

  /** Resolves when the kernel has the bytes. @throws WshError session_ended, input_send_failed */
  send(bytes: Uint8Array): Promise<void> {
    if (this.holder === null) return this.passThrough(bytes);
    if (this.heldBytes + bytes.length > INPUT_LIMIT_BYTES) {
      const message = `input was not sent: ${this.heldBytes} bytes are already queued; the limit is ${INPUT_LIMIT_BYTES}`;
      return Promise.reject(new WshError("input_send_failed", message));
    }
    const written = Promise.withResolvers<void>();
    this.heldInput.push({ bytes: new Uint8Array(bytes), done: written });
    this.heldBytes += bytes.length;
    return written.promise;
  }

  /** Keeps all other input back until disposed. One at a time. @throws WshError prompt_not_empty */
  hold(): InputHold {
    if (this.holder !== null) throw new WshError("prompt_not_empty", "another caller is typing at the prompt");
    const hold: InputHold = {
      write: (bytes) => this.deliver(bytes),
      endPaste: () => {
        this.editor.notePasteEnd();
        return this.deliver(pasteEnd);
      },
      [Symbol.dispose]: () => {
        if (this.holder !== hold) return;
        this.holder = null;
        this.release();
      },
    };
    this.holder = hold;
    return hold;
  }

  private release(): void {
    const { heldInput } = this;
    this.heldInput = [];
    this.heldBytes = 0;
    // The queue of the terminal keeps the order: no write has to wait for the one before.
    for (const { bytes, done } of heldInput) void this.passThrough(bytes).then(done.resolve, done.reject);
  }

  private passThrough(bytes: Uint8Array): Promise<void> {
    this.editor.noteInput(bytes);
    this.onPass();
    return this.deliver(bytes);
  }

  private deliver(bytes: Uint8Array): Promise<void> {
    this.pendingWrites++;
    return this.write(bytes).finally(() => this.pendingWrites--);
  }
}
